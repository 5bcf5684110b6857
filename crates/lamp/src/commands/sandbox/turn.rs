//! `lamp sandbox freeze`, `thaw`, `hibernate`, `resume`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};
use wire::client::{Client, Turn};

use super::{Versioned, called, state};

#[derive(Debug, clap::Args)]
pub(super) struct TurnOne {
    #[arg(value_name = "SANDBOX")]
    sandbox: String,

    #[command(flatten)]
    format: FormatFlag,
}

impl TurnOne {
    pub(super) async fn run(
        &self,
        client: &Client,
        turn: Turn,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let turned = client.turn(&self.sandbox, turn).await.explained()?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(&turned), out)?,
            Format::People => writeln!(out, "`{}` is {}.", called(&turned), state(turned.state))?,
        }
        Ok(Exit::Done)
    }
}
