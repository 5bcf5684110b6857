//! A workspace that is read-only stays so: over servers, rests, frosts, deaths, and in computers that waited.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use contracts::sandbox::{Ended, Hooks, Sandboxes as _, Spec, State, WorkspaceAccess};
use domain::id::SandboxId;
use sandbox::PoolSettings;

use crate::{
    house::{House, kill_and_see_its_end, owner, spec, until},
    looking,
};

const POOL: PoolSettings =
    PoolSettings { most_of_a_kind: 1, most: 4, drain_after: Duration::from_mins(10) };

/// Everything that there is, with its size, mode and times.
const ALL: &str = "find /workspace -printf '%p %s %m %T@ %C@\\n' | sort";

/// With something to bring in: `/workspace/note`.
fn sealed(number: u128) -> Spec {
    let hooks = Hooks { post_clone: "echo kept > note".to_owned(), ..Hooks::default() };
    Spec { hooks, workspace: WorkspaceAccess::ReadOnly, ..spec(number) }
}

async fn access(house: &House, id: SandboxId) -> WorkspaceAccess {
    let listed = house.provider.list().await.unwrap();
    listed.iter().find(|one| one.id == id).unwrap().workspace
}

/// It is told as such, and is so.
async fn is_read_only(house: &House, id: SandboxId) {
    assert_eq!(access(house, id).await, WorkspaceAccess::ReadOnly);
    let said = house.says(id, "(echo x > note) 2>&1; (echo x > new) 2>&1; cat note; ls").await;
    assert_eq!(said.matches("Read-only file system").count(), 2, "{said}");
    assert!(said.ends_with("kept\nnote\n"), "{said}");
    house.says(id, "echo x > /home/lamp/scratch && echo x > /tmp/scratch").await;
}

