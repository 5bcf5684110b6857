//! `lamp image prune`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::{client::Client, image::PruneImages};

use super::Versioned;
use crate::amount::{self, Size};

/// Remove images that nothing uses, the longest unused first
#[derive(Debug, clap::Args)]
pub(super) struct Prune {
    /// Keep so much of them
    #[arg(long, value_name = "SIZE", default_value = "0")]
    keep: Size,

    #[command(flatten)]
    format: FormatFlag,
}

impl Prune {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let pruned = client.prune(&PruneImages { keep_bytes: self.keep.0 }).await.explained()?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(pruned), out)?,
            Format::People => {
                let count = u64::try_from(pruned.removed.len()).unwrap_or(u64::MAX);
                let (images, bytes) = (amount::count(count, "image"), amount::bytes(pruned.bytes));
                writeln!(out, "Removed {images}, {bytes}.")?;
            }
        }
        Ok(Exit::Done)
    }
}
