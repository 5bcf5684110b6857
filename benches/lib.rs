//! How fast it is, on the machine that asks.
//!
//! ```text
//!  all.rs ──▶ append · words · steps · lists · replay · waiting · sandbox · egress · agents · journey ──▶ report (a line per figure, PASS or MISS)
//!                  │ beside: alternatives (what one would write instead)
//!                  └ lives: the events of tasks, made up but whole
//! ```
//!
//! Every measure takes a [`Bench`] and adds figures to its [`report::Report`]. Nothing here is
//! compared with yesterday: machines differ, so a figure stands beside the same work done otherwise in
//! the same run, and beside the number that we promise (docs/SPECIFICATION.md).

pub mod agents;
pub mod alternatives;
pub mod append;
pub mod egress;
pub mod journey;
pub mod lists;
pub mod lives;
pub mod machine;
pub mod replay;
pub mod report;
pub mod sandbox;
pub mod spread;
pub mod steps;
pub mod waiting;
pub mod words;

use std::path::PathBuf;

use report::Report;
use store::{DataDirectory, Store};
use tempfile::TempDir;

/// What every measure needs: where to put files, and where to tell.
#[derive(Debug)]
pub struct Bench {
    pub report: Report,
    /// A directory on a real disk: what is measured here includes its flushes.
    pub disk: PathBuf,
}

/// A store in a directory of its own, gone with it.
#[derive(Debug)]
pub struct Bed {
    pub store: std::sync::Arc<Store>,
    pub place: DataDirectory,
    _directory: TempDir,
}

impl Bench {
    pub fn directory(&self) -> std::io::Result<TempDir> {
        tempfile::Builder::new().prefix("bench-").tempdir_in(&self.disk)
    }

    pub async fn sqlite(&self) -> anyhow::Result<Bed> {
        let directory = self.directory()?;
        let place = DataDirectory::new(directory.path());
        let store = store::open(&place.sqlite_url(), &place).await?;
        Ok(Bed { store: store.into(), place, _directory: directory })
    }

    pub async fn postgres(&self, url: &str) -> anyhow::Result<Bed> {
        let directory = self.directory()?;
        let place = DataDirectory::new(directory.path());
        let store = store::open(url, &place).await?;
        Ok(Bed { store: store.into(), place, _directory: directory })
    }
}
