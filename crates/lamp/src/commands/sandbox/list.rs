//! `lamp sandbox list`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::{client::Client, sandbox::Sandboxes};

use super::{Versioned, state, tier};
use crate::amount;

/// List the sandboxes that exist
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let sandboxes = client.sandboxes().await.explained()?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(Sandboxes { sandboxes }), out)?,
            Format::People if sandboxes.is_empty() => {
                writeln!(out, "There are no sandboxes. `lamp sandbox create` makes one.")?;
            }
            Format::People => {
                writeln!(
                    out,
                    "{:<28}  {:<20}  {:<11}  {:<9}  {:>5}  {:>9}  IMAGE",
                    "ID", "NAME", "STATE", "TIER", "CPU", "MEMORY"
                )?;
                for it in &sandboxes {
                    writeln!(
                        out,
                        "{:<28}  {:<20}  {:<11}  {:<9}  {:>5}  {:>9}  {}",
                        it.id,
                        it.name.as_deref().unwrap_or("-"),
                        state(it.state),
                        tier(it.tier),
                        amount::cores(it.compute.cpu_millis),
                        amount::bytes(u64::from(it.compute.memory_mib) << 20),
                        it.image,
                    )?;
                }
            }
        }
        Ok(Exit::Done)
    }
}
