//! `lamp sandbox get`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::client::Client;

use super::show;

/// Show one sandbox
#[derive(Debug, clap::Args)]
pub(super) struct Get {
    #[arg(value_name = "SANDBOX")]
    sandbox: String,

    #[command(flatten)]
    format: FormatFlag,
}

impl Get {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let found = client.sandbox(&self.sandbox).await.explained()?;
        show(&found, self.format.format(), out)?;
        Ok(Exit::Done)
    }
}
