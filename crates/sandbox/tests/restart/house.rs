//! A provider whose clock a test moves, and that is started again on what it left.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use contracts::{
    clock::{Clock as _, SystemClock},
    sandbox::{
        CommandName, Compute, Ended, Exec, Finished, Hooks, Output, Owner, SandboxError,
        Sandboxes as _, Spec, State, Streams, Use, User, WorkspaceAccess,
    },
};
use domain::{agent::Tier, id::SandboxId, time::Timestamp};
use sandbox::{PoolSettings, Provider, Settings};
use tokio::sync::mpsc;

use crate::world;

pub(crate) struct House {
    pub(crate) provider: Provider,
    at: tempfile::TempDir,
    now: Arc<AtomicI64>,
    pool: PoolSettings,
}

/// What a command said on its standard output, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) finished: Finished,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with_pool(PoolSettings { most_of_a_kind: 0, ..PoolSettings::default() }).await
    }

    pub(crate) async fn with_pool(pool: PoolSettings) -> Self {
        let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(SystemClock.now().as_millis()));
        let provider = start(&at, &now, pool).await;
        Self { provider, at, now, pool }
    }

    /// Another server in the place of this one, which lets go of everything first.
    pub(crate) async fn restart(self) -> Self {
        self.while_down(|_| {}).await
    }

    /// The same, with something that happens while there is none.
    pub(crate) async fn while_down(self, meanwhile: impl FnOnce(&Away)) -> Self {
        let Self { provider, at, now, pool } = self;
        provider.stop().await;
        drop(provider);
        meanwhile(&Away { data: at.path().join("data"), now: Arc::clone(&now) });
        let provider = start(&at, &now, pool).await;
        Self { provider, at, now, pool }
    }

    pub(crate) async fn end(self) {
        self.provider.close().await.unwrap();
    }

    pub(crate) fn advance(&self, by: Duration) {
        advance(&self.now, by);
    }

    pub(crate) async fn open(&self, number: u128) -> SandboxId {
        let spec = spec(number);
        self.provider.open(&spec).await.unwrap();
        spec.id
    }

    pub(crate) async fn run(&self, id: SandboxId, script: &str) -> Result<Said, SandboxError> {
        static NAMES: AtomicI64 = AtomicI64::new(0);
        let name = CommandName::new(format!("c{}", NAMES.fetch_add(1, Ordering::Relaxed)));
        self.run_as(id, &name, script).await
    }

    pub(crate) async fn run_as(
        &self,
        id: SandboxId,
        name: &CommandName,
        script: &str,
    ) -> Result<Said, SandboxError> {
        let (output, mut saying) = mpsc::channel(16);
        let (_, input) = mpsc::channel(1);
        let command = shell(script);
        let running = self.provider.exec(id, name, &command, Streams { input, output });
        let hearing = async {
            let mut out = Vec::new();
            while let Some(chunk) = saying.recv().await {
                if let Output::Out(bytes) = chunk {
                    out.extend(bytes);
                }
            }
            out
        };
        let (finished, out) = tokio::join!(running, hearing);
        Ok(Said { out: String::from_utf8(out).unwrap(), finished: finished? })
    }

    /// What a command that ends well says.
    pub(crate) async fn says(&self, id: SandboxId, script: &str) -> String {
        let said = self.run(id, script).await.unwrap();
        assert_eq!(said.finished.ending, Ended::Exited(0), "`{script}` says {}", said.out);
        said.out
    }

    pub(crate) async fn state(&self, id: SandboxId) -> Option<State> {
        let listed = self.provider.list().await.unwrap();
        listed.into_iter().find(|one| one.id == id).map(|one| one.state)
    }

    /// Why it ended by itself.
    pub(crate) async fn died(&self, id: SandboxId) -> Option<String> {
        let listed = self.provider.list().await.unwrap();
        listed.into_iter().find(|one| one.id == id).and_then(|one| one.died)
    }

    pub(crate) fn away(&self) -> Away {
        Away { data: self.at.path().join("data"), now: Arc::clone(&self.now) }
    }

    /// How many bodies there are, told by the sockets of their guests: those of sandboxes, and of the pool.
    pub(crate) fn bodies(&self) -> usize {
        std::fs::read_dir(self.at.path().join("run")).unwrap().count()
    }

    /// Waits until there are as many bodies as there should be.
    pub(crate) async fn until_bodies(&self, count: usize) {
        let what = format!("{count} bodies");
        until(&what, || self.bodies() == count).await;
    }

    /// Waits until as many computers can be claimed: one that has a body may still be on its way.
    pub(crate) async fn until_waiting(&self, count: usize) {
        until(&format!("{count} that wait"), || self.provider.waiting() == count).await;
    }
}

