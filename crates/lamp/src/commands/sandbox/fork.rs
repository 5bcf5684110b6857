//! `lamp sandbox fork`

use std::io::Write;

use terminal::{exit::Exit, format::FormatFlag, refusal::Explained as _};
use wire::{client::Client, sandbox::ForkSandbox};

use super::{show, wishes::ComputeFlags};

/// Make another with a copy of its disk; the original goes on
#[derive(Debug, clap::Args)]
pub(super) struct Fork {
    #[arg(value_name = "SANDBOX")]
    sandbox: String,

    /// How to call the copy
    #[arg(value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    compute: ComputeFlags,

    #[command(flatten)]
    format: FormatFlag,
}

impl Fork {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let wish = ForkSandbox { id: None, name: self.name.clone(), compute: self.compute.wish() };
        let made = client.fork(&self.sandbox, &wish).await.explained()?;
        show(&made, self.format.format(), out)?;
        Ok(Exit::Done)
    }
}
