//! Builds images: a setup runs once in a sandbox of its own, and what it left on the disk becomes a layer (IM1).
//!
//! ```text
//!  base ─▶ setup sandbox ─▶ checkout ─▶ script ─▶ stop ─▶ seal the disk ─▶ publish under the recipe's key
//! ```
//!
//! The key is made of everything that can change the result, so two recipes with one key are one image, and are
//! built once however many ask at the same time. A build that fails tells what the script said last, and leaves
//! nothing. A setup sandbox never has a task's secrets: it has none at all (IM5).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contracts::sandbox::{
    BuildNews, Checkout, HOME, Image, ImageKey, Recipe, SandboxError, User, WorkspaceAccess,
};
use domain::agent::Tier;
use images::{
    base::Digest,
    detect,
    disk::{DiskError, Kind, LayerName},
    key::{CommitInput, Inputs, LockfileInput, SourceInput, key},
    store::{Built, Provenance, Purpose},
};
use tokio::sync::mpsc;

use super::{
    Blueprint, Booted, Disk, Inner, Provider,
    errand::{self, Errand, Outcome},
    handing::Left,
    path::{self, PATH},
    reason,
    road::SetupRoad,
};
use crate::{
    repositories::{Checkouts, manifests},
    stack::Stack,
};

/// A recipe with everything that its key is made of.
#[derive(Debug)]
struct Order {
    recipe: Recipe,
    stack: Stack,
    base: Digest,
    script: String,
    lockfiles: Vec<LockfileInput>,
    key: ImageKey,
}

pub(crate) async fn prepare(
    provider: &Provider,
    recipe: &Recipe,
    news: mpsc::Sender<BuildNews>,
) -> Result<Image, SandboxError> {
    let inner = provider.inner();
    recipe.compute.check().map_err(|reason| SandboxError::Limit { reason })?;
    let order = inner.order(recipe, &news).await?;
    let _alone = inner.images.lock(&order.key).await;
    let found = inner.images.find(&order.key).map_err(|error| refused(&order, &error))?;
    let built = match found {
        Some(built) => {
            say(&news, "it is built already").await;
            built
        }
        None => inner.build(&order, &news).await?,
    };
    Ok(built.shown(inner.now(), 0))
}

async fn say(news: &mpsc::Sender<BuildNews>, stage: &str) {
    // Nobody needs to listen.
    let _ = news.send(BuildNews::Stage(stage.to_owned())).await;
}

fn refused(order: &Order, error: &dyn std::fmt::Display) -> SandboxError {
    SandboxError::Image { image: order.key.to_string(), reason: error.to_string() }
}

impl Inner {
    /// Finds out what the recipe means today.
    async fn order(
        self: &Arc<Self>,
        recipe: &Recipe,
        news: &mpsc::Sender<BuildNews>,
    ) -> Result<Order, SandboxError> {
        say(news, &format!("looking at the base `{}`", recipe.base)).await;
        let (mut stack, base) = self.stacks.find(self, &recipe.base).await?;
        self.show_sources(&recipe.sources, &mut stack).await?;
        let mut lockfiles = Vec::new();
        let mut proposed = None;
        for (number, source) in recipe.sources.iter().enumerate() {
            let proposal = self.look_at(source, &mut lockfiles).await?;
            if number == 0 {
                proposed = proposal;
            }
        }
        let script = match (&recipe.setup, proposed) {
            (Some(script), _) => script.clone(),
            (None, Some(proposal)) => {
                let (script, because) = (proposal.script, proposal.because);
                let told = BuildNews::Proposed { script: script.clone(), because };
                let _ = news.send(told).await;
                script
            }
            (None, None) => String::new(),
        };
        // Where lockfiles say what is installed, another commit is the same image: its sandboxes check their own
        // commit out. Without any, only the commit can tell.
        let commit = |source: &Checkout| {
            if lockfiles.iter().any(|file: &LockfileInput| file.repository == source.repository) {
                CommitInput::DoesNotCount
            } else {
                CommitInput::Counts(source.commit.clone())
            }
        };
        let sources = recipe.sources.iter().map(|source| SourceInput {
            repository: source.repository.clone(),
            commit: commit(source),
        });
        let inputs = Inputs {
            base: base.clone(),
            setup: script.clone(),
            sources: sources.collect(),
            lockfiles: lockfiles.clone(),
        };
        let key = key(&inputs);
        Ok(Order { recipe: recipe.clone(), stack, base, script, lockfiles, key })
    }

    /// What is proposed for a repository, where nobody wrote a setup.
    pub(crate) async fn proposed(
        &self,
        source: &Checkout,
    ) -> Result<Option<detect::Proposal>, SandboxError> {
        self.look_at(source, &mut Vec::new()).await
    }

