//! Where an agent works: an image that has it, and a sandbox of that image.

use std::{io::Write, pin::pin};

use anyhow::bail;
use contracts::ids::{IdSource as _, SystemIds};
use domain::id::SandboxId;
use futures::StreamExt as _;
use terminal::refusal::{Explained as _, refused};
use wire::{
    agent::{Agent, AgentMode, Agents},
    client::Client,
    image::{BuildImage, BuildNews},
    sandbox::{ComputeWish, CreateSandbox, EgressPhase, NetworkWish, Repository, Tier},
};

use crate::remote::whole_base;

/// Memory for what an agent builds, beside what it needs itself.
const ROOM_MIB: u32 = 2_048;

/// The image that has the agent, on top of `base`. What was built before is found again.
pub(super) async fn image(
    client: &Client,
    agent: &Agent,
    base: &str,
    err: &mut impl Write,
) -> anyhow::Result<String> {
    let mut base = whole_base(client, base).await?;
    for layer in &agent.layers {
        let wish = BuildImage {
            base: base.clone(),
            repositories: Vec::new(),
            setup: Some(layer.setup.clone()),
            compute: layer.compute,
        };
        writeln!(err, "==> {}", layer.what)?;
        base = format!("image:{}", build(client, &wish, err).await?);
    }
    Ok(base)
}

async fn build(client: &Client, wish: &BuildImage, err: &mut impl Write) -> anyhow::Result<String> {
    let mut news = pin!(client.build(wish).await.explained()?);
    while let Some(news) = news.next().await {
        match news.explained()? {
            BuildNews::Stage { text } => writeln!(err, "    {text}")?,
            BuildNews::Output { .. } | BuildNews::Proposed { .. } => {}
            BuildNews::Built { image } => return Ok(image.key),
            BuildNews::Failed { error } => return Err(refused(error)),
        }
        err.flush()?;
    }
    bail!("the server left before the image was built")
}

/// What the sandbox of an agent is made of.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    pub(super) agent: &'a Agent,
    pub(super) image: String,
    pub(super) tier: Tier,
    pub(super) name: Option<String>,
    pub(super) repositories: Vec<Repository>,
    pub(super) allow: Vec<String>,
    pub(super) mode: AgentMode,
    pub(super) memory_mib: Option<u32>,
}

/// Makes the sandbox, and gives its id.
pub(super) async fn sandbox(
    client: &Client,
    all: &Agents,
    provider: Option<&str>,
    wish: Wish<'_>,
) -> anyhow::Result<String> {
    let id = SandboxId::from_u128(SystemIds.next()).to_string();
    let network = network(all, provider, &wish);
    let create = CreateSandbox {
        id: Some(id.clone()),
        name: wish.name,
        image: Some(wish.image),
        tier: wish.tier,
        compute: ComputeWish {
            memory_mib: Some(wish.memory_mib.unwrap_or(wish.agent.memory_mib + ROOM_MIB)),
            ..ComputeWish::default()
        },
        repositories: wish.repositories,
        network,
        read_only: wish.mode != AgentMode::Implement,
        ..CreateSandbox::default()
    };
    client.create(&create).await.explained()?;
    Ok(id)
}

/// The model that it will ask, and what else is asked for.
fn network(all: &Agents, provider: Option<&str>, wish: &Wish<'_>) -> Option<NetworkWish> {
    let wanted = provider.or_else(|| wish.agent.models.first().map(String::as_str));
    let model = all.models.iter().find(|model| Some(model.name.as_str()) == wanted);
    let rule = model.map(|model| model.rule.clone()).filter(|_| !wish.agent.formats.is_empty());
    let allow: Vec<String> = rule.into_iter().chain(wish.allow.iter().cloned()).collect();
    (!allow.is_empty()).then(|| NetworkWish {
        allow,
        secrets: Vec::new(),
        agent: Some(wish.agent.name.clone()),
        phase: Some(match wish.mode {
            AgentMode::Research | AgentMode::Plan => EgressPhase::Research,
            AgentMode::Implement => EgressPhase::Implement,
            AgentMode::Review => EgressPhase::Review,
        }),
    })
}
