//! What plain git needs of the host that it works on: mirrors, secrets, a seal, a clock, and how this host takes work.
//!
//! What a task wants is not asked here: the engine says it with each call.
//!
//! Invariant: whoever writes into a mirror holds the lock that fetches hold.

use std::{fmt, path::PathBuf, sync::Arc};

use contracts::{forge::Workflows, sandbox::SandboxError};
use domain::{
    code::{PullRequestNumber, RepositoryName},
    time::Timestamp,
};
use evidence::keys::SealKey;
use git::{Alone, Git, Mirror, MirrorError, Mirrors};

use crate::inspection::{KnownSecrets, Limits, Policy, Submodules};

/// A host that keeps mirrors, and lets work out of its sandboxes.
#[derive(Clone)]
pub struct GitHost {
    pub mirrors: Mirrors,
    /// The values that must not leave.
    pub secrets: Arc<dyn KnownSecrets>,
    /// Seals what comes through our doors, where others can write as well. Nobody can make its seals who does not have its key.
    pub seal: SealKey,
    pub custom: Custom,
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl fmt::Debug for GitHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GitHost");
        shown.field("mirrors", &self.mirrors).field("custom", &self.custom).finish_non_exhaustive()
    }
}

impl GitHost {
    pub(crate) fn git(&self) -> &Git {
        self.mirrors.git()
    }

    /// Where work is that came out and was not looked at yet, beside the mirrors.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.mirrors.root().join("takings")
    }

    /// The bare mirror of a repository.
    pub(crate) fn mirror(&self, repository: &RepositoryName) -> Result<Mirror, HostError> {
        Ok(self.mirrors.known(repository)?)
    }

    /// Brings its branches up to date, and its `HEAD` to the default branch.
    pub(crate) async fn fetch(&self, repository: &RepositoryName) -> Result<(), HostError> {
        Ok(self.mirrors.fetch(repository, None).await?)
    }

    /// While it is held, nobody else of this host writes into the mirror.
    pub(crate) async fn alone(&self, repository: &RepositoryName) -> Result<Alone, HostError> {
        Ok(self.mirrors.alone(repository).await?)
    }
}

/// Where people look at a pull request. There is no page for it; this is the command that shows it.
pub(crate) fn address(repository: &RepositoryName, number: PullRequestNumber) -> String {
    format!("lamp pr get {} --repo {repository}", number.0)
}

/// How this host takes work, whatever the task (RV3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Custom {
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

/// What a host cannot do, as a forge has to know it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("there is no repository `{0}`")]
    NoRepository(RepositoryName),
    #[error("{reason}")]
    Busy { reason: String },
    #[error("{reason}")]
    Refused { reason: String },
}

impl From<MirrorError> for HostError {
    fn from(error: MirrorError) -> Self {
        let reason = error.to_string();
        match error {
            MirrorError::Unknown { repository } => Self::NoRepository(repository),
            MirrorError::Slow { .. } | MirrorError::Git(_) | MirrorError::Disk(_) => {
                Self::Busy { reason }
            }
            MirrorError::Address(_)
            | MirrorError::Elsewhere { .. }
            | MirrorError::Revision { .. }
            | MirrorError::Large { .. } => Self::Refused { reason },
        }
    }
}

impl From<SandboxError> for HostError {
    fn from(error: SandboxError) -> Self {
        let reason = error.to_string();
        match error {
            SandboxError::Busy { .. }
            | SandboxError::Resting { .. }
            | SandboxError::NoRoom { .. } => Self::Busy { reason },
            SandboxError::NotFound { .. }
            | SandboxError::Destroyed { .. }
            | SandboxError::NameTaken { .. }
            | SandboxError::TierMissing { .. }
            | SandboxError::Limit { .. }
            | SandboxError::Image { .. }
            | SandboxError::Setup { .. }
            | SandboxError::Source { .. }
            | SandboxError::Hook { .. }
            | SandboxError::ProgramMissing { .. }
            | SandboxError::Directory { .. }
            | SandboxError::Unsupported { .. }
            | SandboxError::Lost { .. } => Self::Refused { reason },
        }
    }
}
