//! A database and an outside that survive every process that plays on them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::bail;
use contracts::ids::IdSource as _;
use domain::{id::TaskId, limits::Limits, task::Standing};
use engine::{Engine, SubmitError};
use store::{DataDirectory, Store};
use tempfile::TempDir;
use testkit::{
    clock::AnyClock,
    ids::SystemIds,
    inspect::{Verdict, inspect},
    ledger::Ledger,
    world::World,
};

/// Which database the arena stands on.
#[derive(Debug, Clone)]
pub enum Ground {
    Sqlite,
    /// The address of an empty database.
    Postgres(String),
}

#[derive(Debug)]
pub struct Arena {
    directory: TempDir,
    url: String,
    /// For looking and submitting. It drives nothing.
    pub engine: Engine<World>,
}

impl Arena {
    pub async fn new(ground: Ground) -> anyhow::Result<Self> {
        Self::within(&quick(), ground).await
    }

    /// An arena on a file system of the caller's choice.
    pub async fn within(parent: &Path, ground: Ground) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("lamp-arena-").tempdir_in(parent)?;
        let place = DataDirectory::new(directory.path().join("data"));
        let url = match ground {
            Ground::Sqlite => place.sqlite_url(),
            Ground::Postgres(url) => url,
        };
        let store = Arc::new(store::open(&url, &place).await?);
        let world = World::new(Ledger::open(directory.path().join("outside"))?, AnyClock::System);
        let engine = Engine::new(store, Arc::new(world), World::settings("onlooker"));
        Ok(Self { directory, url, engine })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn store(&self) -> &Store {
        self.engine.store()
    }

    pub fn ledger(&self) -> anyhow::Result<Ledger> {
        Ok(Ledger::open(self.directory.path().join("outside"))?)
    }

    pub async fn submit(&self, number: usize, script: &str) -> anyhow::Result<TaskId> {
        // A few repositories, so that the fair queue has something to be fair about.
        let trigger = testkit::trigger(&format!("acme/web-{}", number % 7), script)?;
        Ok(self.engine.submit(trigger, Limits::default()).await?)
    }

    /// The same, by someone who tries again when the database is busy, with the same id.
    pub async fn submit_stubbornly(&self, number: usize, script: &str) -> anyhow::Result<TaskId> {
        let task = TaskId::from_u128(SystemIds.next());
        let trigger = testkit::trigger(&format!("acme/web-{}", number % 7), script)?;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.engine.submit_as(task, trigger.clone(), Limits::default()).await {
                Ok(()) => return Ok(task),
                Err(SubmitError::Store(error)) if error.is_passing() && tries < 20 => {
                    pause(Duration::from_millis(500)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How many of `tasks` have ended and left nothing to do.
    pub async fn settled(&self, tasks: &[TaskId]) -> anyhow::Result<usize> {
        let mut count = 0;
        for task in tasks {
            let over = self.store().history(*task).await?.task();
            let over = over.is_some_and(|task| task.stage.standing() == Standing::Over);
            count += usize::from(over && self.store().pending(*task).await?.is_empty());
        }
        Ok(count)
    }

    /// Waits until all of `tasks` are settled.
    pub async fn wait(&self, tasks: &[TaskId], at_most: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + at_most;
        for task in tasks {
            while self.settled(&[*task]).await? == 0 {
                if Instant::now() > deadline {
                    let stage = self.store().task(*task).await?.map(|view| view.stage);
                    let pending = self.store().pending(*task).await?;
                    bail!("{task} did not come to its end in time: {stage:?}, {pending:?}");
                }
                pause(Duration::from_millis(20)).await;
            }
        }
        Ok(())
    }

    pub async fn inspect(&self, tasks: &[TaskId]) -> anyhow::Result<Verdict> {
        self.store().verify_audit().await?;
        inspect(self.store(), &self.ledger()?, tasks).await
    }

    /// The same, when engines that were cut off may have come back late. What they do even now must be
    /// undone by the others in time; so this looks again until nothing is wrong, or `at_most` has passed.
    pub async fn inspect_patiently(
        &self,
        tasks: &[TaskId],
        at_most: Duration,
    ) -> anyhow::Result<Verdict> {
        let deadline = Instant::now() + at_most;
        loop {
            // Long enough for the late ones to do their worst, and for two sweeps.
            pause(2 * World::settings("onlooker").sweep_every).await;
            let verdict = self.inspect(tasks).await?;
            if verdict.is_clean() || Instant::now() > deadline {
                return Ok(verdict);
            }
        }
    }
}

/// Looks away for a moment. These tests watch other processes, which no clock of ours can move.
#[expect(clippy::disallowed_methods, reason = "other processes have their own clock")]
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Thousands of small files are quicker in memory, where there is some.
fn quick() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { PathBuf::from("/tmp") }
}
