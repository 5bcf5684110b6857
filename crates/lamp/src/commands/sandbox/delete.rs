//! `lamp sandbox delete`

use std::io::Write;

use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::client::Client;

use super::Versioned;

/// Remove sandboxes, with all that is in them
#[derive(Debug, clap::Args)]
pub(super) struct Delete {
    #[arg(value_name = "SANDBOX", required = true)]
    sandboxes: Vec<String>,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Deleted<'a> {
    deleted: &'a [String],
}

impl Delete {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let format = self.format.format();
        for sandbox in &self.sandboxes {
            client.delete(sandbox).await.explained()?;
            if format == Format::People {
                writeln!(out, "`{sandbox}` is gone.")?;
            }
        }
        if format == Format::Json {
            write_json(&Versioned::new(Deleted { deleted: &self.sandboxes }), out)?;
        }
        Ok(Exit::Done)
    }
}
