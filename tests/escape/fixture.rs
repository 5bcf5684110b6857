//! Where the attempts are made: a provider of its own, sandboxes in it, and short ways to use them.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource,
    sandbox::{
        CommandName, Compute, Exec, FileAsk, Finished, Hooks, Input, Output, Owner, SandboxError,
        Sandboxes as _, Spec, Streams, Transfer, Use, User, WorkspaceAccess,
    },
};
use domain::{agent::Tier, id::SandboxId};
use sandbox::{PoolSettings, Provider, Retention, Settings, Walls};
use testkit::shell;
use tokio::sync::mpsc;

/// Enough for the suite, and little enough for any machine.
const DISK_BYTES: u64 = 2 << 30;

/// What every sandbox has of it, whatever its neighbours write.
pub(crate) const GUARANTEED_BYTES: u64 = 32 << 20;

/// The tiers that the suite runs on, where the host has them.
pub(crate) const TIERS: [Tier; 3] = [Tier::Verified, Tier::Standard, Tier::Untrusted];

/// Where the probe is, inside.
pub(crate) const PROBE: &str = "/home/lamp/probe";

#[derive(Debug)]
struct Counted(AtomicU64);

impl IdSource for Counted {
    fn next(&self) -> u128 {
        // Apart from those of other tests, and of the same one after a restart.
        let start = u128::from(std::process::id()) << 64;
        let now = u128::from(SystemClock.now().as_millis().unsigned_abs());
        start
            | (now << 24 & u128::from(u64::MAX))
            | u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) struct Fixture {
    pub(crate) provider: Provider,
    guard: Guard,
    pub(crate) at: tempfile::TempDir,
    pool: PoolSettings,
    toolchains: Vec<PathBuf>,
    commands: AtomicU64,
    sandboxes: AtomicU64,
}

/// Ends everything also when a test fails half-way: sandboxes, mounts and loop devices do not go with a process.
struct Guard(Option<Provider>);

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(provider) = self.0.take().filter(|_| std::thread::panicking()) else { return };
        let closing = || tokio::runtime::Handle::current().block_on(provider.close());
        if let Err(error) = tokio::task::block_in_place(closing) {
            println!("left behind: {error}");
        }
    }
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) finished: Finished,
    pub(crate) out: Vec<u8>,
}

