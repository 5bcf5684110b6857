//! What a server has kept, for the commands that open it themselves.

use std::{future::Future, path::PathBuf};

use anyhow::Context as _;
use server::kept::Kept;
use terminal::{data_directory::DataFlag, environment::Environment};

/// `--data` and `--config`, for every command that reads what a server has kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KeptFlags {
    #[command(flatten)]
    data: DataFlag,

    /// A `lamp.yaml` that names the data directory or the database
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl KeptFlags {
    pub(crate) fn find(&self, environment: &Environment) -> anyhow::Result<Kept> {
        Kept::find(&self.data, self.config.as_deref(), environment)
    }
}

/// Runs a command that talks with a server or a database, on this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start")?.block_on(work)
}
