//! `lamp sandbox stats`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::client::Client;

use super::Versioned;
use crate::amount;

/// Show what a sandbox uses now, and has used so far
#[derive(Debug, clap::Args)]
pub(super) struct Stats {
    #[arg(value_name = "SANDBOX")]
    sandbox: String,

    #[command(flatten)]
    format: FormatFlag,
}

impl Stats {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let told = client.stats(&self.sandbox).await.explained()?;
        if self.format.format() == Format::Json {
            write_json(&Versioned::new(told), out)?;
            return Ok(Exit::Done);
        }
        let (seconds, rest) = (told.cpu_millis / 1000, told.cpu_millis % 1000);
        writeln!(out, "cpu            {seconds}.{rest:03} s")?;
        writeln!(out, "memory         {}", amount::bytes(told.memory_bytes))?;
        writeln!(out, "memory, peak   {}", amount::bytes(told.memory_peak_bytes))?;
        writeln!(out, "memory, time   {} MiB·s", told.memory_mib_seconds)?;
        writeln!(
            out,
            "disk           {} in {} files",
            amount::bytes(told.disk_bytes),
            told.disk_files
        )?;
        writeln!(
            out,
            "read, written  {}, {}",
            amount::bytes(told.read_bytes),
            amount::bytes(told.written_bytes)
        )?;
        writeln!(out, "processes      {}", told.processes)?;
        writeln!(out, "out of memory  {} times", told.out_of_memory)?;
        Ok(Exit::Done)
    }
}
