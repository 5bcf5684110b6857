//! `lamp restore`: brings a backup back, and checks it.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use server::belongings;
use store::DataDirectory;
use terminal::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    report::Hint,
};

use crate::kept::block_on;

/// Bring a backup back into an empty data directory, and check it
///
/// With the server stopped. What is there already is not overwritten. Images are built again when they are needed. Sandboxes
/// do not come back: a task that an agent was working on fails as `sandbox_lost`, and `lamp retry` begins again.
#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// The directory that `lamp backup` made
    #[arg(value_name = "DIR")]
    from: PathBuf,

    #[command(flatten)]
    data: DataFlag,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Outcome {
    restored: String,
    /// What was brought back beside the database and the blobs.
    beside: Vec<&'static str>,
    audit_rows: i64,
    audit_head: String,
}

impl Restore {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let place = DataDirectory::new(self.data.directory(environment, None, Account::own())?);
        let mut beside = Vec::new();
        let bring = || {
            beside = belongings::copy_back(&self.from, place.directory())?;
            Ok(())
        };
        store::restore(&self.from, &place, bring).with_context(|| {
            let help = "name the directory that `lamp backup` made, and an empty `--data DIR`";
            Hint::new("cannot bring the backup back", help)
        })?;
        let verified = block_on(async {
            let store = store::open(&place.sqlite_url(), &place).await?;
            let verified = store.verify_audit().await;
            store.close().await;
            verified.context("the backup was brought back, but its audit log is damaged")
        })?;
        let restored = place.directory().display().to_string();
        match self.format.format() {
            Format::People => {
                writeln!(
                    out,
                    "Restored into `{restored}`. Its audit log is whole: {} rows.",
                    verified.rows
                )?;
                write!(out, "{}", belongings::missing(&beside))?;
            }
            Format::Json => {
                let (audit_rows, audit_head) = (verified.rows, verified.head.to_string());
                write_json(&Outcome { restored, beside, audit_rows, audit_head }, out)?;
            }
        }
        Ok(Exit::Done)
    }
}
