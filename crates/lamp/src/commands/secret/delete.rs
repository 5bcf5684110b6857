//! `lamp secret delete`

use std::io::Write;

use terminal::{exit::Exit, refusal::Explained as _};
use wire::client::Client;

/// Delete a secret; whoever uses it next is refused
#[derive(Debug, clap::Args)]
pub(super) struct Delete {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
}

impl Delete {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        client.delete_secret(&self.name).await.explained()?;
        writeln!(out, "Deleted `{}`.", self.name)?;
        Ok(Exit::Done)
    }
}
