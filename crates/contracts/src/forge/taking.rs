//! An agent's work, on its way out of the sandbox.

use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
    id::SandboxId,
    time::Timestamp,
};

/// What is to be taken, and what is made of it. For one key it is always the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taking {
    pub sandbox: SandboxId,
    pub repository: RepositoryName,
    /// The checkout, inside.
    pub directory: String,
    /// The commit that the task began with. The change is the difference to it.
    pub base: CommitId,
    /// What the new commit follows: the base, or the task's last own commit.
    pub parent: CommitId,
    /// When the commit says that it was made.
    pub at: Timestamp,
    /// The commit's whole message, trailers included; what agents wrote in it was made harmless.
    pub message: String,
    pub workflows: Workflows,
}

/// Files that a forge runs with rights of its own (RV6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workflows {
    #[default]
    NeedApproval,
    /// A person approved for this task that they change.
    Approved,
}

/// What an agent changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub commit: CommitId,
    /// Of the difference to the base: the same change has the same hash.
    pub difference: Digest,
    pub paths: Vec<String>,
    /// What a person should look at twice.
    pub flags: Vec<Flag>,
}

/// Something that a person should look at twice (RV6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub kind: FlagKind,
    pub path: String,
    /// A sentence about it.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlagKind {
    /// It runs when somebody opens, enters or installs the repository.
    RunsWhenOpened,
    /// The forge runs it.
    Workflow,
    Submodule,
    /// A link, a mode, an attribute, characters that hide, what may be a secret: the text says which.
    Odd,
}
