//! What the sandboxes of tasks are made of: [`contracts::outfit::Outfits`], by the server's files as they are now.
//!
//! ```text
//!  base ─▶ runtime ─▶ each program that works in some phase ─▶ the file's setup      image, built once and found again
//!  policy ∩ server ∩ file ∩ approval                                                network, tier, compute
//! ```
//!
//! **Invariant:** what a sandbox is given is written down before it is given, so that a receipt can tell it.

use std::{collections::BTreeMap, io, path::Path, sync::Arc, time::Duration};

use agents::recipe;
use config::agent::{AgentFile, Exposure, ImageBase, Pusher};
use contracts::{
    agent::Mode,
    egress::{Push, Spending},
    outfit::{Account, DeclaredCheck, Outfit, OutfitError, Outfits, Refused, Wanted},
    sandbox::{Base, BuildNews, Checkout, Compute, Hooks, Image, Owner, Recipe, Sandboxes as _},
    secret::SecretName,
};
use domain::{
    agent::{Tier, Trust},
    code::{Access, CommitId, RepositoryName},
    digest::Digest,
    id::TaskId,
    policy::{self, Ceilings, EgressPhase, HostName, Rule},
    task::Purpose,
    time::Timestamp,
};
use sandbox::{Provider, repositories::Mirrors};
use tokio::sync::mpsc;

use super::{
    account,
    agents::{Member, Written},
    network::{self, Asked, Granted, Models},
    roster,
    wardrobe::{Given, Wardrobe},
};
use crate::{
    kept::Said,
    networks::{Layers, Networks},
    outward::OWNER,
    trail::books::Books,
};

/// How long a check may take where nobody says.
const CHECK: Duration = Duration::from_mins(30);

/// Equips the sandboxes of tasks.
#[derive(Debug)]
pub(crate) struct Outfitter {
    pub(super) sandboxes: Provider,
    pub(super) networks: Networks,
    pub(super) wardrobe: Arc<Wardrobe>,
}

/// All that is known of what one sandbox is to be, before anything is made.
struct Sketch<'a> {
    wanted: &'a Wanted<'a>,
    said: &'a Said,
    layers: &'a Layers,
    member: Member<'a>,
}

impl Outfits for Outfitter {
    async fn outfit(&self, wanted: &Wanted<'_>) -> Result<Outfit, OutfitError> {
        let (said, layers) = (self.networks.reloader.said(), self.networks.reloader.layers());
        let member = roster::member(&said, &wanted.request.agent).map_err(refused)?;
        let sketch = Sketch { wanted, said: &said, layers: &layers, member };
        sketch.refuse_unknown().map_err(refused)?;
        let mut granted = sketch.network().map_err(refused)?;
        granted.network.agent = Some(wanted.request.agent.clone());
        granted.network.spending = spending(wanted);
        granted.network.secrets = sketch.secrets().map_err(refused)?;
        granted.network.variables = sketch.variables();
        granted.network.pushes = match sketch.pusher() {
            Pusher::Platform => Vec::new(),
            Pusher::Agent => pushes(self.sandboxes.mirrors(), wanted),
        };
        let compute = sketch.compute();
        compute.check().map_err(refused)?;
        if sketch.makes_layers() || granted.names_registries() {
            // A server that has just started does not know yet where they are.
            self.networks.settled().await;
        }
        let (image, digest) = self.image(&sketch, compute).await?;
        let given = Given {
            image: digest.to_string(),
            policy: granted.policy.to_string(),
            allowed: granted.allowed.clone(),
        };
        let model = wanted.request.model.clone();
        self.keep(wanted.task, |kept| {
            kept.model = model;
            kept.give(wanted.purpose, given);
        })?;
        Ok(Outfit {
            image,
            digest,
            tier: sketch.tier(),
            compute,
            hooks: sketch.hooks(),
            // Also where nothing may be reached: what was asked for has to be known.
            network: Some(granted.network),
            checks: sketch.checks(),
        })
    }

    async fn account(&self, task: TaskId) -> Result<Account, OutfitError> {
        let kept = self.wardrobe.read(task).map_err(|error| busy(&error))?;
        let books = Books::beside(&self.networks.log);
        let counting = tokio::task::spawn_blocking(move || account::count(&books, task));
        let traffic = counting.await.map_err(|error| busy(&error))?;
        account::account(&kept, traffic.map_err(|error| unread(&error))?)
    }

    async fn refused(&self, task: TaskId, since: Timestamp) -> Result<Vec<Refused>, OutfitError> {
        let books = Books::beside(&self.networks.log);
        let looking = tokio::task::spawn_blocking(move || account::refused(&books, task, since));
        let found = looking.await.map_err(|error| busy(&error))?;
        found.map_err(|error| unread(&error))
    }
}

