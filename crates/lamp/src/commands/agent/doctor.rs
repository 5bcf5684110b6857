//! `lamp agent doctor`: which agents an image has.

use std::io::Write;

use contracts::ids::{IdSource as _, SystemIds};
use domain::id::SandboxId;
use serde::Serialize;
use terminal::{
    exit::Exit,
    format::{Format, FormatFlag, Versioned, write_json},
    refusal::Explained as _,
};
use wire::{
    agent::{Agent, AgentInside, Presence},
    client::Client,
    sandbox::{CreateSandbox, Tier},
};

use super::pinned;
use crate::{commands::sandbox::read_tier, remote::whole_base};

/// Say which agents an image has, at which versions, and which models they can use
///
/// Opens a sandbox of the image without a network, asks each program for its version, and deletes the sandbox. Ends with 1 if the image
/// has none of them, or one that does not start.
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// The image: `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`
    #[arg(long, value_name = "IMAGE", default_value = "host")]
    base: String,

    /// How strongly it is isolated: `verified`, `standard` or `untrusted`
    #[arg(long, value_name = "TIER", default_value = "standard", value_parser = read_tier)]
    tier: Tier,

    #[command(flatten)]
    format: FormatFlag,
}

#[derive(Debug, Serialize)]
struct Found {
    image: String,
    agents: Vec<AgentInside>,
}

impl Doctor {
    pub(super) async fn run(
        &self,
        client: &Client,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> anyhow::Result<Exit> {
        let all = client.agents().await.explained()?;
        let image = whole_base(client, &self.base).await?;
        writeln!(err, "==> asking the programs in `{image}`")?;
        let id = SandboxId::from_u128(SystemIds.next()).to_string();
        let wish = CreateSandbox {
            id: Some(id.clone()),
            image: Some(image.clone()),
            tier: self.tier,
            ..CreateSandbox::default()
        };
        client.create(&wish).await.explained()?;
        let inside = client.agents_inside(&id).await.explained();
        let deleted = client.delete(&id).await.explained();
        let agents = inside?.agents;
        deleted?;
        let is_well = agents.iter().any(|it| matches!(it.presence, Presence::Here { .. }))
            && !agents.iter().any(|it| matches!(it.presence, Presence::Broken { .. }));
        match self.format.format() {
            Format::Json => write_json(&Versioned::new(Found { image, agents }), out)?,
            Format::People => tell(&all.agents, &agents, out)?,
        }
        Ok(if is_well { Exit::Done } else { Exit::Failed })
    }
}

fn tell(known: &[Agent], inside: &[AgentInside], out: &mut impl Write) -> std::io::Result<()> {
    for agent in known {
        let found = inside.iter().find(|it| it.name == agent.name);
        let Some(AgentInside { presence, .. }) = found else { continue };
        let name = &agent.name;
        match presence {
            Presence::Here { version } => writeln!(out, "ok       {name} {version}")?,
            Presence::Other { version, wanted } => writeln!(
                out,
                "other    {name} {version}, and {wanted} is the one that is known to work\n         remedy: `lamp agent check {name}` builds an image with that"
            )?,
            Presence::Missing {} => writeln!(
                out,
                "missing  {name} {}\n         remedy: `lamp agent check {name}` builds an image with it",
                pinned(agent)
            )?,
            Presence::Broken { reason } => writeln!(
                out,
                "broken   {name}: {reason}\n         remedy: `lamp agent check {name}` builds an image with one that starts"
            )?,
            Presence::NotAsked {} if agent.needs_command => {
                writeln!(out, "ok       {name}: whoever uses it says what is started")?;
            }
            Presence::NotAsked {} => writeln!(out, "ok       {name} comes with Lamplighter")?,
        }
        if !agent.formats.is_empty() && agent.models.is_empty() {
            writeln!(
                out,
                "         no model: it speaks {}; add a provider under `models:` in `lamp.yaml`",
                agent.formats.join(", ")
            )?;
        }
    }
    Ok(())
}
