//! `lamp agent`: the coding agents that a server can work with.

mod check;
mod doctor;
mod list;
mod place;
mod run;
mod show;
mod traces;

use std::io::Write;

use anyhow::anyhow;
use terminal::{environment::Environment, exit::Exit, refusal::Explained as _, report::Hint};
use wire::{
    agent::{Agent as Known, Agents},
    client::Client,
};

use crate::{kept::block_on, remote::ServerFlag};

/// Look at and try the coding agents: Claude Code, Codex and others
///
/// Talks to a running `lamp up`. An agent runs in a sandbox, and reaches its model through the gateway; `models:` in `lamp.yaml` says which
/// there are.
#[derive(Debug, clap::Args)]
pub(crate) struct Agent {
    #[command(flatten)]
    server: ServerFlag,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    List(list::List),
    Doctor(doctor::Doctor),
    Check(check::Check),
    Run(Box<run::Run>),
}

impl Agent {
    pub(crate) fn run(
        &self,
        environment: &Environment,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let client = self.server.client(environment)?;
        block_on(async {
            match &self.what {
                What::List(list) => list.run(&client, out).await,
                What::Doctor(doctor) => doctor.run(&client, out, err).await,
                What::Check(check) => check.run(&client, out, err).await,
                What::Run(run) => run.run(&client, out, err).await,
            }
        })
    }
}

/// The agent of this name, and all that the server said about agents.
async fn find(client: &Client, name: &str) -> anyhow::Result<(Known, Agents)> {
    let all = client.agents().await.explained()?;
    if let Some(found) = all.agents.iter().find(|it| it.name == name) {
        return Ok((found.clone(), all));
    }
    let names: Vec<&str> = all.agents.iter().map(|it| it.name.as_str()).collect();
    let hint = format!("those that there are: {}", names.join(", "));
    Err(anyhow!(Hint::new(format!("there is no agent `{name}`"), hint)))
}

/// The version that an agent is kept at.
fn pinned(agent: &Known) -> &str {
    agent.packages.first().map_or("-", |package| package.version.as_str())
}