/// Waits for something that happens in the background.
pub(crate) async fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let mut again = tokio::time::interval(Duration::from_millis(5));
    for _ in 0..4_000 {
        again.tick().await;
        if happened() {
            return;
        }
    }
    panic!("waited in vain for {what}");
}

/// The house without its server.
pub(crate) struct Away {
    pub(crate) data: PathBuf,
    now: Arc<AtomicI64>,
}

impl Away {
    pub(crate) fn advance(&self, by: Duration) {
        advance(&self.now, by);
    }

    pub(crate) fn record(&self, id: SandboxId) -> PathBuf {
        self.data.join("records").join(format!("{id}.json"))
    }

    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        let entries = std::fs::read_dir(self.data.join("records")).unwrap();
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap()
        };
        entries.map(read).collect()
    }

    /// The first process of a sandbox, on the host.
    pub(crate) fn first_process(&self, id: SandboxId) -> i32 {
        let text = std::fs::read(self.record(id)).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&text).unwrap();
        i32::try_from(record["body"]["pid"].as_i64().unwrap()).unwrap()
    }
}

pub(crate) fn kill(process: i32) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
}

/// Kills a process, and returns when the kernel has ended it.
pub(crate) async fn kill_and_see_its_end(process: i32) {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
    };
    let held = pidfd_open(Pid::from_raw(process).unwrap(), PidfdFlags::empty()).unwrap();
    pidfd_send_signal(&held, Signal::KILL).unwrap();
    let ended = || {
        let mut look = [PollFd::new(&held, PollFlags::IN)];
        poll(&mut look, Some(&Timespec::default())).unwrap() == 1
    };
    until("the end of a process", ended).await;
}

pub(crate) async fn start(
    at: &tempfile::TempDir,
    now: &Arc<AtomicI64>,
    pool: PoolSettings,
) -> Provider {
    let now = Arc::clone(now);
    let clock = Arc::new(move || Timestamp::from_millis(now.load(Ordering::Relaxed)));
    let settings = Settings { clock, pool, ..world::settings(at.path()) };
    Provider::start(settings).await.unwrap()
}

fn advance(now: &AtomicI64, by: Duration) {
    now.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
}

pub(crate) fn owner() -> Owner {
    Owner::Person("ann".to_owned())
}

pub(crate) fn spec(number: u128) -> Spec {
    Spec {
        id: SandboxId::from_u128(number),
        name: None,
        owner: owner(),
        purpose: Use::Person,
        image: "host".to_owned(),
        tier: Tier::Standard,
        compute: Compute { memory_mib: 256, disk_mib: 64, processes: 64, ..Compute::default() },
        sources: Vec::new(),
        hooks: Hooks::default(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network: None,
    }
}

pub(crate) fn shell(script: &str) -> Exec {
    Exec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: BTreeMap::new(),
        path: Vec::new(),
        sweeps: false,
        directory: "/workspace".to_owned(),
        user: User::Agent,
        terminal: None,
        limit: Duration::from_mins(1),
        output_limit: 16 << 20,
    }
}
