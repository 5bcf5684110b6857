//! Computers that wait for somebody: taken by one, refilled, drained, and never anybody's by accident.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicI64},
    time::Duration,
};

use contracts::{
    clock::{Clock as _, SystemClock},
    sandbox::Sandboxes as _,
};
use domain::id::SandboxId;
use sandbox::PoolSettings;

use crate::house::{House, spec, start, until};

const POOL: PoolSettings =
    PoolSettings { most_of_a_kind: 3, most: 5, drain_after: Duration::from_mins(10) };

#[tokio::test(flavor = "multi_thread")]
async fn twenty_who_come_at_once_never_share_a_computer() {
    let house = Arc::new(House::with_pool(POOL).await);
    // As many wait as may, before the crowd comes.
    for number in 0..3 {
        house.open(100 + number).await;
    }
    house.until_waiting(3).await;
    let work = tokio_util::task::TaskTracker::new();
    let opened: Vec<_> = (0..20)
        .map(|number| {
            let house = Arc::clone(&house);
            work.spawn(async move {
                let id = house.open(number).await;
                house.says(id, &format!("test ! -e mine && echo {number} > mine")).await;
            })
        })
        .collect();
    for one in opened {
        one.await.unwrap();
    }
    for number in 0..20 {
        let said = house.says(SandboxId::from_u128(number), "cat mine").await;
        assert_eq!(said, format!("{number}\n"));
    }
    let records = house.away().records();
    let names: BTreeSet<_> =
        records.iter().map(|record| record["body"]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!((records.len(), names.len()), (23, 23), "every sandbox has a body of its own");
    Arc::into_inner(house).unwrap().end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_is_refilled_has_no_records_and_is_drained_when_nobody_asks() {
    let house = House::with_pool(POOL).await;
    assert_eq!(house.bodies(), 0, "nobody has asked for anything yet");
    house.open(1).await;
    house.until_bodies(2).await;
    house.open(2).await;
    house.until_bodies(4).await;
    for number in 3..6 {
        house.open(number).await;
    }
    house.until_bodies(5 + 3).await;
    assert_eq!(house.provider.list().await.unwrap().len(), 5, "nobody sees who waits");
    assert_eq!(house.away().records().len(), 5);
    house.advance(POOL.drain_after + Duration::from_secs(1));
    house.provider.tend().await;
    house.until_bodies(5).await;
    house.provider.tend().await;
    house.open(6).await;
    house.until_bodies(6 + 1).await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_died_while_it_waited_is_nobodys_and_leaves_nothing() {
    let house = House::with_pool(POOL).await;
    house.open(1).await;
    house.until_waiting(1).await;
    let ours = house.away().first_process(SandboxId::from_u128(1));
    let waiting = neighbours(ours).into_iter().find(|process| *process != ours).unwrap();
    crate::house::kill_and_see_its_end(waiting).await;
    let id = house.open(2).await;
    assert_eq!(house.says(id, "echo here").await, "here\n");
    house.until_waiting(2).await;
    // The dead one has left nothing: there are two sandboxes, and two that wait.
    house.until_bodies(4).await;
    house.end().await;
}

/// The first processes of all bodies of the house that `process` is a first process of.
fn neighbours(process: i32) -> Vec<i32> {
    let group = |process: &str| {
        let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
        let at = groups.lines().find_map(|line| line.split_once("/lamplighter-"))?.1.to_owned();
        Some(at.split('/').next()?.to_owned())
    };
    let first = |process: &str| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let inside = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.to_owned();
        inside.ends_with("\t1").then_some(())
    };
    let house = group(&process.to_string());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let ours = names.filter(|name| first(name).is_some() && group(name) == house);
    ours.filter_map(|name| name.parse().ok()).collect()
}

/// Whether a process of the host was started with these words.
fn runs(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    lines.any(|line| line.strip_suffix(b"\0") == Some(words.as_bytes()))
}

#[test]
fn what_was_half_furnished_when_a_server_crashed_is_cleared_away_and_begins_anew() {
    let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(SystemClock.now().as_millis()));
    let none = PoolSettings { most_of_a_kind: 0, ..POOL };
    let bodies = || std::fs::read_dir(at.path().join("run")).unwrap().count();
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut slow = spec(1);
    // A sleep that this process knows again among those of the host.
    let sleeper = format!("sleep\0{}", 1_000_000 + std::process::id());
    slow.hooks.post_clone = format!("echo begun >> hooks; {}", sleeper.replace('\0', " "));
    let first = runtime();
    first.block_on(async {
        let provider = start(&at, &now, none).await;
        let begun = until("the hook", || runs(&sleeper));
        tokio::select! {
            opened = provider.open(&slow) => panic!("a hook that sleeps has ended: {opened:?}"),
            () = begun => {}
        }
    });
    first.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(bodies(), 1);
    let second = runtime();
    second.block_on(async {
        let provider = start(&at, &now, none).await;
        assert_eq!((bodies(), provider.list().await.unwrap().len()), (0, 0));
        slow.hooks.post_clone = "test ! -e hooks".to_owned();
        provider.open(&slow).await.unwrap();
        provider.close().await.unwrap();
    });
}

#[test]
fn what_waited_when_a_server_crashed_is_cleared_away() {
    let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(SystemClock.now().as_millis()));
    let bodies = || std::fs::read_dir(at.path().join("run")).unwrap().count();
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let first = runtime();
    first.block_on(async {
        let provider = start(&at, &now, POOL).await;
        provider.open(&spec(1)).await.unwrap();
        until("one that waits", || bodies() == 2).await;
    });
    // Nothing is let go: every task stops where it is.
    first.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(bodies(), 2);
    let second = runtime();
    second.block_on(async {
        let provider = start(&at, &now, POOL).await;
        assert_eq!(bodies(), 1, "only the sandbox is left");
        assert_eq!(provider.list().await.unwrap().len(), 1);
        provider.close().await.unwrap();
        assert_eq!(bodies(), 0);
    });
}
