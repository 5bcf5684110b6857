//! `lamp image get`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::client::Client;

use super::show;

/// Show one image, and where it comes from
#[derive(Debug, clap::Args)]
pub(super) struct Get {
    /// Its key, or at least 8 letters of its beginning
    #[arg(value_name = "KEY")]
    key: String,

    #[command(flatten)]
    format: FormatFlag,
}

impl Get {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let found = client.image(&self.key).await.explained()?;
        show(&found, self.format.format(), out)?;
        Ok(Exit::Done)
    }
}
