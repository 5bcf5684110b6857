//! `lamp pr diff`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::client::Client;

use super::which::Which;
use crate::commands::task::{World, show_patch};

/// Show the change of a pull request, as a patch
#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatFlag,
}

impl Diff {
    pub(super) async fn run(
        &self,
        client: &Client,
        world: World<'_>,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let (repository, number) = self.which.find(client).await?;
        let patch = client.pull_diff(&repository, number).await.explained()?;
        show_patch(&patch, self.format.format(), world.colors, out)?;
        Ok(Exit::Done)
    }
}
