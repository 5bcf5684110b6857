//! A computer that belongs to one run.
//!
//! The caller chooses the id, so that every call can be repeated: opening an open sandbox, resting a
//! resting one, destroying one that is gone all succeed and change nothing. Destroying is final: an id
//! that was destroyed is never opened again, even by a call that was on its way meanwhile.
//!
//! ```text
//!            open / fork             freeze                rest (the disk is kept)
//!  (nothing) ───────────▶   open   ─────────▶   frozen   ─────────▶   resting
//!                            ▲ ▲       thaw        │                     │
//!                            │ └───────────────────┘                     │
//!                            └──────────────────  open  ─────────────────┘
//!             destroy, from anywhere: gone for good; its bill stays
//! ```

mod error;
mod exec;
mod files;
mod handed;
mod image;
mod life;
mod never_asked;
mod place;
mod spec;

use std::{collections::BTreeMap, future::Future};

use domain::{agent::Tier, code::RepositoryName, cost::Cost, id::SandboxId};
use tokio::sync::mpsc;

pub use crate::owner::Owner;
pub use error::SandboxError;
pub use exec::{
    CommandName, Cut, Ended, Exec, Finished, Input, Output, Streams, TerminalSize, User,
};
pub use files::{Entry, EntryKind, FileAsk, Transfer};
pub use handed::{Content, HandedOver, Leftover};
pub use image::{Base, BuildNews, Image, ImageKey, ImageKeyError, Recipe};
pub use life::{Listed, Reading, State};
pub use place::{HOME, WORKSPACE, directory_names};
pub use spec::{
    Checkout, Compute, Hooks, SandboxName, SandboxNameError, Spec, Use, WorkspaceAccess,
};

pub trait Sandboxes: Send + Sync + 'static {
    /// What this provider can really do on this host.
    fn capabilities(&self) -> Capabilities;

    /// Opens the sandbox, thaws it if it is frozen, or wakes it if it rests. Ready for
    /// [`Sandboxes::exec`] on return, with the [`WorkspaceAccess`] that was asked for, or refused.
    fn open(&self, spec: &Spec) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Runs a command to its end; one that is frozen or rests is opened first. Dropping the future ends the command
    /// and all that it started.
    ///
    /// A repeated name gives the first answer, if the command had ended. If it still runs, because whoever
    /// asked was restarted, the call attaches to it. Otherwise it runs again.
    fn exec(
        &self,
        sandbox: SandboxId,
        name: &CommandName,
        command: &Exec,
        streams: Streams,
    ) -> impl Future<Output = Result<Finished, SandboxError>> + Send;

    /// Reads or changes a file inside, with the rights of a user inside. Bytes travel through `streams`.
    fn file(
        &self,
        sandbox: SandboxId,
        ask: &FileAsk,
        streams: Streams,
    ) -> impl Future<Output = Result<Transfer, SandboxError>> + Send;

    /// Connects `streams` to a TCP port on the loopback inside, until either side closes.
    fn forward(
        &self,
        sandbox: SandboxId,
        port: u16,
        streams: Streams,
    ) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Where the sandbox sees the objects of a repository that it was opened with. One that shows no repositories says so.
    fn objects_inside(
        &self,
        _sandbox: SandboxId,
        _repository: &RepositoryName,
    ) -> Result<String, SandboxError> {
        Err(SandboxError::Unsupported { reason: "it shows no repositories".to_owned() })
    }

    /// How a repository was handed over when the sandbox was opened with the right to change it. Known outside, and written down
    /// before anybody inside could do anything: nobody inside can add to it. One that runs no setups and no hooks has nothing to say.
    fn handed_over(
        &self,
        _sandbox: SandboxId,
        _repository: &RepositoryName,
    ) -> Result<HandedOver, SandboxError> {
        Ok(HandedOver::default())
    }

    /// Stops the clock of everything inside; memory is kept.
    fn freeze(&self, sandbox: SandboxId) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Lets a frozen sandbox go on.
    fn thaw(&self, sandbox: SandboxId) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Stops everything and keeps the disk. Costs nothing until it is opened again.
    fn rest(&self, sandbox: SandboxId) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Opens `spec` with a copy of the disk of `from`, which goes on undisturbed. Processes are not copied.
    fn fork(
        &self,
        from: SandboxId,
        spec: &Spec,
    ) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Removes all of it. Also succeeds when it is already gone.
    fn destroy(&self, sandbox: SandboxId) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// What it uses now, and has used so far.
    fn stats(
        &self,
        sandbox: SandboxId,
    ) -> impl Future<Output = Result<Reading, SandboxError>> + Send;

    /// What all sandboxes of `owner` have used so far, those that are gone included. Never decreases,
    /// so that whoever crashed while writing it down can ask again.
    fn bill(&self, owner: &Owner) -> impl Future<Output = Result<Cost, SandboxError>> + Send;

    /// Every sandbox that exists, whoever made it.
    fn list(&self) -> impl Future<Output = Result<Vec<Listed>, SandboxError>> + Send;

    /// Makes the image of a recipe, or finds it made. Two callers with one recipe build once.
    fn prepare_image(
        &self,
        recipe: &Recipe,
        news: mpsc::Sender<BuildNews>,
    ) -> impl Future<Output = Result<Image, SandboxError>> + Send;

    /// The images that are kept, the most recently used first.
    fn images(&self) -> impl Future<Output = Result<Vec<Image>, SandboxError>> + Send;

    /// Removes images that nothing uses, the longest unused first, until at most `keep_bytes` are left.
    /// Returns those that went.
    fn prune_images(
        &self,
        keep_bytes: u64,
    ) -> impl Future<Output = Result<Vec<Image>, SandboxError>> + Send;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub tiers: Vec<Tier>,
    /// Why a tier is missing, for `lamp doctor`.
    pub missing: BTreeMap<Tier, String>,
    /// What works less well here than it could, each as a sentence with the remedy.
    pub weaker: Vec<String>,
}
