//! What to make and what to run, as flags that several commands share.

use std::collections::BTreeMap;

use terminal::refusal::Explained as _;
use wire::{
    client::Client,
    exec::{ExposeSecrets, StartExec, User},
    sandbox::{ComputeWish, CreateSandbox, EgressPhase, Hooks, NetworkWish, Repository, Tier},
};

use crate::{
    amount::{Cores, Size, Time},
    remote::whole_base,
};

/// What a sandbox is made of, and how much it may use.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct MakeFlags {
    /// What it starts from: `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`
    #[arg(long, value_name = "IMAGE", default_value = "host")]
    base: String,

    /// How strongly it is isolated: `verified`, `standard` or `untrusted`
    #[arg(long, value_name = "TIER", default_value = "standard", value_parser = tier)]
    tier: Tier,

    #[command(flatten)]
    sources: SourceFlags,

    /// Mount `/workspace` read-only once the repositories are there and `--post-clone` has run; homes and `/tmp` stay writable
    #[arg(long)]
    read_only: bool,

    #[command(flatten)]
    network: NetworkFlags,

    #[command(flatten)]
    hooks: HookFlags,

    #[command(flatten)]
    compute: ComputeFlags,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SourceFlags {
    /// A repository to bring in, found at `/workspace/` and the last word of its name; may be repeated
    #[arg(long = "repository", value_name = "NAME=URL[#REVISION]", value_parser = repository)]
    pub(crate) repositories: Vec<Repository>,
}

/// What it may reach.
#[derive(Debug, Clone, clap::Args)]
struct NetworkFlags {
    /// Something that it may reach, if the server's policy allows it: `github`, `registry:npm`, `docs.example.com`; may be
    /// repeated
    #[arg(long = "allow", value_name = "RULE")]
    allow: Vec<String>,

    /// A secret that it may use on the hosts that the secret is bound to; may be repeated. With `lamp sandbox run`, one that was set with
    /// `--expose env` is a variable of the command
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,

    /// The agent that the run is of: secrets that name agents are for theirs alone
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Whose rules of the policy hold: `setup`, `research`, `implement` or `review`
    #[arg(long, value_name = "PHASE", default_value = "implement", value_parser = phase)]
    phase: EgressPhase,
}

impl NetworkFlags {
    /// None at all, unless something is asked for.
    fn wish(&self) -> Option<NetworkWish> {
        let asked = !self.allow.is_empty() || !self.secrets.is_empty();
        asked.then(|| NetworkWish {
            allow: self.allow.clone(),
            secrets: self.secrets.clone(),
            agent: self.agent.clone(),
            phase: Some(self.phase),
        })
    }
}

fn phase(text: &str) -> Result<EgressPhase, String> {
    match text {
        "setup" => Ok(EgressPhase::Setup),
        "research" => Ok(EgressPhase::Research),
        "implement" => Ok(EgressPhase::Implement),
        "review" => Ok(EgressPhase::Review),
        other => Err(format!(
            "`{other}` is not a phase: write `setup`, `research`, `implement` or `review`"
        )),
    }
}

/// Scripts that run as the agent in the first repository.
#[derive(Debug, Clone, clap::Args)]
struct HookFlags {
    /// Run once, when the repositories are there: a script for the shell, as the agent
    #[arg(long, value_name = "SCRIPT")]
    post_clone: Option<String>,

    /// Run after every start, also after hibernation
    #[arg(long, value_name = "SCRIPT")]
    post_start: Option<String>,

    /// Run before everything is stopped
    #[arg(long, value_name = "SCRIPT")]
    pre_teardown: Option<String>,
}

impl HookFlags {
    fn wish(&self) -> Hooks {
        let script = |script: &Option<String>| script.clone().unwrap_or_default();
        Hooks {
            post_clone: script(&self.post_clone),
            post_start: script(&self.post_start),
            pre_teardown: script(&self.pre_teardown),
        }
    }
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct ComputeFlags {
    /// Cores, such as `2` or `0.5`
    #[arg(long, value_name = "CORES")]
    cpu: Option<Cores>,

    /// Memory, such as `8GiB`
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// Disk, such as `20GiB`
    #[arg(long, value_name = "SIZE")]
    disk: Option<Size>,

    /// How many processes at once
    #[arg(long, value_name = "NUMBER")]
    processes: Option<u32>,

    /// How long it may live while it is open, such as `2h`
    #[arg(long, value_name = "TIME")]
    lifetime: Option<Time>,
}

impl ComputeFlags {
    pub(super) fn wish(&self) -> ComputeWish {
        ComputeWish {
            cpu_millis: self.cpu.map(|cores| cores.0),
            memory_mib: self.memory.map(Size::mib),
            disk_mib: self.disk.map(Size::mib),
            processes: self.processes,
            lifetime_seconds: self.lifetime.map(|time| time.0.as_secs()),
        }
    }
}

impl MakeFlags {
    pub(super) async fn wish(&self, client: &Client) -> anyhow::Result<CreateSandbox> {
        Ok(CreateSandbox {
            image: Some(whole_base(client, &self.base).await?),
            tier: self.tier,
            compute: self.compute.wish(),
            repositories: self.sources.repositories.clone(),
            hooks: self.hooks.wish(),
            read_only: self.read_only,
            network: self.network.wish(),
            ..CreateSandbox::default()
        })
    }
}

/// Secrets whose values a command gets.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ExposeFlags {
    /// Give values of secrets also to a sandbox of the tier `untrusted`
    #[arg(long)]
    even_untrusted: bool,
}

