//! `lamp agent list`

use std::io::Write;

use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned, write_json},
    refusal::Explained as _,
};
use wire::{
    agent::{Agent, Steering},
    client::Client,
};

use super::pinned;

/// List the agents, the versions they are kept at, and the models they can use
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    format: FormatFlag,
}

impl List {
    pub(super) async fn run(&self, client: &Client, out: &mut impl Write) -> anyhow::Result<Exit> {
        let all = client.agents().await.explained()?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(&all), out)?,
            Format::People => {
                table(&all.agents, out)?;
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
