//! Sandboxes on this host, from their first second to their last reading.
//!
//! | module | what it does |
//! |---|---|
//! | [`start`] | finds what the host can give, and what a server before this one left |
//! | [`boot`] | makes a body: disk, control group, first process, link |
//! | [`open`] | opens, wakes, forks |
//! | [`sealing`] | makes a workspace read-only, and sees that it is |
//! | [`exec`] | runs commands |
//! | [`errand`], [`sources`] | small jobs of our own inside; repositories |
//! | [`handing`] | what setups and hooks left in a checkout, before anybody works there |
//! | [`files`] | reads and changes files inside, and connects to ports |
//! | [`life`] | freezes, thaws, rests, destroys |
//! | [`meters`] | reads counters, and bills owners |
//! | [`pool`], [`stacks`] | computers that wait; what they stand on |
//! | [`room`] | finds room for a disk where all of it is promised |
//! | [`watching`] | limits that no kernel holds here |
//! | [`tend`] | what has to be done from time to time: samples, retention, the pool |
//!
//! Calls for one sandbox that change its state wait for each other; everything else runs side by side.

mod boot;
mod build;
pub(crate) mod errand;
mod exec;
mod files;
mod handing;
mod life;
mod meters;
mod no_disk;
mod open;
mod path;
mod pool;
mod reason;
pub(crate) mod road;
mod room;
mod sealing;
mod sources;
mod stacks;
mod start;
mod tend;
mod watching;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use contracts::sandbox::{
    BuildNews, Capabilities, CommandName, Exec, FileAsk, Finished, HandedOver, Image, Listed,
    Owner, Reading, Recipe, SandboxError, SandboxName, Sandboxes, Spec, State, Streams, Transfer,
    WorkspaceAccess,
};
use domain::{code::RepositoryName, cost::Cost, id::SandboxId, time::Timestamp};
use git::Mirrors;
use images::{disk::Disks, store::Images};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    answers::Answers,
    body::Body,
    control_groups::ControlGroups,
    meter::{Ledger, Meter},
    oci::Builders,
    record::{Gone, Record, Records},
    settings::Settings,
    slots::Slots,
    spawner::Spawner,
    turns::Turns,
};

pub(crate) use boot::{Blueprint, Booted, Disk};
use pool::Pool;
use stacks::Stacks;
pub use start::StartError;

/// How long a first process may take to end after it was killed.
const DEATH: Duration = Duration::from_secs(10);

/// Makes and keeps sandboxes on this host. Cheap to clone; the last one that is dropped leaves them running.
#[derive(Debug, Clone)]
pub struct Provider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    settings: Settings,
    identity: Identity,
    pub(crate) capabilities: Capabilities,
    spawner: Spawner,
    builders: Builders,
    slots: Slots,
    groups: ControlGroups,
    pub(crate) disks: Disks,
    pub(crate) images: Images,
    pub(crate) mirrors: Mirrors,
    records: Records,
    gone: Gone,
    ledger: Ledger,
    pool: Pool,
    pub(crate) stacks: Stacks,
    known: Mutex<BTreeMap<SandboxId, Arc<Sandbox>>>,
    names: Mutex<BTreeMap<SandboxName, SandboxId>>,
    turns: Turns<SandboxId>,
    /// Held shared while something begins to stand on layers, and alone while layers are removed.
    standing: tokio::sync::RwLock<()>,
    /// When old images were last looked for.
    images_looked_at: Mutex<Timestamp>,
    work: TaskTracker,
    stop: CancellationToken,
}

/// Who we are on this host, and so what the ids inside can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    /// Every sandbox has a range of ids of its own.
    Root,
    /// Every sandbox has one id, which is ours.
    Ordinary,
}

#[derive(Debug)]
struct Sandbox {
    id: SandboxId,
    entry: Mutex<Entry>,
    /// Whose turn it is to run the command of a name: whoever asks for it at the same time waits for its answer.
    commands: Turns<CommandName>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    body: Option<Arc<Body>>,
    /// What the body has; the record says what was asked for. They differ only while the repositories are being brought in.
    workspace: WorkspaceAccess,
    answers: Answers,
    meter: Meter,
    sampled_at: Timestamp,
    /// Whether it used the CPU between the last two samples.
    works: bool,
    /// Commands that run now, which keep it from being idle.
    busy: u32,
    /// What programs need to know of the road.
    road: BTreeMap<String, String>,
    /// Why we end it, when it is us.
    ending: Option<&'static str>,
}

impl Sandbox {
    fn lock(&self) -> MutexGuard<'_, Entry> {
        self.entry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listed(&self) -> Listed {
        let entry = self.lock();
        let Record { spec, state, created_at, died, .. } = &entry.record;
        Listed {
            id: spec.id,
            name: spec.name.clone(),
            owner: spec.owner.clone(),
            purpose: spec.purpose,
            state: *state,
            image: spec.image.clone(),
            tier: spec.tier,
            compute: spec.compute,
            workspace: spec.workspace,
            created_at_millis: created_at.as_millis(),
            died: died.clone(),
        }
    }

    /// What runs, or why nothing does.
    fn body(&self) -> Result<Arc<Body>, SandboxError> {
        let entry = self.lock();
        match (&entry.body, entry.record.state, &entry.record.died) {
            (Some(body), _, _) => Ok(Arc::clone(body)),
            (None, _, Some(reason)) => Err(SandboxError::Lost { reason: reason.clone() }),
            (None, State::Resting | State::Open | State::Frozen, None) => {
                Err(SandboxError::Resting { id: self.id })
            }
        }
    }
}