impl Outfitter {
    /// The image, as a sandbox is opened with it, and its hash.
    async fn image(
        &self,
        sketch: &Sketch<'_>,
        compute: Compute,
    ) -> Result<(String, Digest), OutfitError> {
        let mut base = sketch.base();
        let mut built = None;
        let owner = Owner::Task(sketch.wanted.task);
        for layer in sketch.agent_layers() {
            let network = self.networks.for_setup(&owner);
            let image = self.prepare(&recipe::recipe(&layer, base, network)).await?;
            base = Base::Image(image.key.clone());
            built = Some(image);
        }
        if let Some(setup) = sketch.setup() {
            let network = sketch.setup_network().map_err(refused)?.network;
            let recipe = Recipe {
                base: base.clone(),
                sources: self.sources(sketch.wanted).await?,
                setup: Some(setup.to_owned()),
                compute: at_least(compute, recipe::COMPUTE),
                network: Some(network),
            };
            built = Some(self.prepare(&recipe).await?);
        }
        let Some(built) = built else {
            // Nothing is added, so it is opened as it is; but it has to be known by a hash.
            let recipe = Recipe {
                base: base.clone(),
                sources: Vec::new(),
                setup: Some(String::new()),
                compute: recipe::COMPUTE,
                network: None,
            };
            let key = self.prepare(&recipe).await?.key;
            return Ok((base.to_string(), hash(key.as_str())?));
        };
        Ok((Base::Image(built.key.clone()).to_string(), hash(built.key.as_str())?))
    }

    async fn prepare(&self, recipe: &Recipe) -> Result<Image, OutfitError> {
        let (news, mut told) = mpsc::channel(64);
        let listening = async {
            while let Some(news) = told.recv().await {
                match news {
                    BuildNews::Stage(stage) => tracing::debug!(stage, "an image is made"),
                    BuildNews::Output(_) | BuildNews::Proposed { .. } => {}
                }
            }
        };
        let (built, ()) = tokio::join!(self.sandboxes.prepare_image(recipe, news), listening);
        Ok(built?)
    }

    /// The repositories for a setup, on the commits that the task's first sandbox found.
    async fn sources(&self, wanted: &Wanted<'_>) -> Result<Vec<Checkout>, OutfitError> {
        let known = self.wardrobe.read(wanted.task).map_err(|error| busy(&error))?.commits;
        let mut sources = Vec::new();
        for used in &wanted.request.repositories {
            let before = known.get(used.name.as_str()).and_then(|commit| commit.parse().ok());
            let commit = match before {
                Some(commit) => commit,
                None => self.newest(&used.name).await?,
            };
            sources.push(Checkout { repository: used.name.clone(), commit, access: Access::Read });
        }
        let pairs = sources.iter().map(|it| (it.repository.to_string(), it.commit.to_string()));
        let commits = pairs.collect();
        self.keep(wanted.task, |kept| kept.commits = commits)?;
        Ok(sources)
    }

    async fn newest(&self, repository: &RepositoryName) -> Result<CommitId, OutfitError> {
        let found = self.sandboxes.mirrors().resolve(repository, "HEAD").await;
        found.map_err(|error| busy(&error))
    }

    fn keep(
        &self,
        task: TaskId,
        change: impl FnOnce(&mut super::wardrobe::Kept),
    ) -> Result<(), OutfitError> {
        self.wardrobe.change(task, change).map_err(|error| busy(&error))
    }
}

/// The right to push to the task's own branch, and to nothing else. Before the gate there is no branch; and where git does not speak
/// HTTPS nothing inside reaches it anyway.
fn pushes(mirrors: &Mirrors, wanted: &Wanted<'_>) -> Vec<Push> {
    let (Purpose::Implement, Some(branch)) = (wanted.purpose, wanted.branch) else {
        return Vec::new();
    };
    let first = wanted.request.repositories.first();
    let place = first.and_then(|used| mirrors.address(&used.name).ok());
    let push = place.as_deref().and_then(https_place).map(|(host, repository)| Push {
        host,
        repository,
        branch: branch.as_str().to_owned(),
    });
    push.into_iter().collect()
}

/// There is one person here, whoever asked.
fn spending(wanted: &Wanted<'_>) -> Spending {
    Spending {
        person: Some(OWNER.to_owned()),
        repository: wanted.request.repositories.first().map(|used| used.name.clone()),
        limit: Some(wanted.budget),
    }
}

