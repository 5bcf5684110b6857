//! `lamp image list`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::{client::Client, image::Images};

use super::Versioned;
use crate::amount;

/// List the images that are kept, the most recently used first
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let images = client.images().await.explained()?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(Images { images }), out)?,
            Format::People if images.is_empty() => {
                writeln!(out, "There are no images. `lamp image build` makes one.")?;
            }
            Format::People => {
                writeln!(
                    out,
                    "{:<16}  {:>9}  {:>5}  {:<20}  BASE",
                    "KEY", "SIZE", "USERS", "USED"
                )?;
                for it in &images {
                    let key: String = it.key.chars().take(16).collect();
                    let used = amount::moment(it.used_at_millis);
                    let size = amount::bytes(it.bytes);
                    writeln!(
                        out,
                        "{key:<16}  {size:>9}  {:>5}  {used:<20}  {}",
                        it.users, it.base
                    )?;
                }
            }
        }
        Ok(Exit::Done)
    }
}