impl Provider {
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// What is proposed for a repository at a commit, where nobody wrote a setup. Nothing is run.
    pub async fn proposed_setup(
        &self,
        source: &contracts::sandbox::Checkout,
    ) -> Result<Option<images::detect::Proposal>, SandboxError> {
        self.inner.proposed(source).await
    }

    /// How many computers wait for somebody to claim them.
    pub fn waiting(&self) -> usize {
        self.inner.pool.waiting()
    }

    /// Whether as many wait as are wanted.
    pub fn is_stocked(&self) -> bool {
        self.inner.pool.is_stocked()
    }

    /// Joins every sandbox that has a network to a gateway that is new.
    pub async fn join_again(&self) {
        self.inner.join_all_again().await;
    }

    /// The repositories that sandboxes can have.
    pub fn mirrors(&self) -> &Mirrors {
        &self.inner.mirrors
    }
}

impl Inner {
    pub(crate) fn now(&self) -> Timestamp {
        (self.settings.clock)()
    }

    /// Does it to its end, even when whoever asked has gone: half of it would be a body that nobody knows of.
    async fn whole<T: Send + 'static>(
        &self,
        doing: impl Future<Output = Result<T, SandboxError>> + Send + 'static,
    ) -> Result<T, SandboxError> {
        self.work.spawn(doing).await.map_err(busy)?
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SandboxId, Arc<Sandbox>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<SandboxName, SandboxId>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: SandboxId) -> Result<Arc<Sandbox>, SandboxError> {
        let found = self.known().get(&id).cloned();
        found.ok_or_else(|| {
            if self.gone.contains(id) {
                SandboxError::Destroyed { id }
            } else {
                SandboxError::NotFound { id }
            }
        })
    }
}

/// Something that this host refused for now.
fn busy(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Busy { reason: error.to_string() }
}

impl Sandboxes for Provider {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities.clone()
    }

    fn objects_inside(
        &self,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<String, SandboxError> {
        self.inner.objects_inside(sandbox, repository)
    }

    fn handed_over(
        &self,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<HandedOver, SandboxError> {
        self.inner.handed_over(sandbox, repository)
    }

    async fn open(&self, spec: &Spec) -> Result<(), SandboxError> {
        let (inner, spec) = (Arc::clone(&self.inner), spec.clone());
        let opening = async move {
            let _standing = inner.standing.read().await;
            inner.open(&spec).await
        };
        self.inner.whole(opening).await
    }

    async fn exec(
        &self,
        sandbox: SandboxId,
        name: &CommandName,
        command: &Exec,
        streams: Streams,
    ) -> Result<Finished, SandboxError> {
        self.inner.exec(sandbox, name, command, streams).await
    }

    async fn file(
        &self,
        sandbox: SandboxId,
        ask: &FileAsk,
        streams: Streams,
    ) -> Result<Transfer, SandboxError> {
        self.inner.file(sandbox, ask, streams).await
    }

    async fn forward(
        &self,
        sandbox: SandboxId,
        port: u16,
        streams: Streams,
    ) -> Result<(), SandboxError> {
        self.inner.forward(sandbox, port, streams).await
    }

    async fn freeze(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.inner.freeze(sandbox).await
    }

    async fn thaw(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        self.inner.thaw(sandbox).await
    }

    async fn rest(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        let inner = Arc::clone(&self.inner);
        self.inner.whole(async move { inner.rest(sandbox).await }).await
    }

    async fn fork(&self, from: SandboxId, spec: &Spec) -> Result<(), SandboxError> {
        let (inner, spec) = (Arc::clone(&self.inner), spec.clone());
        let forking = async move {
            let _standing = inner.standing.read().await;
            inner.fork(from, &spec).await
        };
        self.inner.whole(forking).await
    }

    async fn destroy(&self, sandbox: SandboxId) -> Result<(), SandboxError> {
        let inner = Arc::clone(&self.inner);
        self.inner.whole(async move { inner.destroy(sandbox).await }).await
    }

    async fn stats(&self, sandbox: SandboxId) -> Result<Reading, SandboxError> {
        self.inner.stats(sandbox)
    }

    async fn bill(&self, owner: &Owner) -> Result<Cost, SandboxError> {
        self.inner.bill(owner)
    }

    async fn list(&self) -> Result<Vec<Listed>, SandboxError> {
        let known: Vec<_> = self.inner.known().values().cloned().collect();
        Ok(known.iter().map(|sandbox| sandbox.listed()).collect())
    }

    async fn prepare_image(
        &self,
        recipe: &Recipe,
        news: mpsc::Sender<BuildNews>,
    ) -> Result<Image, SandboxError> {
        let (provider, recipe) = (self.clone(), recipe.clone());
        let building = async move {
            let _standing = provider.inner.standing.read().await;
            build::prepare(&provider, &recipe, news).await
        };
        self.inner.whole(building).await
    }

    async fn images(&self) -> Result<Vec<Image>, SandboxError> {
        self.inner.list_images()
    }

    async fn prune_images(&self, keep_bytes: u64) -> Result<Vec<Image>, SandboxError> {
        let _alone = self.inner.standing.write().await;
        self.inner.prune_images(keep_bytes).await
    }
}
