//! Sandboxes in each of their states, over a restart.

use std::{os::unix::fs::PermissionsExt as _, time::Duration};

use contracts::sandbox::{CommandName, Ended, SandboxError, Sandboxes as _, State};
use domain::{cost::Cost, id::SandboxId};

use crate::house::{Away, House, kill, kill_and_see_its_end, owner, spec};

#[tokio::test(flavor = "multi_thread")]
async fn an_open_sandbox_stays_open_with_its_files_and_its_name() {
    let house = House::new().await;
    let named = contracts::sandbox::Spec { name: Some("fox".parse().unwrap()), ..spec(1) };
    house.provider.open(&named).await.unwrap();
    house.says(named.id, "echo kept > file; sleep 600 & echo $! > sleeper").await;
    let before = house.away().first_process(named.id);
    let house = house.restart().await;
    assert_eq!(house.state(named.id).await, Some(State::Open));
    assert_eq!(house.away().first_process(named.id), before, "the same process");
    assert_eq!(house.says(named.id, "cat file").await, "kept\n");
    let other = contracts::sandbox::Spec { id: SandboxId::from_u128(2), ..named.clone() };
    let taken = house.provider.open(&other).await;
    assert!(matches!(taken, Err(SandboxError::NameTaken { id, .. }) if id == named.id));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sandbox_stays_frozen_and_goes_on_when_it_is_thawed() {
    let house = House::new().await;
    let id = house.open(1).await;
    let count = "i=0; while :; do i=$((i+1)); echo $i > count; sleep 0.01; done";
    house.says(id, &format!("({count}) > /dev/null 2>&1 & sleep 0.2")).await;
    house.provider.freeze(id).await.unwrap();
    let before = house.away().first_process(id);
    let house = house.restart().await;
    assert_eq!(house.state(id).await, Some(State::Frozen));
    assert_eq!(house.away().first_process(id), before, "the same process");
    match stands_still(before) {
        Some(still) => assert!(still, "the kernel says that it runs"),
        None => unsupported::part("what the kernel says", "no cgroup2 here tells who is frozen"),
    }
    house.provider.thaw(id).await.unwrap();
    assert_eq!(house.says(id, "echo awake").await, "awake\n");
    assert_eq!(house.state(id).await, Some(State::Open));
    house.end().await;
}

/// Whether the control group of a process is frozen, as cgroup2 tells it.
fn stands_still(process: i32) -> Option<bool> {
    let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let mount = mount.split(' ').nth(4)?;
    let events = std::fs::read_to_string(format!("{mount}{group}/cgroup.events")).ok()?;
    Some(events.lines().any(|line| line == "frozen 1"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resting_sandbox_rests_on_and_wakes_with_its_files() {
    let house = House::new().await;
    let id = house.open(1).await;
    let name = CommandName::new("before");
    house.run_as(id, &name, "echo kept > file; exit 4").await.unwrap();
    house.provider.rest(id).await.unwrap();
    let house = house.restart().await;
    assert_eq!(house.state(id).await, Some(State::Resting));
    assert_eq!(house.bodies(), 0);
    let again = house.run_as(id, &name, "echo twice >> file; exit 4").await.unwrap();
    assert_eq!(again.finished.ending, Ended::Exited(4), "its answers are kept");
    assert_eq!(house.says(id, "cat file").await, "kept\n");
    assert_eq!(house.state(id).await, Some(State::Open));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_died_while_no_server_ran_is_told_as_lost() {
    let house = House::new().await;
    let id = house.open(1).await;
    house.says(id, "echo kept > file").await;
    let house = house.while_down(|away| kill(away.first_process(id))).await;
    assert_eq!(house.state(id).await, Some(State::Resting));
    let answer = house.run(id, "true").await;
    assert!(matches!(&answer, Err(SandboxError::Lost { .. })), "{answer:?}");
    let told = house.died(id).await.unwrap();
    assert!(told.starts_with("it ended while no server watched it"), "{told}");
    let house = house.restart().await;
    assert_eq!(house.died(id).await, Some(told), "it is told until it is opened again");
    house.provider.open(&spec(1)).await.unwrap();
    assert_eq!(house.died(id).await, None);
    assert_eq!(house.says(id, "cat file").await, "kept\n");
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_guest_was_killed_a_moment_ago_is_opened_anew() {
    let house = House::new().await;
    let id = house.open(1).await;
    for round in 0..5 {
        house.says(id, &format!("echo {round} > file")).await;
        kill_and_see_its_end(house.away().first_process(id)).await;
        house.provider.open(&spec(1)).await.unwrap();
        assert_eq!(house.says(id, "cat file").await, format!("{round}\n"));
    }
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_never_behind_weaker_walls_than_the_original() {
    let house = House::new().await;
    let id = house.open(1).await;
    let weaker = contracts::sandbox::Spec { tier: domain::agent::Tier::Verified, ..spec(2) };
    let refused = house.provider.fork(id, &weaker).await.unwrap_err();
    assert!(matches!(&refused, SandboxError::Limit { .. }), "{refused}");
    assert!(refused.to_string().contains("`verified`"), "{refused}");
    house.provider.fork(id, &spec(2)).await.unwrap();
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_destroyed_stays_destroyed() {
    let house = House::new().await;
    let id = house.open(1).await;
    let record = house.away().record(id);
    let kept = std::fs::read(&record).unwrap();
    house.provider.destroy(id).await.unwrap();
    // As if the server had died between the two.
    let house = house.while_down(|_| std::fs::write(&record, &kept).unwrap()).await;
    assert_eq!(house.state(id).await, None);
    assert!(!record.exists());
    let opened = house.provider.open(&spec(1)).await;
    assert_eq!(opened, Err(SandboxError::Destroyed { id }));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_being_written_changes_nothing() {
    let house = House::new().await;
    let id = house.open(1).await;
    let torn = |away: &Away| {
        let record = away.record(id);
        let mode = std::fs::metadata(&record).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it names a person and what they run");
        // As this server leaves one, and as an older one did.
        for name in [".x1.unfinished", "x.new"] {
            std::fs::write(record.with_file_name(name), "{\"version\":1,").unwrap();
        }
    };
    let house = house.while_down(torn).await;
    assert_eq!(house.says(id, "echo here").await, "here\n");
    assert_eq!(house.away().records().len(), 1);
    house.end().await;
}

/// Nothing in it is less than it was.
fn is_no_less(now: Cost, before: Cost) {
    assert_eq!(before.since(now), Cost::ZERO, "{now:?} after {before:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bills_never_decrease_over_restarts_rests_and_ends() {
    let burn = "i=0; while test $i -lt 60000; do i=$((i+1)); done";
    let mut house = House::new().await;
    let id = house.open(1).await;
    house.says(id, burn).await;
    house.advance(Duration::from_secs(10));
    let mut before = house.provider.bill(&owner()).await.unwrap();
    assert!(before.cpu_millis > 0 && before.memory_mib_seconds > 0, "{before:?}");
    for round in 0..5 {
        match round {
            1 => house = house.while_down(|away| kill(away.first_process(id))).await,
            3 => house.provider.rest(id).await.unwrap(),
            4 => house.provider.destroy(id).await.unwrap(),
            _ => {}
        }
        house = house.restart().await;
        let now = house.provider.bill(&owner()).await.unwrap();
        is_no_less(now, before);
        before = now;
        if round < 4 {
            house.provider.open(&spec(1)).await.unwrap();
            house.says(id, burn).await;
            house.advance(Duration::from_secs(10));
            let now = house.provider.bill(&owner()).await.unwrap();
            is_no_less(now, before);
            assert!(now.cpu_millis > before.cpu_millis, "it goes on counting in round {round}");
            before = now;
        }
    }
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_gives_up_half_way_leaves_nothing_that_nobody_knows() {
    let house = House::new().await;
    for number in 1..20 {
        let patience = Duration::from_micros(300 * u64::try_from(number).unwrap());
        let _opened = tokio::time::timeout(patience, house.provider.open(&spec(number))).await;
        if number % 2 == 0 {
            let id = SandboxId::from_u128(number);
            let _rested = tokio::time::timeout(patience, house.provider.rest(id)).await;
            let _woken = tokio::time::timeout(patience, house.provider.open(&spec(number))).await;
        }
    }
    for number in 1..20 {
        house.provider.destroy(SandboxId::from_u128(number)).await.unwrap();
    }
    house.until_bodies(0).await;
    assert_eq!(house.provider.list().await.unwrap(), []);
    house.end().await;
}
