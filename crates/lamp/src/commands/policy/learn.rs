//! `lamp policy learn`: the smallest policy for what a sandbox did and tried.

use std::io::Write;

use terminal::{
    environment::Environment,
    exit::Exit,
    format::{Format, FormatFlag, write_json},
    refusal::Explained as _,
};

use crate::{kept::block_on, remote::ServerFlag};

/// Propose the smallest policy for what a sandbox did and tried
///
/// What was allowed and used is listed by its rule. What was refused is listed too, each with the narrowest rule that would allow it:
/// whether it is meant is for a person to say.
#[derive(Debug, clap::Args)]
pub(super) struct Learn {
    /// The sandbox
    #[arg(long, value_name = "SANDBOX")]
    sandbox: String,

    #[command(flatten)]
    server: ServerFlag,

    #[command(flatten)]
    format: FormatFlag,
}

impl Learn {
    pub(super) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        let learned = block_on(async { client.learned_egress(&self.sandbox).await.explained() })?;
        match self.format.format() {
            Format::People => write!(out, "{}", learned.yaml)?,
            Format::Json => write_json(&learned, out)?,
        }
        Ok(Exit::Done)
    }
}
