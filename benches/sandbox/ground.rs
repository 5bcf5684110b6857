//! A provider in this process, with everything switched on that a real one has.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource,
    sandbox::{Checkout, Compute, Ended, Exec, Owner, Sandboxes as _, Spec, Use, WorkspaceAccess},
};
use domain::{agent::Tier, id::SandboxId};
use fs_err as fs;
use sandbox::{PoolSettings, Provider, Retention, Settings, Walls};
use testkit::shell;

/// Room for the image with its 50,000 files, and for a thousand disks that hold nothing.
const DISK_BYTES: u64 = 8 << 30;

/// How long what was destroyed may take to be gone.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub struct Ground {
    pub provider: Provider,
    pub data: PathBuf,
    run: PathBuf,
    numbers: Arc<Numbers>,
}

/// What a sandbox is opened on.
#[derive(Debug, Clone)]
pub struct Base {
    pub image: String,
    pub sources: Vec<Checkout>,
}

impl Base {
    pub fn host() -> Self {
        Self { image: "host".to_owned(), sources: Vec::new() }
    }
}

#[derive(Debug)]
struct Numbers(AtomicU64);

impl IdSource for Numbers {
    fn next(&self) -> u128 {
        let now = u128::from(SystemClock.now().as_millis().unsigned_abs());
        (now << 64) | u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Ground {
    /// A provider called `name` with at most `waiting` computers of a kind that wait. What a run before this one left is found
    /// again, because the place is the same, and cleared away.
    pub async fn new(disk: &Path, name: &str, waiting: u32) -> anyhow::Result<Self> {
        let data = disk.join(format!("sandboxes-{name}"));
        let run = std::env::temp_dir().join(format!("lamp-bench-{name}"));
        let numbers = Arc::new(Numbers(AtomicU64::new(0)));
        let settings = Settings {
            data: data.clone(),
            run: run.clone(),
            toolchains: Vec::new(),
            tools: sandbox::Tools::default(),
            disk_bytes: DISK_BYTES,
            // A thousand disks stand in this room, and hold nothing. With less, every change to a disk waits for the kernel to write
            // out all of them.
            disk_guaranteed_bytes: 4 << 20,
            retention: Retention::default(),
            pool: PoolSettings { most_of_a_kind: waiting, ..PoolSettings::default() },
            walls: Walls::default(),
            road: None,
            clock: Arc::new(|| SystemClock.now()),
            ids: Arc::clone(&numbers) as Arc<dyn IdSource>,
        };
        let provider = Provider::start(settings).await?;
        let left = provider.list().await?;
        for sandbox in left {
            provider.destroy(sandbox.id).await?;
        }
        Ok(Self { provider, data, run, numbers })
    }

    /// Lets go of everything, and leaves nothing.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { provider, data, run, .. } = self;
        provider.close().await?;
        fs::remove_dir_all(data)?;
        fs::remove_dir_all(run)?;
        Ok(())
    }

    /// What to open, with every limit set.
    pub fn spec(&self, base: &Base) -> Spec {
        Spec {
            id: SandboxId::from_u128(self.numbers.next()),
            name: None,
            owner: Owner::Person("bench".to_owned()),
            purpose: Use::Person,
            image: base.image.clone(),
            tier: Tier::Standard,
            compute: Compute {
                memory_mib: 1_024,
                disk_mib: 512,
                processes: 512,
                ..Compute::default()
            },
            sources: base.sources.clone(),
            hooks: contracts::sandbox::Hooks::default(),
            workspace: WorkspaceAccess::Writable,
            conditions: None,
            network: None,
        }
    }

    pub async fn open(&self, base: &Base) -> anyhow::Result<SandboxId> {
        self.open_as(self.spec(base)).await
    }

    /// The same with every core of the machine, to compare with a program that has them all.
    pub async fn open_wide(&self, base: &Base) -> anyhow::Result<SandboxId> {
        let mut spec = self.spec(base);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        spec.compute.cpu_millis = u32::try_from(cores * 1_000)?;
        self.open_as(spec).await
    }

    async fn open_as(&self, spec: Spec) -> anyhow::Result<SandboxId> {
        self.provider.open(&spec).await?;
        Ok(spec.id)
    }

    /// Runs a command as the agent, and returns what it wrote. Fails where it does not succeed.
    pub async fn exec(
        &self,
        id: SandboxId,
        argv: &[&str],
        directory: &str,
    ) -> anyhow::Result<String> {
        let command = Exec { limit: PATIENCE, ..shell::command(argv, directory) };
        let name = self.numbers.next().to_string();
        let (finished, written) = shell::run(&self.provider, id, &name, &command).await?;
        ensure!(
            finished.ending == Ended::Exited(0),
            "{argv:?}: {:?}: {}",
            finished.ending,
            written
        );
        Ok(written)
    }

    pub async fn destroy(&self, id: SandboxId) -> anyhow::Result<()> {
        Ok(self.provider.destroy(id).await?)
    }

    /// Waits until nothing is left of what was destroyed: disks go last.
    pub async fn until_disks(&self, left: usize) -> anyhow::Result<()> {
        let end = SystemClock.now() + PATIENCE;
        while self.disks()? > left {
            ensure!(
                SystemClock.now() < end,
                "{} disks are left, and {left} should be",
                self.disks()?
            );
            rest(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Waits until as many wait as may, of every kind that was asked for.
    pub async fn until_waiting(&self) -> anyhow::Result<()> {
        let end = SystemClock.now() + PATIENCE;
        while !self.provider.is_stocked() {
            ensure!(SystemClock.now() < end, "the pool does not fill");
            rest(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// How many writable disks there are.
    pub fn disks(&self) -> anyhow::Result<usize> {
        let disks = self.data.join("disks");
        let places = [disks.join("pool/disks"), disks.join("plain/disks")];
        let place = places.into_iter().find(|place| place.is_dir());
        Ok(fs::read_dir(place.context("where are the disks?")?)?.count())
    }

    /// The first process of a sandbox, as the host sees it.
    pub fn first_process(&self, id: SandboxId) -> anyhow::Result<u32> {
        let record = fs::read_to_string(self.data.join(format!("records/{id}.json")))?;
        let (_, after) = record.split_once("\"pid\":").context("a record without a process")?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        Ok(digits.parse()?)
    }

    /// The sockets of guests that are there.
    pub fn sockets(&self) -> anyhow::Result<usize> {
        Ok(fs::read_dir(&self.run)?.count())
    }
}

/// Lets a moment pass.
pub async fn rest(time: Duration) {
    SystemClock.sleep_until(SystemClock.now() + time).await;
}
