//! Sandboxes that an OCI runtime hosts keep the same contract: gVisor, and `runc` to compare with.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin fails")]

mod world;

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use contracts::sandbox::{
    Compute, Hooks, Owner, SandboxError, Sandboxes as _, Spec, State, Use, WorkspaceAccess,
};
use domain::{
    agent::Tier,
    id::{SandboxId, TaskId},
    task::Purpose,
};
use rustix::process::{Pid, Signal, kill_process};
use sandbox::{Provider, Runtime, Settings, Walls};
use testkit::shell;
use unsupported::supported;

use world::World;

const ID: SandboxId = SandboxId::from_u128(7);

/// One runtime, and the tier that it is for.
#[derive(Debug, Clone, Copy)]
struct Case {
    runtime: Runtime,
    walls: Walls,
    tier: Tier,
}

const GVISOR: Case = Case { runtime: Runtime::Runsc, walls: Walls::ByTier, tier: Tier::Untrusted };

const RUNC: Case =
    Case { runtime: Runtime::Runc, walls: Walls::All(Runtime::Runc), tier: Tier::Standard };

impl Case {
    /// A provider whose walls it builds, or why this host has none.
    async fn world(self) -> Result<World, String> {
        let world = World::with_walls(self.walls).await;
        let missing = world.provider.capabilities().missing;
        let Some(reason) = missing.get(&self.tier) else { return Ok(world) };
        let program = self.runtime.program();
        let reason = reason.clone();
        world.end().await;
        // Where it is installed, and we are root, it has to work.
        let is_excused = self.runtime.find().is_none() || !rustix::process::geteuid().is_root();
        assert!(is_excused, "{program} does not work: {reason}");
        Err(format!("{program}, tier {}: {reason}", self.tier))
    }

    fn spec(self) -> Spec {
        Spec {
            id: ID,
            name: None,
            owner: Owner::Task(TaskId::from_u128(5)),
            purpose: Use::Phase(Purpose::Research),
            image: "host".to_owned(),
            tier: self.tier,
            compute: Compute { memory_mib: 512, disk_mib: 256, ..Compute::default() },
            sources: Vec::new(),
            workspace: WorkspaceAccess::Writable,
            conditions: None,
            network: None,
            hooks: Hooks::default(),
        }
    }

    async fn keeps_its_promises(self) {
        let world = supported!(self.world().await);
        let first = SandboxId::from_u128(100);
        let kept =
            contracts::promises::sandbox::kept_on(&world.provider, first, "host", self.tier).await;
        world.end().await;
        for sentence in kept.unwrap().not_shown {
            unsupported::part(&sentence, "a promise that this host cannot show");
        }
    }

    async fn outlives_its_server(self) {
        let world = supported!(self.world().await);
        let World { provider, at } = world;
        provider.open(&self.spec()).await.unwrap();
        assert_eq!(run(&provider, "one", "echo kept > /workspace/note").await.unwrap(), "");
        let before = processes(at.path());
        provider.stop().await;
        drop(provider);
        assert_eq!(processes(at.path()), before);

        let settings = Settings { walls: self.walls, ..world::settings(at.path()) };
        let provider = Provider::start(settings).await.unwrap();
        assert_eq!(provider.list().await.unwrap().first().unwrap().state, State::Open);
        assert_eq!(run(&provider, "two", "cat /workspace/note").await.unwrap(), "kept\n");
        provider.destroy(ID).await.unwrap();
        provider.close().await.unwrap();
        assert_gone(&before, at.path());
    }

    async fn dies_whole(self) {
        let world = supported!(self.world().await);
        world.provider.open(&self.spec()).await.unwrap();
        let all = processes(world.at.path());
        let first = first_process(&all);
        // What the host unmounts must not stay in use in there.
        let seen = fs::read_to_string(format!("/proc/{first}/mountinfo")).unwrap();
        assert!(!seen.contains(world.at.path().to_str().unwrap()), "{seen}");
        kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
        let answer = run(&world.provider, "after", "true").await;
        assert!(matches!(answer, Err(SandboxError::Lost { .. })), "{answer:?}");
        wait_until_gone(&all).await;
        world.provider.open(&self.spec()).await.unwrap();
        assert_eq!(run(&world.provider, "again", "echo back").await.unwrap(), "back\n");
        let World { provider, at } = world;
        provider.close().await.unwrap();
        assert_gone(&all, at.path());
    }
}

async fn run(provider: &Provider, name: &str, script: &str) -> Result<String, SandboxError> {
    let ran = shell::run(provider, ID, name, &shell::script(script, "/")).await;
    ran.map(|(_finished, said)| said)
}

/// The processes of the only sandbox of a world, with when they started: all in the control group of its name.
fn processes(at: &Path) -> BTreeMap<i32, String> {
    let sockets = fs::read_dir(at.join("run")).unwrap().flatten();
    let names = sockets.map(|entry| entry.file_name().into_string().unwrap());
    let names: Vec<_> =
        names.filter_map(|name| name.strip_suffix(".sock").map(str::to_owned)).collect();
    let [name] = names.as_slice() else { panic!("not one sandbox: {names:?}") };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let inside = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|text| text.contains(name))
    };
    let found: BTreeMap<_, _> =
        pids.filter(inside).filter_map(|pid| Some((pid, started(pid)?))).collect();
    assert!(found.len() > 1, "only {found:?}");
    found
}

/// `None` when it has ended, although the host's first process may not have buried it yet.
fn started(pid: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = text.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    fields.nth(18).map(str::to_owned).filter(|_| !is_dead)
}

/// The one whose parent is not among them.
fn first_process(all: &BTreeMap<i32, String>) -> i32 {
    let parent = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, after) = text.rsplit_once(')').unwrap();
        after.split_ascii_whitespace().nth(1).unwrap().parse::<i32>().unwrap()
    };
    *all.keys().find(|pid| !all.contains_key(&parent(pid))).unwrap()
}

fn left(all: &BTreeMap<i32, String>) -> Vec<i32> {
    all.iter()
        .filter(|(pid, at)| started(**pid).as_ref() == Some(at))
        .map(|(pid, _)| *pid)
        .collect()
}

async fn wait_until_gone(all: &BTreeMap<i32, String>) {
    let mut again = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..500 {
        if left(all).is_empty() {
            return;
        }
        again.tick().await;
    }
    panic!("{:?} are left", left(all));
}

/// Neither processes nor mounts, and no socket.
fn assert_gone(all: &BTreeMap<i32, String>, at: &Path) {
    assert_eq!(left(all), [0; 0]);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(at.to_str().unwrap()), "{mounts}");
    assert_eq!(fs::read_dir(at.join("run")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_of_gvisor_keep_their_promises() {
    GVISOR.keeps_its_promises().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_of_runc_keep_their_promises() {
    RUNC.keeps_its_promises().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_of_gvisor_outlives_its_server() {
    GVISOR.outlives_its_server().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_of_runc_outlives_its_server() {
    RUNC.outlives_its_server().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_gvisor_when_the_first_process_is_killed() {
    GVISOR.dies_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_runc_when_the_first_process_is_killed() {
    RUNC.dies_whole().await;
}