    /// Collects a source's lockfiles, and what its manifests propose.
    async fn look_at(
        &self,
        source: &Checkout,
        lockfiles: &mut Vec<LockfileInput>,
    ) -> Result<Option<detect::Proposal>, SandboxError> {
        let wrong = |reason: String| SandboxError::Source {
            repository: source.repository.to_string(),
            reason,
        };
        let tree = manifests(&self.mirrors, &source.repository, &source.commit).await;
        let tree = tree.map_err(|error| wrong(error.to_string()))?;
        let proposal = detect::propose(&tree);
        let named = proposal.iter().flat_map(|proposal| &proposal.lockfiles);
        lockfiles.extend(named.filter_map(|path| {
            let content = detect::Tree::read(&tree, path)?;
            Some(LockfileInput {
                repository: source.repository.clone(),
                path: path.clone(),
                content: Digest::of(&content),
            })
        }));
        Ok(proposal)
    }

    async fn build(
        self: &Arc<Self>,
        order: &Order,
        news: &mpsc::Sender<BuildNews>,
    ) -> Result<Arc<Built>, SandboxError> {
        let tier = self.setup_tier()?;
        say(news, "starting a setup sandbox").await;
        let compute = &order.recipe.compute;
        let blueprint = Blueprint {
            stack: order.stack.clone(),
            tier,
            compute: *compute,
            workspace: WorkspaceAccess::Writable,
        };
        let Booted { body, disk } = self.boot_for(&blueprint, Disk::Setup).await?;
        let body = Arc::new(body);
        let watched = (self.disks.kind() == Kind::Plain).then(|| disk.clone());
        self.hold_limits(compute, watched, &body);
        let road = self.join_setup(&body, order.recipe.network.as_ref()).await;
        let ran = async {
            let road = road.as_ref().map_err(Clone::clone)?;
            let left = self.set_up(&body, order, road.as_ref(), news).await?;
            Ok((left, self.environment_of(&body).await?))
        };
        let ran = tokio::time::timeout(compute.lifetime.saturating_add(GRACE), ran).await;
        if let Ok(Some(road)) = &road {
            self.forget_setup(road).await;
        }
        let ran = ran.unwrap_or_else(|_late| {
            Err(SandboxError::Setup {
                reason: format!("it did not end within {} s", compute.lifetime.as_secs()),
                log: String::new(),
            })
        });
        let (left, environment) = match ran {
            Ok(made) => made,
            Err(error) => {
                self.discard(body, Some(disk));
                return Err(error);
            }
        };
        say(news, "keeping what the setup made").await;
        let _ = body.kill();
        body.death().await;
        self.discard(body, None);
        let layer: LayerName =
            format!("image-{}", order.key).parse().map_err(|error| refused(order, &error))?;
        let sealed = tokio::task::block_in_place(|| match self.disks.seal(&disk, &layer) {
            // A crash left a layer that no image names: nobody else builds this key now.
            Err(DiskError::LayerExists(_)) => {
                self.disks.remove_layer(&layer)?;
                self.disks.seal(&disk, &layer)
            }
            sealed => sealed,
        });
        let made = match sealed {
            Ok(made) => made,
            Err(error) => {
                self.remove_disk(disk);
                return Err(refused(order, &error));
            }
        };
        let mut layers = vec![layer];
        layers.extend(order.stack.layers.iter().filter_map(|layer| layer.parse().ok()));
        let provenance = self.provenance(order, left, environment);
        let published = self.images.publish(&order.key, &made.proof, &layers, provenance);
        published.map_err(|error| refused(order, &error))
    }

    /// The strictest that this host gives: a setup runs what a stranger's manifest names.
    fn setup_tier(&self) -> Result<Tier, SandboxError> {
        let tiers = &self.capabilities.tiers;
        let strictest =
            [Tier::Standard, Tier::Verified].into_iter().find(|tier| tiers.contains(tier));
        strictest.ok_or_else(|| SandboxError::TierMissing {
            tier: Tier::Standard,
            reason: self.capabilities.missing.get(&Tier::Standard).cloned().unwrap_or_default(),
        })
    }

    async fn set_up(
        &self,
        body: &Arc<crate::body::Body>,
        order: &Order,
        road: Option<&SetupRoad>,
        news: &mpsc::Sender<BuildNews>,
    ) -> Result<Left, SandboxError> {
        let sources = &order.recipe.sources;
        if !sources.is_empty() {
            say(news, "checking the repositories out").await;
            self.check_out_in(body, sources, &order.stack.sources).await?;
        }
        let places = Checkouts::default().places(sources);
        let directory = places.first().map_or("/workspace", |place| place.directory.as_str());
        if !order.script.trim().is_empty() {
            say(news, "running the setup").await;
            let user = self.setup_user();
            let environment = environment(order, road, directory);
            let limit = order.recipe.compute.lifetime;
            let argv = [SHELL, "-eu", "-c", &order.script].map(str::to_owned);
            let errand = Errand { argv: &argv, directory, environment: &environment, user, limit };
            if user == User::Root {
                let own = [SHELL, "-c", LEND].map(str::to_owned);
                script(body, &Errand { argv: &own, directory: "/", ..errand }, news).await?;
            }
            script(body, &errand, news).await?;
            if user == User::Root {
                let own = [SHELL, "-c", GIVE_BACK].map(str::to_owned);
                script(body, &Errand { argv: &own, directory: "/", ..errand }, news).await?;
            }
        }
        if let Some(road) = road {
            self.leave_setup(body, road).await?;
        }
        let left = self.after_setup(body, &places).await?;
        // Files younger than git's index would be read again by every sandbox's first `git status`.
        let mut second = tokio::time::interval(Duration::from_millis(1_100));
        second.tick().await;
        for place in &places {
            second.tick().await;
            self.take_steps(body, place, place.settled()).await?;
        }
        Ok(left)
    }

