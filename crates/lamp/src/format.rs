//! For whom a command prints: people by default, programs with `--json`.

use std::io::Write;

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    People,
    Json,
}

/// `--json`, for every command that prints something.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct FormatFlag {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

impl FormatFlag {
    pub(crate) fn format(self) -> Format {
        if self.json { Format::Json } else { Format::People }
    }
}

/// One JSON document, ending in a line feed.
pub(crate) fn write_json(value: &impl Serialize, out: &mut impl Write) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}
