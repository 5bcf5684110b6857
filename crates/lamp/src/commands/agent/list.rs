//! `lamp agent list`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned, write_json},
    refusal::Explained as _,
};
use wire::{
    agent::{Agent, Agents, AgentsQuery, Steering, WrittenAgent},
    client::Client,
};

use super::pinned;
use crate::{commands::task::here, timeline::words};

/// List the agents, the versions they are kept at, and the models they can use
///
/// First the programs, which work by their own names; then the agents that files define: beside the server's `lamp.yaml`, and in the
/// repository that you stand in, on its default branch. A file that is wrong is listed with its line and what helps.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// The repository whose own agents are listed too [default: the one you are in, if the server knows it]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,

    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let all = self.ask(client).await?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(&all), out)?,
            Format::People => {
                table(&all.agents, out)?;
                written(&all.written, out)?;
                if all.models.is_empty() {
                    writeln!(
                        out,
                        "No model is set up: add one under `models:` in `lamp.yaml`, and its key with `lamp secret set`."
                    )?;
                }
            }
        }
        Ok(Exit::Done)
    }

    /// One that was named must be known; the one that we happen to be in need not be.
    async fn ask(&self, client: &Client) -> anyhow::Result<Agents> {
        let asked = |repository: String| AgentsQuery { repository: Some(repository) };
        if let Some(named) = &self.repo {
            return client.agents_in(&asked(named.clone())).await.explained();
        }
        if let Ok((here, _)) = here() {
            let known = client.repositories().await.explained()?;
            if known.iter().any(|it| it.name == here) {
                return client.agents_in(&asked(here)).await.explained();
            }
        }
        client.agents().await.explained()
    }
}

/// Agents of files, with where they are written.
fn written(agents: &[WrittenAgent], out: &mut impl Write) -> std::io::Result<()> {
    if agents.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:<12}  {:<26}  {:<11}  FILE", "AGENT", "WHAT", "OF")?;
    for agent in agents {
        let name = agent.name.as_deref().unwrap_or("-");
        let what = match (&agent.problem, &agent.description, &agent.driver) {
            (Some(_), _, _) => "broken".to_owned(),
            (None, Some(words), _) => words::line(words, 26),
            (None, None, driver) => driver.clone().unwrap_or_default(),
        };
        writeln!(
            out,
            "{name:<12}  {what:<26}  {:<11}  {}",
            agent.origin,
            words::line(&agent.file, 200)
        )?;
        for line in agent.problem.iter().flat_map(|problem| problem.lines()) {
            writeln!(out, "  {}", words::line(line, 400))?;
        }
    }
    Ok(())
}

fn table(agents: &[Agent], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{:<12}  {:<26}  {:<9}  {:<10}  MODELS", "AGENT", "WHAT", "VERSION", "WORDS")?;
    for agent in agents {
        let words = match agent.steering {
            Steering::AtOnce => "at once",
            Steering::AfterTurn => "after turn",
            Steering::Never => "never",
        };
        let models = match (agent.formats.is_empty(), agent.models.is_empty()) {
            (true, _) => "asks none".to_owned(),
            (false, true) => "none that fits".to_owned(),
            (false, false) => agent.models.join(", "),
        };
        let (name, title, version) = (&agent.name, &agent.title, pinned(agent));
        writeln!(out, "{name:<12}  {title:<26}  {version:<9}  {words:<10}  {models}")?;
    }
    Ok(())
}
