//! `lamp backup`: a copy of everything that a server has kept.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::{
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    kept::{KeptFlags, block_on},
    report::Hint,
};

/// Copy everything that the server has kept into a new directory
///
/// Works while the server runs. For PostgreSQL, use `pg_dump` and copy the blobs.
#[derive(Debug, clap::Args)]
pub(crate) struct Backup {
    /// A directory that does not exist yet
    #[arg(value_name = "DIR")]
    to: PathBuf,

    #[command(flatten)]
    kept: KeptFlags,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Outcome {
    backup: String,
}

impl Backup {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let kept = self.kept.find(environment)?;
        block_on(async {
            let store = kept.open().await?;
            let copied = store.back_up(&self.to).await;
            store.close().await;
            copied.with_context(|| {
                let help = "name a directory that does not exist yet, on a disk with room";
                Hint::new("cannot make the backup", help)
            })
        })?;
        let backup = self.to.display().to_string();
        match self.format.format() {
            Format::People => writeln!(
                out,
                "Everything is copied into `{backup}`.\nBring it back with `lamp restore {backup} --data NEW`."
            )?,
            Format::Json => write_json(&Outcome { backup }, out)?,
        }
        Ok(Exit::Done)
    }
}
