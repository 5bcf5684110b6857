//! A provider of its own for each test, below a directory that goes away with everything in it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "a test that cannot begin fails; not every test uses all"
)]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use contracts::{
    clock::{Clock as _, SystemClock},
    ids::IdSource,
};
use sandbox::{PoolSettings, Provider, Retention, Settings, Walls};

/// Enough for a test, and little enough for any machine.
const DISK_BYTES: u64 = 2 << 30;

#[derive(Debug)]
struct Counted(AtomicU64);

impl IdSource for Counted {
    fn next(&self) -> u128 {
        // Apart from those of other tests, and of the same one after a restart.
        let start = u128::from(std::process::id()) << 64;
        let now = SystemClock.now().as_millis();
        start
            | (u128::from(now.unsigned_abs()) << 24 & u128::from(u64::MAX))
            | u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) fn settings(at: &Path) -> Settings {
    Settings {
        data: at.join("data"),
        run: at.join("run"),
        toolchains: Vec::new(),
        tools: sandbox::Tools::default(),
        disk_bytes: DISK_BYTES,
        disk_guaranteed_bytes: 32 << 20,
        retention: Retention::default(),
        pool: PoolSettings { most_of_a_kind: 0, ..PoolSettings::default() },
        walls: Walls::ByTier,
        road: None,
        clock: Arc::new(|| SystemClock.now()),
        ids: Arc::new(Counted(AtomicU64::new(0))),
    }
}

pub(crate) struct World {
    pub(crate) provider: Provider,
    pub(crate) at: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_walls(Walls::ByTier).await
    }

    pub(crate) async fn with_walls(walls: Walls) -> Self {
        let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
        let settings = Settings { walls, ..settings(at.path()) };
        let provider = Provider::start(settings).await.unwrap();
        Self { provider, at }
    }

    /// Ends everything, and says what is left.
    pub(crate) async fn end(self) {
        self.provider.close().await.unwrap();
    }
}
