//! `lamp sandbox shell`

use std::io::{self, Write};

use anyhow::bail;
use terminal::{colors::Stream, environment::Environment, exit::Exit, report::Hint};
use wire::{
    client::Client,
    exec::{StartExec, User},
};

use super::wishes::user;
use crate::session::{self, Terminal};

/// Open a shell in a sandbox, on a terminal of its own
///
/// What runs inside draws on this terminal as it would without a sandbox: only open a shell where you
/// trust what runs.
#[derive(Debug, clap::Args)]
pub(super) struct Shell {
    #[arg(value_name = "SANDBOX")]
    sandbox: String,

    /// Who you are inside: `agent`, or `root` of the sandbox's own files
    #[arg(long, value_name = "USER", default_value = "agent", value_parser = user)]
    user: User,

    /// What to run instead of a shell
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

impl Shell {
    pub(super) async fn run(
        &self,
        client: &Client,
        environment: &Environment,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        if Stream::of(&io::stdin()) == Stream::Elsewhere {
            // Nothing could say that the input has ended: a terminal has no end.
            let hint =
                format!("`lamp sandbox exec {} -- sh` takes input from a pipe", self.sandbox);
            bail!(Hint::new("a shell wants a terminal, and the input is none", hint));
        }
        let shell = "if command -v bash >/dev/null; then exec bash -l; else exec sh -l; fi";
        let usual = || ["/bin/sh", "-c", shell].map(str::to_owned).to_vec();
        let argv = if self.command.is_empty() { usual() } else { self.command.clone() };
        let term = environment.term.as_ref().and_then(|term| term.to_str()).map(str::to_owned);
        let start = StartExec {
            argv,
            user: self.user,
            environment: term.map(|term| ("TERM".to_owned(), term)).into_iter().collect(),
            ..StartExec::default()
        };
        let finished =
            session::hold(client, &self.sandbox, start, Terminal::Ours, out, err).await?;
        super::exec::tell(&finished, None, err)?;
        Ok(session::exit(&finished))
    }
}
