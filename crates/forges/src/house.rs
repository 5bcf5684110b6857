//! What plain git needs of the host that it works on: mirrors, sandboxes, a clock, and orders.
//!
//! `lamp` joins this to the mirrors of `sandbox`, to the secrets, and to what a task was asked for.

use std::{
    future::Future,
    path::{Path, PathBuf},
};

use contracts::{Key, clock::Clock, sandbox::Sandboxes};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::SandboxId,
    time::Timestamp,
};

use crate::{
    git::{Git, Remote},
    inspection::{KnownSecrets, Policy},
};

pub trait House: Send + Sync + 'static {
    type Sandboxes: Sandboxes;
    type Clock: Clock;
    type Secrets: KnownSecrets;
    /// While it is held, nobody else of this host writes into the mirror.
    type Alone: Send;

    fn sandboxes(&self) -> &Self::Sandboxes;

    fn clock(&self) -> &Self::Clock;

    /// The values that must not leave.
    fn secrets(&self) -> &Self::Secrets;

    /// The program, and its home.
    fn git(&self) -> &Git;

    /// A directory of ours for quarantines, beside the mirrors.
    fn scratch(&self) -> &Path;

    /// The bare mirror of a repository, on this host.
    fn mirror(&self, repository: &RepositoryName) -> Result<Mirror, HouseError>;

    /// Brings its branches up to date, and its `HEAD` to the default branch.
    fn fetch(
        &self,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<(), HouseError>> + Send;

    fn alone(
        &self,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<Self::Alone, HouseError>> + Send;

    /// How the work in a sandbox is to be taken. For one key it always says the same.
    fn order(
        &self,
        key: Key,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<Order, HouseError>> + Send;

    /// Where people look at a pull request.
    fn address(&self, repository: &RepositoryName, number: PullRequestNumber) -> String;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    pub path: PathBuf,
    pub remote: Remote,
}

/// How work is taken, and what is made of it (RV3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The checkout, inside.
    pub directory: String,
    /// Where the mirror's objects are, inside.
    pub objects: String,
    /// The commit that the task began with. The change is the difference to it.
    pub base: CommitId,
    /// What the new commit follows: the base, or the task's last own commit.
    pub parent: CommitId,
    pub author: Identity,
    pub committer: Identity,
    pub at: Timestamp,
    pub message: Message,
    pub policy: Policy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

/// Of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    pub subject: String,
    pub body: String,
    /// `Co-authored-by`, `Lamp-Task`: one line each, at the end.
    pub trailers: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HouseError {
    #[error("there is no repository `{0}`")]
    NoRepository(RepositoryName),
    #[error("{reason}")]
    Busy { reason: String },
    #[error("{reason}")]
    Refused { reason: String },
}
