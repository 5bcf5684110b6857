//! What plain git needs of the host that it works on: mirrors, sandboxes, a clock, and what is the custom of the house.
//!
//! `server` joins this to the mirrors of `sandbox` and to the secrets. What a task wants is not asked here: the engine says it with
//! each call.

use std::{
    future::Future,
    path::{Path, PathBuf},
};

use contracts::{
    clock::Clock,
    forge::{Taking, Workflows},
    sandbox::Sandboxes,
};
use domain::{
    code::{PullRequestNumber, RepositoryName},
    digest::Digest,
};

use crate::{
    git::{Git, Remote},
    inspection::{KnownSecrets, Limits, Policy, Submodules},
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

    /// What only the host knows about work that is to be taken.
    fn custom(&self, taking: &Taking) -> impl Future<Output = Result<Custom, HouseError>> + Send;

    /// The seal of this house over these bytes, which nobody can make who does not have its key.
    fn seal(&self, bytes: &[u8]) -> Digest;

    /// Whether this is the seal of this house over these bytes. A wrong one takes as long as a right one.
    fn has_sealed(&self, bytes: &[u8], seal: Digest) -> bool;

    /// Where people look at a pull request.
    fn address(&self, repository: &RepositoryName, number: PullRequestNumber) -> String;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    pub path: PathBuf,
    pub remote: Remote,
}

/// How this host takes work, whatever the task (RV3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Custom {
    /// Where the mirror's objects are, inside.
    pub objects: String,
    pub author: Identity,
    pub committer: Identity,
    /// A private SSH key that signs commits.
    pub signing_key: Option<PathBuf>,
    pub limits: Limits,
    pub submodules: Submodules,
}

impl Custom {
    /// What a change may be, with what was approved for its task.
    pub(crate) const fn policy(&self, workflows: Workflows) -> Policy {
        Policy { limits: self.limits, submodules: self.submodules, workflows }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

impl Identity {
    /// Who makes commits where nobody says otherwise, and all that only we make: records, notes, merges.
    pub fn platform() -> Self {
        Self { name: "Lamplighter".to_owned(), email: "lamplighter@localhost".to_owned() }
    }
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
