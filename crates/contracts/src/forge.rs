//! Where code lives: repositories, branches, pull requests.
//!
//! [`Forges`] is what a task does: take the work out, deliver it. [`PullRequests`] is what becomes of it afterwards, by people and
//! by checks, and what of that is [`news`] for the task. Plain git and hosted forges plug into both.

mod news;
mod pulls;
mod reading;
mod taking;
mod workflows;

use std::future::Future;

use domain::code::{BranchName, CommitId, PullRequestNumber, RepositoryName};

pub use news::{News, news};
pub use pulls::{
    Author, Check, CheckState, Comment, Conflict, Diff, Known, Merge, Opinion, Outcome, Pull,
    PullError, PullRequests, PullState, Revert, Review,
};
pub use reading::{
    Blamed, Comparison, FileChange, FileVersion, Files, LARGEST_FILE, LARGEST_READING,
};
pub use taking::{Change, Flag, FlagKind, Taking, Workflows};
pub use workflows::workflow;

use crate::Key;

/// Bytes of a signed receipt: more than the largest one has.
pub const LARGEST_RECEIPT: usize = 3 << 20;

pub trait Forges: Send + Sync + 'static {
    /// The newest commit of the default branch.
    fn head(
        &self,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<CommitId, ForgeError>> + Send;

    /// The branch that pull requests go into, by its short name: the default branch, as it is now.
    fn base(
        &self,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<String, ForgeError>> + Send;

    /// Takes the agent's work out of its sandbox as git objects, and inspects them.
    ///
    /// What runs inside for this is not believed: only objects that were inspected on the host become a commit, and the commit is
    /// made there. A repeated `key` gives the same commit.
    fn take_change(
        &self,
        key: Key,
        taking: &Taking,
    ) -> impl Future<Output = Result<Change, ForgeError>> + Send;

    /// The paths of a commit, and the contents of those that are `wanted`.
    fn files(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        wanted: fn(&str) -> bool,
    ) -> impl Future<Output = Result<Files, ForgeError>> + Send;

    /// What is different between two commits, both with their contents.
    fn compare(
        &self,
        repository: &RepositoryName,
        base: &CommitId,
        head: &CommitId,
    ) -> impl Future<Output = Result<Comparison, ForgeError>> + Send;

    /// The commit that a line of the default branch is from. Lines are counted from 1; a line or a path that is not there is
    /// [`ForgeError::Refused`].
    fn blame(
        &self,
        repository: &RepositoryName,
        path: &str,
        line: u32,
    ) -> impl Future<Output = Result<Blamed, ForgeError>> + Send;

    /// The note on a commit, if there is one. Anybody who may push can have written it.
    fn note_on(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, ForgeError>> + Send;

    /// Puts a note on a commit, which travels with the repository and changes no commit. One that is there is replaced.
    fn note(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        note: &[u8],
    ) -> impl Future<Output = Result<(), ForgeError>> + Send;

    /// Keeps the signed receipt of a commit in the repository, where anybody who can read the one can read the other. It has at most
    /// [`LARGEST_RECEIPT`] bytes; one that is there is replaced.
    fn keep_receipt(
        &self,
        repository: &RepositoryName,
        commit: &CommitId,
        envelope: &[u8],
    ) -> impl Future<Output = Result<(), ForgeError>> + Send;

    /// Pushes the commit to the task's branch, and opens its pull request or updates it.
    ///
    /// A branch has one pull request, however often this is called. Nothing that somebody else pushed is ever replaced, whatever is
    /// written about it on the forge, and the default branch is never pushed to.
    fn deliver(
        &self,
        key: Key,
        delivery: &Delivery,
    ) -> impl Future<Output = Result<PullRequest, ForgeError>> + Send;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub repository: RepositoryName,
    pub branch: BranchName,
    pub commit: CommitId,
    /// The branch that it is to be merged into, by its short name.
    pub base: String,
    /// What was delivered before, by the task's own events.
    pub earlier: Option<PullRequestNumber>,
    /// Commits that the task has made. A branch at one of them is where we left it; at any other it is somebody else's.
    pub ours: Vec<CommitId>,
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
    /// Somebody else pushed to the task's branch: it is theirs now, and automation ends (PL10).
    #[error("{reason}")]
    TakenOver { reason: String },
}
