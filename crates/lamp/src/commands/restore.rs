//! `lamp restore`: brings a backup back, and checks it.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use store::Place;

use crate::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    kept::block_on,
    report::Hint,
};

/// Bring a backup back into an empty data directory, and check it
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
    audit_rows: i64,
    audit_head: String,
}

impl Restore {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let place = Place::new(self.data.directory(environment, None, Account::own())?);
        store::restore(&self.from, &place).with_context(|| {
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
            Format::People => writeln!(
                out,
                "Restored into `{restored}`. Its audit log is whole: {} rows.",
                verified.rows
            )?,
            Format::Json => {
                let (audit_rows, audit_head) = (verified.rows, verified.head.to_string());
                write_json(&Outcome { restored, audit_rows, audit_head }, out)?;
            }
        }
        Ok(Exit::Done)
    }
}