impl Sketch<'_> {
    fn file(&self) -> Option<&AgentFile> {
        self.member.file()
    }

    /// What a file says that no task can have yet must not be passed over in silence.
    fn refuse_unknown(&self) -> Result<(), String> {
        let Some(Written { place, file }) = self.member.written else { return Ok(()) };
        if let Some(service) = file.sandbox.services.first() {
            let name = service.name.as_str();
            return Err(format!(
                "`{place}` asks for the service `{name}`, and tasks have no services yet; remove it, or start it with `hooks.post_start`"
            ));
        }
        let exposed = file.sandbox.variables.iter().find(|it| it.expose == Exposure::Env);
        if let Some(variable) = exposed {
            let name = variable.name.as_str();
            return Err(format!(
                "`{place}` gives the agent the value of the secret `{name}`, and tasks get placeholders only; remove `expose: env`"
            ));
        }
        Ok(())
    }

    /// The phase of the network, and the mode of the agent that works in it.
    const fn moment(&self) -> (EgressPhase, Option<Mode>) {
        match self.wanted.purpose {
            Purpose::Research => (EgressPhase::Research, Some(Mode::Research)),
            Purpose::Implement => (EgressPhase::Implement, Some(Mode::Implement)),
            Purpose::Verify => (EgressPhase::Implement, None),
            Purpose::Review => (EgressPhase::Review, Some(Mode::Review)),
        }
    }

    fn network(&self) -> Result<Granted, String> {
        let Wanted { task, request, conditions, .. } = *self.wanted;
        let (phase, mode) = self.moment();
        let model = match mode {
            Some(mode) => {
                roster::place(self.said, &request.agent, mode, request.model.as_deref())?.rule
            }
            None => None,
        };
        let models = match mode {
            Some(_) => Models::AsWritten,
            None => Models::LeftOut,
        };
        let asked = match self.file() {
            Some(file) => Asked::Written { rules: rules(file, phase), models },
            None => Asked::Everything,
        };
        let hosts = conditions.and_then(|conditions| conditions.hosts.as_ref());
        let request = network::Request { task, phase, asked, model: model.as_ref(), hosts };
        network::grant(self.layers, request)
    }

    /// For the file's own setup.
    fn setup_network(&self) -> Result<Granted, String> {
        let phase = EgressPhase::Setup;
        let rules = self.file().map_or(&[][..], |file| rules(file, phase));
        let asked = Asked::Written { rules, models: Models::AsWritten };
        let task = self.wanted.task;
        let request = network::Request { task, phase, asked, model: None, hosts: None };
        network::grant(self.layers, request)
    }

    /// Variables without a value are secrets of that name. Checks get none: they are what the change says.
    fn secrets(&self) -> Result<Vec<SecretName>, String> {
        let (Some(file), Some(_)) = (self.file(), self.moment().1) else { return Ok(Vec::new()) };
        let named = file.sandbox.variables.iter().filter(|it| it.value.is_none());
        let parsed = named.map(|it| it.name.as_str().parse());
        parsed
            .collect::<Result<_, contracts::secret::SecretNameError>>()
            .map_err(|error| error.to_string())
    }

    /// Who pushes what was made. Work that an agent pushes itself is inspected by nobody, so that has to be asked for.
    fn pusher(&self) -> Pusher {
        self.file().map_or(Pusher::Platform, |file| file.sandbox.push)
    }

    /// Variables with a value are nobody's secret, and are for all.
    fn variables(&self) -> BTreeMap<String, String> {
        let all = self.file().map_or(&[][..], |file| &file.sandbox.variables);
        let valued = all.iter().filter_map(|it| {
            Some((it.name.as_str().to_owned(), it.value.as_ref()?.as_str().to_owned()))
        });
        valued.collect()
    }

    fn base(&self) -> Base {
        let written = self.file().and_then(|file| file.sandbox.image.base.as_ref());
        let defaults = &self.said.server.defaults;
        base(written.unwrap_or(&defaults.base), &self.said.beside)
    }

    /// Whether something is installed before it can be opened.
    fn makes_layers(&self) -> bool {
        self.setup().is_some() || !self.agent_layers().is_empty()
    }

    fn setup(&self) -> Option<&str> {
        Some(self.file()?.sandbox.image.setup.as_ref()?.as_str())
    }

    /// A layer for each program, on those that they share.
    fn agent_layers(&self) -> Vec<recipe::Layer> {
        let mut layers = Vec::new();
        for layer in self.member.programs().into_iter().flat_map(recipe::layers) {
            if !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        layers
    }

    fn policy(&self) -> policy::Policy {
        let below = [Some(self.layers.platform.clone()), self.file().map(AgentFile::layer)];
        let below: Vec<policy::Layer> = below.into_iter().flatten().collect();
        policy::effective(&self.layers.organisation, &below).policy
    }

    /// Never weaker than the policy wants, and the lightest only for those who can prove who they are, which nobody can yet.
    fn tier(&self) -> Tier {
        let asked = self.file().and_then(|file| file.sandbox.tier);
        let asked = asked.unwrap_or(self.said.server.defaults.tier).max(self.policy().tier);
        Tier::granted(asked, &Trust::Named(self.wanted.request.agent.clone()))
    }

    fn compute(&self) -> Compute {
        let defaults = &self.said.server.defaults;
        let asked = self.file().map(|file| &file.sandbox.compute);
        let usual = Compute::default();
        let cpu = asked.and_then(|it| it.cpu).unwrap_or(defaults.cpu);
        let memory = asked.and_then(|it| it.memory).unwrap_or(defaults.memory);
        let disk = asked.and_then(|it| it.disk).unwrap_or(defaults.disk);
        let time = asked.and_then(|it| it.timeout).unwrap_or(defaults.timeout);
        let Ceilings { cpu_millis, memory_bytes, disk_bytes, processes, time: longest, .. } =
            self.policy().ceilings;
        Compute {
            cpu_millis: small(cpu.millis().min(cpu_millis)),
            memory_mib: small(memory.bytes().min(memory_bytes) >> 20),
            disk_mib: small(disk.bytes().min(disk_bytes) >> 20),
            processes: small(u64::from(usual.processes).min(processes)),
            lifetime: time.get().min(longest),
        }
    }

    fn hooks(&self) -> Hooks {
        let Some(file) = self.file() else { return Hooks::default() };
        let hooks = &file.sandbox.hooks;
        let text = |script: &Option<config::names::Script>| {
            script.as_ref().map(|script| script.as_str().to_owned()).unwrap_or_default()
        };
        Hooks {
            post_clone: text(&hooks.post_clone),
            post_start: text(&hooks.post_start),
            pre_teardown: text(&hooks.pre_teardown),
        }
    }

    fn checks(&self) -> Vec<DeclaredCheck> {
        let Some(Written { place, file }) = self.member.written else { return Vec::new() };
        let phase = file.phases.verify.as_ref().map(|verify| verify.timeout.get());
        let declared = file.checks.iter().map(|check| DeclaredCheck {
            name: check.name.as_str().to_owned(),
            command: check.run.as_str().to_owned(),
            report: check.report.as_ref().map(|path| path.as_str().to_owned()),
            limit: check.timeout.map(config::units::RunTime::get).or(phase).unwrap_or(CHECK),
            file: place.clone(),
        });
        declared.collect()
    }
}

