//! What the sandboxes of tasks are made of: [`contracts::outfit::Outfits`], by the server's files as they are now.
//!
//! [`provision::outfit`] says what a sandbox is to be; here it is made so: the image is built once and found again.
//!
//! **Invariant:** what a sandbox is given is written down before it is given, so that a receipt can tell it.

use std::{io, sync::Arc};

use agents::recipe;
use config::agent::Pusher;
use contracts::{
    outfit::{Account, Outfit, OutfitError, Outfits, Refused, SetupNews, Wanted},
    sandbox::{Base, BuildNews, Checkout, Compute, Image, Owner, Recipe, Sandboxes as _},
};
use domain::{
    code::{Access, CommitId, RepositoryName},
    digest::Digest,
    id::TaskId,
    time::Timestamp,
};
use provision::{
    found_setup,
    outfit::{self, Sketch},
    roster,
};
use sandbox::Provider;
use tokio::sync::mpsc;

use super::{
    account, owners,
    wardrobe::{Given, Wardrobe},
};
use crate::{networks::Networks, trail::books::Books};

/// Equips the sandboxes of tasks.
#[derive(Debug)]
pub(crate) struct Outfitter {
    pub(super) sandboxes: Provider,
    pub(super) networks: Networks,
    pub(super) wardrobe: Arc<Wardrobe>,
}

impl Outfits for Outfitter {
    async fn outfit(&self, wanted: &Wanted<'_>) -> Result<Outfit, OutfitError> {
        let (said, layers) = (self.networks.reloader.said(), self.networks.reloader.layers());
        let kept = self.wardrobe.read(wanted.task).map_err(|error| busy(&error))?;
        let texts = self.networks.reloader.texts();
        let definition = owners::definition(wanted, &kept, &said, texts).map_err(refused)?;
        let said = owners::as_begun(&said, definition.as_ref(), texts).map_err(refused)?;
        let member = roster::member(&said, &wanted.request.agent).map_err(refused)?;
        let sketch = Sketch { wanted, said: &said, layers: &layers, member };
        sketch.refuse_unknown().map_err(refused)?;
        let mut granted = sketch.network().map_err(refused)?;
        granted.network.agent = Some(wanted.request.agent.clone());
        granted.network.spending = outfit::spending(wanted);
        granted.network.secrets = sketch.secrets().map_err(refused)?;
        granted.network.variables = sketch.variables();
        granted.network.pushes = match sketch.pusher() {
            Pusher::Platform => Vec::new(),
            Pusher::Agent => outfit::pushes(self.address(wanted).as_deref(), wanted),
        };
        let compute = sketch.compute();
        compute.check().map_err(refused)?;
        let Made { image, digest, unready } = self.image(&sketch, compute).await?;
        let given = Given {
            image: digest.to_string(),
            policy: granted.policy.to_string(),
            allowed: granted.allowed.clone(),
        };
        let model = wanted.request.model.clone();
        self.keep(wanted.task, |kept| {
            kept.model = model;
            kept.definition = definition.as_ref().map(ToString::to_string);
            kept.taken_up = wanted.taken_up;
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
            unready,
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
    async fn image(&self, sketch: &Sketch<'_>, compute: Compute) -> Result<Made, OutfitError> {
        let mut base = sketch.base();
        let mut built = None;
        let mut unready = None;
        let owner = Owner::Task(sketch.wanted.task);
        for layer in sketch.agent_layers() {
            let network = Some(self.networks.for_setup(&owner));
            let image = self.prepare(&recipe::recipe(&layer, base, network), None).await?;
            base = Base::Image(image.key.clone());
            built = Some(image);
        }
        if let Some(setup) = sketch.setup() {
            let network = sketch.setup_network().map_err(refused)?.network;
            let recipe = Recipe {
                base: base.clone(),
                sources: self.sources(sketch.wanted).await?,
                setup: Some(found_setup::with_variables(setup, &sketch.variables())),
                compute: at_least(compute, recipe::COMPUTE),
                network: Some(network),
            };
            built = Some(self.prepare(&recipe, sketch.wanted.news).await?);
        } else {
            match self.found_setup(sketch, &base, at_least(compute, recipe::COMPUTE)).await? {
                Found::Nothing => {}
                Found::Ready(image) => built = Some(image),
                Found::Unready(reason) => unready = Some(reason),
            }
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
            let key = self.prepare(&recipe, None).await?.key;
            return Ok(Made { image: base.to_string(), digest: hash(key.as_str())?, unready });
        };
        let image = Base::Image(built.key.clone()).to_string();
        Ok(Made { image, digest: hash(built.key.as_str())?, unready })
    }

    /// Makes an image. `listener` is told what its setup prints.
    pub(super) async fn prepare(
        &self,
        recipe: &Recipe,
        listener: Option<&mpsc::Sender<SetupNews>>,
    ) -> Result<Image, OutfitError> {
        let (news, mut told) = mpsc::channel(64);
        let listening = async {
            while let Some(news) = told.recv().await {
                match news {
                    BuildNews::Stage(stage) => tracing::debug!(stage, "an image is made"),
                    BuildNews::Output(bytes) => tell(listener, SetupNews::Output(bytes)).await,
                    BuildNews::Proposed { .. } => {}
                }
            }
        };
        let (built, ()) = tokio::join!(self.sandboxes.prepare_image(recipe, news), listening);
        Ok(built?)
    }

    /// The repositories for a setup, on the commits that the task's first sandbox found.
    pub(super) async fn sources(&self, wanted: &Wanted<'_>) -> Result<Vec<Checkout>, OutfitError> {
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

    /// Where the repository that is changed is fetched from.
    fn address(&self, wanted: &Wanted<'_>) -> Option<String> {
        let first = wanted.request.repositories.first()?;
        self.sandboxes.mirrors().address(&first.name).ok()
    }

    async fn newest(&self, repository: &RepositoryName) -> Result<CommitId, OutfitError> {
        let found = self.sandboxes.mirrors().resolve(repository, "HEAD").await;
        found.map_err(|error| busy(&error))
    }

    pub(super) fn keep(
        &self,
        task: TaskId,
        change: impl FnOnce(&mut super::wardrobe::Kept),
    ) -> Result<(), OutfitError> {
        self.wardrobe.change(task, change).map_err(|error| busy(&error))
    }
}

/// Tells whoever listens.
pub(super) async fn tell(listener: Option<&mpsc::Sender<SetupNews>>, news: SetupNews) {
    if let Some(listener) = listener {
        // Nobody needs to.
        drop(listener.send(news).await);
    }
}

/// What came of a setup that nobody wrote.
pub(super) enum Found {
    /// There is nothing to install that we know of.
    Nothing,
    Ready(Image),
    /// Why it is not there, as a sentence.
    Unready(String),
}

/// What a sandbox starts from.
struct Made {
    /// As a sandbox is opened with it.
    image: String,
    digest: Digest,
    /// Why what the project needs is not in it.
    unready: Option<String>,
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

pub(super) fn busy(error: &dyn std::error::Error) -> OutfitError {
    OutfitError::Busy { reason: error.to_string() }
}
