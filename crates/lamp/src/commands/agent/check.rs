//! `lamp agent check`: an agent from its package to its model's answer.

use std::io::Write;

use anyhow::bail;
use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned, write_json},
    refusal::{Explained as _, refused},
    report::Hint,
};
use wire::{
    agent::{AgentAnswer, AgentEvent, AgentMode, AgentSays, AgentUsage, Presence, StartAgent},
    client::Client,
    sandbox::Tier,
};

use super::{find, place};
use crate::commands::sandbox::read_tier;

/// What is asked of it. Any model can say that.
const REQUEST: &str =
    "This is a test of the connection. Use no tool. Answer with the one word: ready";

/// Longer than a connection takes, and shorter than a person waits.
const LIMIT_MILLIS: u64 = 180_000;

/// Build an image with an agent, and have it ask its model one thing
///
/// Builds the image, or finds it built; looks at the version; opens a sandbox that reaches the model and nothing else; and asks for one word.
/// Says what the round trip cost. Without a model that the agent can speak with, all but the round trip is done, and it ends with 1.
#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// The agent, as `lamp agent list` names it
    #[arg(value_name = "AGENT")]
    agent: String,

    /// The model to ask [default: the agent's own choice]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// The provider of `lamp.yaml` to ask [default: the first that the agent can speak with]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// What the image starts from: `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`
    #[arg(long, value_name = "IMAGE", default_value = "host")]
    base: String,

    /// How strongly it is isolated: `verified`, `standard` or `untrusted`
    #[arg(long, value_name = "TIER", default_value = "standard", value_parser = read_tier)]
    tier: Tier,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Checked {
    agent: String,
    image: String,
    /// Of the program. The form has a version too.
    agent_version: Option<String>,
    answer: String,
    usage: AgentUsage,
}

impl Check {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let (agent, all) = find(client, &self.agent).await?;
        if agent.needs_command || agent.formats.is_empty() {
            let name = &agent.name;
            bail!(Hint::new(
                format!("`{name}` is whatever its user starts, so there is nothing to check"),
                format!("`lamp agent run {name} --command COMMAND REQUEST` tries it")
            ));
        }
        let image = place::image(client, &agent, &self.base, err).await?;
        let wish = place::Wish {
            agent: &agent,
            image: image.clone(),
            tier: self.tier,
            name: None,
            repositories: Vec::new(),
            allow: Vec::new(),
            mode: AgentMode::Research,
            memory_mib: None,
        };
        let sandbox = place::sandbox(client, &all, self.provider.as_deref(), wish).await?;
        writeln!(err, "==> asking {} for its version, and for one word", agent.title)?;
        let checked = self.ask(client, &sandbox, &agent.name, image).await;
        let deleted = client.delete(&sandbox).await.explained();
        let checked = checked?;
        deleted?;
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(&checked), out)?,
            Format::People => {
                let version = checked.agent_version.as_ref().map(|it| format!(" {it}"));
                let version = version.unwrap_or_default();
                writeln!(out, "ok  {}{version} answers: {}", agent.name, checked.answer)?;
                let AgentUsage { cost_micros, input_tokens, output_tokens } = checked.usage;
                let money = domain::money::Money::from_micros(cost_micros);
                writeln!(out, "    {input_tokens} tokens in, {output_tokens} out, {money}")?;
                writeln!(out, "    image {}", checked.image)?;
            }
        }
        Ok(Exit::Done)
    }

    async fn ask(
        &self,
        client: &Client,
        sandbox: &str,
        name: &str,
        image: String,
    ) -> anyhow::Result<Checked> {
        let inside = client.agents_inside(sandbox).await.explained()?;
        let presence = inside.agents.into_iter().find(|it| it.name == name).map(|it| it.presence);
        let agent_version = match presence {
            Some(Presence::Here { version } | Presence::Other { version, .. }) => Some(version),
            Some(Presence::Broken { reason }) => {
                bail!(Hint::new(
                    format!("`{name}` is in the image and does not start: {reason}"),
                    "look at the image with `lamp sandbox run --base IMAGE -- COMMAND`"
                ));
            }
            Some(Presence::Missing {}) => {
                bail!(Hint::new(
                    format!("`{name}` is not where it should be in the image"),
                    "remove the image with `lamp image prune`, and check again"
                ));
            }
            Some(Presence::NotAsked {}) | None => None,
        };
        let start = StartAgent {
            agent: name.to_owned(),
            mode: AgentMode::Research,
            request: REQUEST.to_owned(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            limit_millis: Some(LIMIT_MILLIS),
            ..StartAgent::default()
        };
        let (_talking, mut hearing) = client.agent(sandbox, &start).await.explained()?;
        let mut usage = AgentUsage::default();
        loop {
            match hearing.next().await.explained()? {
                AgentSays::Event { event: AgentEvent::Usage(used) } => usage = used,
                AgentSays::Event { .. } => {}
                AgentSays::Finished(outcome) => {
                    let answer = match outcome.answer {
                        AgentAnswer::Notes { text } => text,
                        AgentAnswer::Question { text, .. } => format!("with a question: {text}"),
                        AgentAnswer::Plan(_)
                        | AgentAnswer::Change {}
                        | AgentAnswer::Review { .. } => {
                            "something else than it was asked for".to_owned()
                        }
                    };
                    let answer = answer.lines().next().unwrap_or_default().to_owned();
                    let agent = name.to_owned();
                    return Ok(Checked { agent, image, agent_version, answer, usage });
                }
                AgentSays::Failed { error } => return Err(refused(error)),
            }
        }
    }
}