fn rules(file: &AgentFile, phase: EgressPhase) -> &[Rule] {
    match phase {
        EgressPhase::Setup => &file.egress.setup,
        EgressPhase::Research => &file.egress.research,
        EgressPhase::Implement => &file.egress.implement,
        EgressPhase::Review => &file.egress.review,
    }
}

/// Host and repository of an address like `https://git.example.com/acme/web.git`; none of any other.
fn https_place(address: &str) -> Option<(HostName, String)> {
    let rest = address.strip_prefix("https://")?;
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    // A port of its own is no part of a host's name, and is refused with it.
    Some((host.parse().ok()?, path.to_owned()))
}

/// Directories stand beside `lamp.yaml`.
fn base(written: &ImageBase, beside: &Path) -> Base {
    match written {
        ImageBase::Host => Base::Host,
        ImageBase::Oci(reference) => Base::Oci(reference.clone()),
        ImageBase::Directory(path) => {
            let path = beside.join(path);
            let path = std::path::absolute(&path).unwrap_or(path);
            Base::Directory(path.display().to_string())
        }
    }
}

const fn at_least(one: Compute, other: Compute) -> Compute {
    const fn more(one: u32, other: u32) -> u32 {
        if one > other { one } else { other }
    }
    Compute {
        cpu_millis: more(one.cpu_millis, other.cpu_millis),
        memory_mib: more(one.memory_mib, other.memory_mib),
        disk_mib: more(one.disk_mib, other.disk_mib),
        processes: more(one.processes, other.processes),
        lifetime: other.lifetime,
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn hash(key: &str) -> Result<Digest, OutfitError> {
    key.parse().map_err(|error: domain::digest::DigestError| refused(error.to_string()))
}

const fn refused(reason: String) -> OutfitError {
    OutfitError::Refused { reason }
}

/// A book that is full stays so.
fn unread(error: &io::Error) -> OutfitError {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return OutfitError::Refused { reason: error.to_string() };
    }
    busy(error)
}

fn busy(error: &dyn std::error::Error) -> OutfitError {
    OutfitError::Busy { reason: error.to_string() }
}

#[cfg(test)]
#[path = "outfits_tests.rs"]
mod tests;
