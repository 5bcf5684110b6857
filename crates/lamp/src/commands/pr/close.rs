//! `lamp pr close`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned},
    refusal::Explained as _,
};
use wire::client::Client;

use super::which::Which;
use crate::timeline::words;

/// Close a pull request without merging it; its branch stays
#[derive(Debug, clap::Args)]
pub(super) struct Close {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatFlag,
}

impl Close {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (repository, number) = self.which.find(client).await?;
        let pull = client.close_pull(&repository, number).await.explained()?;
        match self.format.format() {
            Format::Json => writeln!(out, "{}", words::json_page(&Versioned::new(&pull))?)?,
            Format::People => {
                writeln!(out, "Pull request #{number} is closed; its task ends by itself.")?;
            }
        }
        Ok(Exit::Done)
    }
}