    /// What a setup left in the home that programs have to be told of: a virtual environment of Python.
    async fn environment_of(
        &self,
        body: &crate::body::Body,
    ) -> Result<BTreeMap<String, String>, SandboxError> {
        let python = format!("{VENV}/bin/python");
        let found = errand::is_there(body, &python, self.setup_user()).await;
        let names = if found.map_err(super::busy)? {
            &["VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"][..]
        } else {
            &[]
        };
        Ok(names.iter().map(|name| ((*name).to_owned(), VENV.to_owned())).collect())
    }

    fn provenance(
        &self,
        order: &Order,
        left: Left,
        environment: BTreeMap<String, String>,
    ) -> Provenance {
        let sources = &order.recipe.sources;
        let inputs = order
            .lockfiles
            .iter()
            .map(|file| (format!("{}:{}", file.repository, file.path), file.content.to_string()));
        Provenance {
            base: order.recipe.base.to_string(),
            base_digest: order.base.to_string(),
            sources: sources
                .iter()
                .map(|source| format!("{}@{}", source.repository, source.commit))
                .collect(),
            setup: order.script.clone(),
            setup_digest: Digest::of(order.script.as_bytes()).to_string(),
            inputs: inputs.collect(),
            made_by: "setup".to_owned(),
            environment,
            lamp_version: env!("CARGO_PKG_VERSION").to_owned(),
            purpose: Purpose::Setup,
            built_at_millis: self.now().as_millis(),
            left,
        }
    }
}

/// What the setup finds in its environment.
fn environment(
    order: &Order,
    road: Option<&SetupRoad>,
    directory: &str,
) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = order.stack.environment.clone();
    environment.extend(road.map(|road| road.variables.clone()).unwrap_or_default());
    // What a setup keeps in a home is for the agent.
    environment.insert("HOME".to_owned(), HOME.to_owned());
    let is_told = road.is_some_and(|road| road.variables.contains_key("PATH"));
    if !is_told {
        let image = environment.remove("PATH").unwrap_or_else(|| PATH.to_owned());
        environment.insert("PATH".to_owned(), image);
        path::extend(&mut environment, directory);
    }
    environment.insert("LAMP_SETUP".to_owned(), "1".to_owned());
    // A setup may run as root in a checkout that is the agent's, and git would say nothing of it there: no version, no tag.
    let trusted = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.directory"),
        ("GIT_CONFIG_VALUE_0", "*"),
    ];
    for (name, value) in trusted {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    environment
}

/// Runs a script of a setup, and passes on what it says.
async fn script(
    body: &crate::body::Body,
    errand: &Errand<'_>,
    news: &mpsc::Sender<BuildNews>,
) -> Result<(), SandboxError> {
    let (listener, mut saying) = mpsc::channel::<Vec<u8>>(8);
    let passing_on = async {
        while let Some(bytes) = saying.recv().await {
            let _ = news.send(BuildNews::Output(bytes)).await;
        }
    };
    let running = async {
        let outcome = errand::run(body, errand, Some(&listener)).await;
        drop(listener);
        outcome
    };
    let (outcome, ()) = tokio::join!(running, passing_on);
    let failed = |reason: String, log: String| SandboxError::Setup { reason, log };
    let outcome: Outcome = outcome.map_err(|error| failed(error.to_string(), String::new()))?;
    let log = String::from_utf8_lossy(&outcome.said);
    match outcome.how() {
        None => Ok(()),
        Some(how) => {
            let reason = reason::first(&log);
            let told = reason.map_or_else(|| how.clone(), |reason| format!("{reason} ({how})"));
            Err(failed(told, log.into_owned()))
        }
    }
}

/// The guest ends a script that takes too long, and tells what it said; this is for a guest that does not.
const GRACE: Duration = Duration::from_secs(30);

const SHELL: &str = "/bin/sh";

/// Where a setup keeps a virtual environment of Python, if it makes one.
const VENV: &str = "/home/lamp/.venv";

/// Programs that run as root refuse a cache that is not root's, and `pip` says so at length. It is given back with the rest.
const LEND: &str = "mkdir -p /home/lamp/.cache && chown 0:0 /home/lamp/.cache || true";

/// A setup that ran as root made files of root where the agent works.
const GIVE_BACK: &str = "chown -R -h 1000:1000 /workspace /home/lamp";
