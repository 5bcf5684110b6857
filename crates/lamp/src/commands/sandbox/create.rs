//! `lamp sandbox create`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag},
    refusal::Explained as _,
};
use wire::{client::Client, sandbox::CreateSandbox};

use super::{called, show, wishes::MakeFlags};

/// Make a sandbox that stays until it is deleted
#[derive(Debug, clap::Args)]
pub(super) struct Create {
    /// How to call it: letters in lower case, digits or `-`
    #[arg(value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    make: MakeFlags,

    #[command(flatten)]
    format: FormatFlag,
}

impl Create {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let wish = CreateSandbox { name: self.name.clone(), ..self.make.wish(client).await? };
        let made = client.create(&wish).await.explained()?;
        let format = self.format.format();
        show(&made, format, out)?;
        if format == Format::People {
            writeln!(out, "It is open. `lamp sandbox shell {}` goes inside.", called(&made))?;
        }
        Ok(Exit::Done)
    }
}