impl ExposeFlags {
    pub(super) fn wish(&self, names: Vec<String>, agent: Option<String>) -> Option<ExposeSecrets> {
        let is_needed = !names.is_empty();
        is_needed.then_some(ExposeSecrets { names, agent, even_untrusted: self.even_untrusted })
    }
}

impl MakeFlags {
    pub(super) fn agent(&self) -> Option<String> {
        self.network.agent.clone()
    }

    /// The named secrets that say `expose: env`, which are for the command; the rest, and what they are bound to, is the network's.
    pub(super) async fn split(
        &self,
        client: &Client,
        wish: &mut CreateSandbox,
    ) -> anyhow::Result<Vec<String>> {
        let Some(network) = &mut wish.network else { return Ok(Vec::new()) };
        if network.secrets.is_empty() {
            return Ok(Vec::new());
        }
        let known = client.secrets().await.explained()?.secrets;
        let find = |name: &String| known.iter().find(|secret| secret.name == *name);
        let exposed = |name: &String| find(name).is_some_and(|secret| secret.expose.is_some());
        let bound = |name: &String| find(name).is_none_or(|secret| !secret.hosts.is_empty());
        let for_command = network.secrets.iter().filter(|name| exposed(name)).cloned().collect();
        network.secrets.retain(|name| bound(name) || !exposed(name));
        if network.secrets.is_empty() && network.allow.is_empty() {
            wish.network = None;
        }
        Ok(for_command)
    }
}

pub(crate) fn tier(text: &str) -> Result<Tier, String> {
    match text {
        "verified" => Ok(Tier::Verified),
        "standard" => Ok(Tier::Standard),
        "untrusted" => Ok(Tier::Untrusted),
        other => {
            Err(format!("`{other}` is not a tier: write `verified`, `standard` or `untrusted`"))
        }
    }
}

/// `acme/web=https://example.com/acme/web#main`
fn repository(text: &str) -> Result<Repository, String> {
    let wrong = || format!("`{text}` is not a repository: write `NAME=URL` or `NAME=URL#REVISION`");
    let (name, address) = text.split_once('=').ok_or_else(wrong)?;
    let (url, revision) = match address.split_once('#') {
        Some((url, revision)) => (url, Some(revision.to_owned())),
        None => (address, None),
    };
    if name.is_empty() || url.is_empty() {
        return Err(wrong());
    }
    Ok(Repository { name: name.to_owned(), url: url.to_owned(), revision })
}

/// How a command is run.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CommandFlags {
    /// Set a variable of its environment, as `NAME=VALUE`; may be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,

    /// Where it runs [default: the home of its user]
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,

    /// Who runs it: `agent`, or `root` of the sandbox's own files
    #[arg(long, value_name = "USER", default_value = "agent", value_parser = user)]
    user: User,

    /// End it, with all that it started, after this time, such as `10m`
    #[arg(long, value_name = "TIME")]
    timeout: Option<Time>,
}

impl CommandFlags {
    pub(super) fn start(&self, argv: &[String]) -> StartExec {
        StartExec {
            argv: argv.to_vec(),
            environment: BTreeMap::from_iter(self.environment.clone()),
            directory: self.workdir.clone(),
            user: self.user,
            limit_millis: self
                .timeout
                .map(|time| u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX)),
            ..StartExec::default()
        }
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err(format!("`{text}` is not a variable: write `NAME=VALUE`")),
    }
}

pub(super) fn user(text: &str) -> Result<User, String> {
    match text {
        "agent" => Ok(User::Agent),
        "root" => Ok(User::Root),
        other => Err(format!("`{other}` is not a user of a sandbox: write `agent` or `root`")),
    }
}