impl Said {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim().to_owned()
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(PoolSettings { most_of_a_kind: 0, ..PoolSettings::default() }, &[]).await
    }

    pub(crate) async fn with(pool: PoolSettings, toolchains: &[PathBuf]) -> Self {
        Self::start(pool, toolchains, DISK_BYTES).await
    }

    /// With little room for disks.
    pub(crate) async fn with_disk(bytes: u64) -> Self {
        let pool = PoolSettings { most_of_a_kind: 0, ..PoolSettings::default() };
        Self::start(pool, &[], bytes).await
    }

    async fn start(pool: PoolSettings, toolchains: &[PathBuf], disk_bytes: u64) -> Self {
        let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
        let settings = Settings { disk_bytes, ..settings(at.path(), pool, toolchains) };
        let provider = Provider::start(settings).await.unwrap();
        Self {
            guard: Guard(Some(provider.clone())),
            provider,
            at,
            pool,
            toolchains: toolchains.to_vec(),
            commands: AtomicU64::new(0),
            sandboxes: AtomicU64::new(0),
        }
    }

    /// Stops the provider as a server that ends would, and starts another in its place. Sandboxes go on meanwhile.
    pub(crate) async fn restart(self) -> Self {
        self.provider.stop().await;
        let Self { provider, guard, at, pool, toolchains, commands, sandboxes } = self;
        drop((provider, guard));
        let provider = Provider::start(settings(at.path(), pool, &toolchains)).await.unwrap();
        let guard = Guard(Some(provider.clone()));
        Self { provider, guard, at, pool, toolchains, commands, sandboxes }
    }

    pub(crate) async fn end(self) {
        let Self { provider, guard, at, .. } = self;
        drop(guard);
        provider.close().await.unwrap();
        // An overlay closes its own directories even to their owner.
        let opened = Command::new("chmod").args(["-R", "u+rwX"]).arg(at.path()).output();
        assert!(opened.is_ok());
    }

    /// Those of [`TIERS`] that this host has; the others are told.
    pub(crate) fn tiers(&self) -> Vec<Tier> {
        let capabilities = self.provider.capabilities();
        TIERS
            .into_iter()
            .filter(|tier| {
                let has = capabilities.tiers.contains(tier);
                if !has {
                    let why = capabilities.missing.get(tier).map_or("", String::as_str);
                    unsupported::part(&format!("the tier `{tier}`"), why);
                }
                has
            })
            .collect()
    }

    pub(crate) fn spec(&self, tier: Tier) -> Spec {
        // Other tests of this process have ids of their own, too: the providers are apart.
        let number = 1 + self.sandboxes.fetch_add(1, Ordering::Relaxed);
        Spec {
            id: SandboxId::from_u128(u128::from(number)),
            name: None,
            owner: Owner::Person("mallory".to_owned()),
            purpose: Use::Person,
            image: "host".to_owned(),
            tier,
            compute: Compute {
                memory_mib: 256,
                disk_mib: 128,
                processes: 128,
                ..Compute::default()
            },
            sources: Vec::new(),
            hooks: Hooks::default(),
            workspace: WorkspaceAccess::Writable,
            conditions: None,
            network: None,
        }
    }

    /// A sandbox with the probe in it.
    pub(crate) async fn open(&self, tier: Tier) -> SandboxId {
        self.open_as(&self.spec(tier)).await
    }

    pub(crate) async fn open_as(&self, spec: &Spec) -> SandboxId {
        self.provider.open(spec).await.unwrap();
        let program = std::fs::read(program()).unwrap();
        let ask = FileAsk::Write { path: PROBE.to_owned(), user: User::Agent, mode: 0o755 };
        let (transfer, _) = self.file(spec.id, &ask, &program).await.unwrap();
        assert_eq!(transfer, Transfer::Done);
        spec.id
    }

    /// Runs the probe, and gives the line that it printed.
    pub(crate) async fn probe(&self, id: SandboxId, user: User, words: &[&str]) -> String {
        let argv: Vec<&str> = [PROBE].into_iter().chain(words.iter().copied()).collect();
        let by_shell: Vec<&str> = ["/bin/sh", "-c", "exec \"$0\" \"$@\""]
            .into_iter()
            .chain(argv.iter().copied())
            .collect();
        let said = match self.run(id, user, &argv).await {
            // gVisor's loader refuses what its shell then starts.
            Err(SandboxError::Unsupported { reason }) if reason.contains("Exec format") => {
                self.run(id, user, &by_shell).await
            }
            other => other,
        };
        match said {
            Ok(said) if said.out.is_empty() => format!("ended {:?}", said.finished.ending),
            Ok(said) => said.text(),
            Err(error) => format!("refused {error}"),
        }
    }

    pub(crate) async fn shell(&self, id: SandboxId, script: &str) -> String {
        match self.run(id, User::Agent, &["/bin/sh", "-c", script]).await {
            Ok(said) => said.text(),
            Err(error) => format!("refused {error}"),
        }
    }

    /// Whether it still does what it is told.
    pub(crate) async fn answers(&self, id: SandboxId) -> bool {
        self.shell(id, "echo here").await == "here"
    }

    pub(crate) async fn run(
        &self,
        id: SandboxId,
        user: User,
        argv: &[&str],
    ) -> Result<Said, SandboxError> {
        self.exec(id, &command(user, argv)).await
    }

    pub(crate) async fn exec(&self, id: SandboxId, command: &Exec) -> Result<Said, SandboxError> {
        let name = CommandName::new(format!("c{}", self.commands.fetch_add(1, Ordering::Relaxed)));
        let (streams, sending, hearing) = pipes(&[]);
        let running = self.provider.exec(id, &name, command, streams);
        let (finished, (), out) = tokio::join!(running, sending, hearing);
        Ok(Said { finished: finished?, out })
    }

    pub(crate) async fn file(
        &self,
        id: SandboxId,
        ask: &FileAsk,
        input: &[u8],
    ) -> Result<(Transfer, Vec<u8>), SandboxError> {
        let (streams, sending, hearing) = pipes(input);
        let moving = self.provider.file(id, ask, streams);
        let (transfer, (), out) = tokio::join!(moving, sending, hearing);
        Ok((transfer?, out))
    }
}

pub(crate) fn command(user: User, argv: &[&str]) -> Exec {
    Exec { user, ..shell::command(argv, "/") }
}

fn settings(at: &Path, pool: PoolSettings, toolchains: &[PathBuf]) -> Settings {
    Settings {
        data: at.join("data"),
        run: at.join("run"),
        toolchains: toolchains.to_vec(),
        tools: sandbox::Tools::default(),
        disk_bytes: DISK_BYTES,
        disk_guaranteed_bytes: GUARANTEED_BYTES,
        retention: Retention::default(),
        pool,
        walls: Walls::ByTier,
        road: None,
        clock: Arc::new(|| SystemClock.now()),
        ids: Arc::new(Counted(AtomicU64::new(0))),
    }
}

fn pipes(input: &[u8]) -> (Streams, impl Future<Output = ()> + '_, impl Future<Output = Vec<u8>>) {
    let (to_command, from_us) = mpsc::channel(4);
    let (to_us, mut from_command) = mpsc::channel(16);
    let sending = async move {
        for chunk in input.chunks(64 * 1024) {
            if to_command.send(Input::Bytes(chunk.to_vec())).await.is_err() {
                return;
            }
        }
    };
    let hearing = async move {
        let mut out = Vec::new();
        while let Some(chunk) = from_command.recv().await {
            match chunk {
                Output::Out(bytes) | Output::Error(bytes) => out.extend(bytes),
            }
        }
        out
    };
    (Streams { input: from_us, output: to_us }, sending, hearing)
}

/// The probe, as it was built.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_escape-probe"))
}

/// Runs the probe outside, where what it tries should work.
pub(crate) fn outside(words: &[&str]) -> String {
    let ran = Command::new(program()).args(words).output().unwrap();
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// Whether this test has the host's root, and so sandboxes with a root of their own.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The users that a sandbox has here.
pub(crate) fn users() -> Vec<User> {
    if is_root() {
        return vec![User::Agent, User::Root];
    }
    unsupported::part("root inside", "this test is not root outside");
    vec![User::Agent]
}
