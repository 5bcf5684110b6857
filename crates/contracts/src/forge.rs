//! Where code lives: repositories, branches, pull requests.
//!
//! [`Forges`] is what a task does: take the work out, deliver it. [`PullRequests`] is what becomes of it afterwards, by people and
//! by checks, and what of that is [`news`] for the task. Plain git and hosted forges plug into both.

mod news;
mod pulls;

use std::future::Future;

use domain::{
    code::{BranchName, CommitId, PullRequestNumber, RepositoryName},
    digest::Digest,
    id::SandboxId,
};

pub use news::{News, news};
pub use pulls::{
    Author, Check, CheckState, Comment, Conflict, Diff, Merge, Opinion, Outcome, Pull, PullError,
    PullRequests, PullState, Review,
};

use crate::Key;

pub trait Forges: Send + Sync + 'static {
    /// The newest commit of the default branch.
    fn head(
        &self,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<CommitId, ForgeError>> + Send;

    /// Takes the agent's work out of its sandbox as git objects, and inspects them.
    ///
    /// What runs inside for this is not believed: only objects that were inspected on the host become a commit, and the commit is
    /// made there. A repeated `key` gives the same commit.
    fn take_change(
        &self,
        key: Key,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<Change, ForgeError>> + Send;

    /// Pushes the commit to the task's branch, and opens its pull request or updates it.
    ///
    /// A branch has one pull request, however often this is called. Nothing that somebody else pushed is ever replaced, and the
    /// default branch is never pushed to.
    fn deliver(
        &self,
        key: Key,
        delivery: &Delivery,
    ) -> impl Future<Output = Result<PullRequest, ForgeError>> + Send;
}

/// What an agent changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub commit: CommitId,
    /// Of the difference to the base: the same change has the same hash.
    pub difference: Digest,
    pub paths: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub repository: RepositoryName,
    pub branch: BranchName,
    pub commit: CommitId,
    pub title: String,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: PullRequestNumber,
    pub address: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    #[error("there is no repository `{0}`, or no right to see it")]
    NoRepository(RepositoryName),
    #[error("the forge cannot be reached now: {reason}")]
    Busy { reason: String },
    #[error("the change may not leave the sandbox: {reason}")]
    Refused { reason: String },
    #[error("nothing was changed")]
    NothingChanged,
    #[error("the forge said no: {reason}")]
    Rejected { reason: String },
}