fn body(house: &House, id: SandboxId) -> String {
    let text = std::fs::read(house.away().record(id)).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&text).unwrap();
    record["body"]["name"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_workspace_outlives_its_server_and_is_written_when_it_is_opened_so() {
    let house = House::new().await;
    let spec = sealed(1);
    house.provider.open(&spec).await.unwrap();
    is_read_only(&house, spec.id).await;
    let before = body(&house, spec.id);

    let house = house.restart().await;
    is_read_only(&house, spec.id).await;
    house.provider.open(&spec).await.unwrap();
    assert_eq!(body(&house, spec.id), before, "it goes on, and is not made anew");

    house.provider.freeze(spec.id).await.unwrap();
    let house = house.restart().await;
    assert_eq!(house.state(spec.id).await, Some(State::Frozen));
    is_read_only(&house, spec.id).await;

    house.provider.rest(spec.id).await.unwrap();
    let house = house.restart().await;
    assert_eq!(house.state(spec.id).await, Some(State::Resting));
    // A command wakes it, as it was.
    is_read_only(&house, spec.id).await;

    let writable = Spec { workspace: WorkspaceAccess::Writable, ..spec.clone() };
    house.provider.freeze(spec.id).await.unwrap();
    house.provider.open(&writable).await.unwrap();
    assert_eq!(access(&house, spec.id).await, WorkspaceAccess::Writable);
    assert_eq!(house.says(spec.id, "echo more >> note; cat note").await, "kept\nmore\n");
    let house = house.restart().await;
    assert_eq!(access(&house, spec.id).await, WorkspaceAccess::Writable);
    house.says(spec.id, "echo kept > note").await;
    house.provider.open(&spec).await.unwrap();
    is_read_only(&house, spec.id).await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_died_or_whose_server_died_with_it_comes_back_read_only() {
    let house = House::new().await;
    let spec = sealed(1);
    house.provider.open(&spec).await.unwrap();
    kill_and_see_its_end(house.away().first_process(spec.id)).await;
    house.provider.open(&spec).await.unwrap();
    is_read_only(&house, spec.id).await;
    let process = house.away().first_process(spec.id);
    let house = house.while_down(|_| crate::house::kill(process)).await;
    assert_eq!(access(&house, spec.id).await, WorkspaceAccess::ReadOnly);
    house.provider.open(&spec).await.unwrap();
    is_read_only(&house, spec.id).await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_says_nothing_is_of_a_writable_one() {
    let house = House::new().await;
    let id = house.open(1).await;
    house.provider.rest(id).await.unwrap();
    let house = house
        .while_down(|away| {
            let text = std::fs::read(away.record(id)).unwrap();
            let mut record: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(record["read_only"], false);
            record.as_object_mut().unwrap().remove("read_only");
            std::fs::write(away.record(id), record.to_string()).unwrap();
        })
        .await;
    assert_eq!(access(&house, id).await, WorkspaceAccess::Writable);
    house.says(id, "echo x > note").await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_while_things_are_brought_in_waits_until_nothing_can_be_written() {
    let house = Arc::new(House::new().await);
    let mut spec = sealed(1);
    spec.hooks.post_clone = "echo kept > note; sleep 1".to_owned();
    let work = tokio_util::task::TaskTracker::new();
    let opening = {
        let (house, spec) = (Arc::clone(&house), spec.clone());
        work.spawn(async move { house.provider.open(&spec).await })
    };
    let mut again = tokio::time::interval(Duration::from_millis(5));
    while house.state(spec.id).await.is_none() {
        again.tick().await;
    }
    assert!(!opening.is_finished());
    let said = house.run(spec.id, "echo early > note").await.unwrap();
    assert_eq!(said.finished.ending, Ended::Exited(2), "{}", said.out);
    opening.await.unwrap().unwrap();
    is_read_only(&house, spec.id).await;
    Arc::into_inner(house).unwrap().end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bringing_things_in_used_is_billed_and_a_failing_hook_leaves_nothing() {
    let house = House::new().await;
    let mut spec = sealed(1);
    spec.hooks.post_clone =
        "echo kept > note; n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; sleep 600 &"
            .to_owned();
    house.provider.open(&spec).await.unwrap();
    is_read_only(&house, spec.id).await;
    let left = house.says(spec.id, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").await;
    assert!(!left.contains("sleep 600"), "what it started ended with it: {left}");
    house.provider.tend().await;
    let cost = house.provider.bill(&owner()).await.unwrap();
    assert!(cost.cpu_millis > 20, "{cost:?}");
    house.provider.destroy(spec.id).await.unwrap();

    let mut failing = sealed(2);
    failing.hooks.post_start = "echo x > note".to_owned();
    let refused = house.provider.open(&failing).await.unwrap_err().to_string();
    assert!(refused.contains("`post_start`") && refused.contains("Read-only"), "{refused}");
    assert!(house.provider.list().await.unwrap().is_empty());
    until("no bodies", || house.bodies() == 0).await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_wait_are_claimed_only_for_the_access_that_they_have() {
    let house = House::with_pool(POOL).await;
    let names = |house: &House| -> BTreeSet<String> {
        let sockets = std::fs::read_dir(house.away().data.with_file_name("run")).unwrap();
        let name = |socket: std::fs::DirEntry| socket.file_name().into_string().unwrap();
        sockets.map(|socket| name(socket.unwrap()).replace(".sock", "")).collect()
    };
    // Nothing to bring in: the computer that waits is sealed already.
    let plain = |number| Spec { hooks: Hooks::default(), ..sealed(number) };
    house.provider.open(&plain(1)).await.unwrap();
    house.until_waiting(1).await;
    let waiting = names(&house);
    house.provider.open(&plain(2)).await.unwrap();
    assert!(waiting.contains(&body(&house, SandboxId::from_u128(2))), "it was claimed");
    for number in 1..3 {
        let said = house.says(SandboxId::from_u128(number), "(echo x > new) 2>&1; ls").await;
        assert!(said.contains("Read-only file system"), "{said}");
    }
    house.until_waiting(1).await;
    let waiting = names(&house);
    let id = house.open(3).await;
    assert!(!waiting.contains(&body(&house, id)), "one that can be written is another kind");
    house.says(id, "echo x > new").await;

    // Something to bring in: one that can be written is claimed, and sealed afterwards.
    house.until_waiting(2).await;
    let spec = sealed(4);
    house.provider.open(&spec).await.unwrap();
    is_read_only(&house, spec.id).await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_can_be_read_by_git_and_changed_by_nothing() {
    let house = House::with_pool(POOL).await;
    let origin = tempfile::tempdir().unwrap();
    let on_image = looking::with_repository(&house, origin.path()).await;
    let read_only = WorkspaceAccess::ReadOnly;
    // Once from the image, where it is already, once claimed, and once checked out into it.
    let first = Spec { workspace: read_only, ..on_image.clone() };
    let second = Spec { id: spec(2).id, ..first.clone() };
    let third = Spec { id: spec(3).id, image: "host".to_owned(), ..first.clone() };
    house.provider.open(&first).await.unwrap();
    house.until_waiting(1).await;
    for one in [&second, &third] {
        house.provider.open(one).await.unwrap();
    }
    for one in [&first, &second, &third] {
        let look = "cd /workspace/web && git --no-pager log --format=%s && git status --short";
        let said = house.says(one.id, look).await;
        assert!(said.starts_with("first\n"), "{said}");
        let before = house.says(one.id, ALL).await;
        let me = "git -c user.name=A -c user.email=a@example.com";
        for change in [
            "commit -q --allow-empty -m x",
            "branch x",
            "checkout -q -b x",
            "config user.name x",
            "stash",
            "gc -q",
            "reset -q --hard HEAD",
            "update-ref refs/heads/x HEAD",
            "hash-object -w readme",
            "worktree add ../other",
        ] {
            let script = format!("cd /workspace/web && {me} {change} 2>&1");
            let said = house.run(one.id, &script).await.unwrap();
            assert_ne!(said.finished.ending, Ended::Exited(0), "{change}: {said:?}");
        }
        assert_eq!(house.says(one.id, ALL).await, before);
    }
    // The control: opened so, the same is done.
    let writable = Spec { workspace: WorkspaceAccess::Writable, ..third.clone() };
    house.provider.open(&writable).await.unwrap();
    house.says(third.id, "cd /workspace/web && git branch x && git checkout -q x").await;
    house.end().await;
}
