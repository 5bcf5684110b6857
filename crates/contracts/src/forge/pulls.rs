//! A pull request after it was delivered: what people and checks do to it.
//!
//! ```text
//!            deliver              merge
//!  (nothing) ───────▶ draft, open ─────▶ merged
//!                          │ close
//!                          └───────────▶ closed
//! ```
//!
//! Everything in a [`Pull`] but its numbers and hashes was written by somebody, and is text to be shown, never to be obeyed or
//! printed raw.

use std::future::Future;

use domain::{
    code::{BranchName, CommitId, PullRequestNumber, RepositoryName},
    time::Timestamp,
};

use super::PullRequest;

/// What becomes of pull requests. Every call that changes something may be repeated, and then changes nothing.
pub trait PullRequests: Send + Sync + 'static {
    /// As it is now, with the commit that its branch is at now.
    fn pull(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> impl Future<Output = Result<Pull, PullError>> + Send;

    /// All of them, the newest first.
    fn pulls(
        &self,
        repository: &RepositoryName,
    ) -> impl Future<Output = Result<Vec<Pull>, PullError>> + Send;

    /// What it would change, as a patch.
    fn diff(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> impl Future<Output = Result<Diff, PullError>> + Send;

    /// Adds a comment, unless one with this name is there.
    fn comment(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        comment: &Comment,
    ) -> impl Future<Output = Result<(), PullError>> + Send;

    /// Says how a check of a commit stands. A check is known by its name and its commit.
    fn check(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        check: &Check,
    ) -> impl Future<Output = Result<(), PullError>> + Send;

    /// Adds a review, unless one with this name is there.
    fn review(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        review: &Review,
    ) -> impl Future<Output = Result<(), PullError>> + Send;

    /// Whether a commit is really in a branch, whatever is written about it. What is not there is not in it.
    fn is_in(
        &self,
        repository: &RepositoryName,
        base: &str,
        commit: &CommitId,
    ) -> impl Future<Output = Result<bool, PullError>> + Send;

    /// Brings the commit that was looked at into the base branch that it was looked at for, and no other. Gives what the base branch is at afterwards.
    fn merge(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> impl Future<Output = Result<CommitId, PullError>> + Send;

    /// Opens a pull request that takes back what a merged one brought, and nothing that came after it. It is made from objects
    /// alone. What others built on the change is never guessed at: it is refused, with the files.
    ///
    /// A pull request has one revert, however often this is called; only after one was closed another is opened.
    fn revert(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        revert: &Revert,
    ) -> impl Future<Output = Result<PullRequest, PullError>> + Send;

    /// Ends it without merging. The branch stays.
    fn close(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        by: &Author,
    ) -> impl Future<Output = Result<(), PullError>> + Send;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub number: PullRequestNumber,
    pub address: String,
    pub title: String,
    pub body: String,
    pub state: PullState,
    pub branch: BranchName,
    /// The branch that it is to be merged into, by its short name.
    pub base: String,
    /// What the branch is at, whoever pushed it; nothing when somebody removed the branch.
    pub head: Option<CommitId>,
    /// What was delivered last, by us.
    pub delivered: CommitId,
    pub comments: Vec<Comment>,
    pub checks: Vec<Check>,
    pub reviews: Vec<Review>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullState {
    Draft,
    Open,
    /// The commit that the base branch was at after it.
    Merged {
        commit: CommitId,
        by: Author,
    },
    Closed {
        by: Author,
    },
}

/// Who did something. That it was the platform, or a person whom it knows, only the platform itself says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    Platform,
    /// Somebody who came through the platform's own doors.
    Person(String),
    /// Somebody who calls themselves that. Whoever may write where pull requests are kept can write any name.
    Unproven(String),
}

impl Author {
    /// What they are called in a sentence.
    pub fn name(&self) -> &str {
        match self {
            Self::Platform => "the platform",
            Self::Person(name) | Self::Unproven(name) => name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Chosen by whoever writes it, so that writing it twice writes it once.
    pub name: String,
    pub author: Author,
    pub at: Timestamp,
    pub text: String,
    /// The file and line that it is about, if it is about one.
    pub place: Option<(String, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub commit: CommitId,
    pub state: CheckState,
    /// One line for people.
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    Running,
    Ended(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub name: String,
    pub author: Author,
    pub at: Timestamp,
    /// The commit that was looked at.
    pub commit: CommitId,
    pub opinion: Opinion,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opinion {
    Approves,
    WantsChanges,
    Remarks,
}

impl Opinion {
    /// What a reviewer does with it.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Approves => "approves",
            Self::WantsChanges => "wants changes",
            Self::Remarks => "remarks",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The commit that was looked at. When the branch is at another one, nothing is merged.
    pub head: CommitId,
    /// The branch that it was to be merged into when it was looked at. When it is another one by now, nothing is merged.
    pub base: String,
    pub by: Author,
}

/// Takes a merged pull request back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    /// What the change began from. It is needed where somebody merged with git alone, so that nobody wrote down what the base
    /// branch was at.
    pub began: CommitId,
    /// What its task knows of it, where it is of one that is known.
    pub known: Option<Known>,
    pub title: String,
    /// What is taken back, and who wants it.
    pub body: String,
}

/// What a task knows of its pull request by its own events. It counts more than what stands on the forge, which others can rewrite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The branch that it goes into, by its short name.
    pub base: String,
    /// What was delivered last.
    pub delivered: CommitId,
}

/// A patch as git writes it. Its bytes are whatever is in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    pub text: Vec<u8>,
    /// Whether there is more than was read.
    pub cut: crate::sandbox::Cut,
}

/// A file that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    #[error("there is no repository `{0}`, or no right to see it")]
    NoRepository(RepositoryName),
    #[error("there is no pull request {number} in `{repository}`")]
    NoPull { repository: RepositoryName, number: PullRequestNumber },
    #[error("the forge cannot be reached now: {reason}")]
    Busy { reason: String },
    /// Somebody else pushed to the branch. It stays as they left it.
    #[error(
        "somebody else pushed to `{branch}`: it is at {theirs}, and was delivered at {ours}; \
         build on their commit, or choose another branch",
        ours = ours.as_ref().map_or("no commit", CommitId::as_str)
    )]
    Moved { branch: String, theirs: CommitId, ours: Option<CommitId> },
    #[error(
        "pull request {number} is to be merged into `{now}` by now, and was looked at when it was for `{looked}`: nothing was merged; \
         look who changed that"
    )]
    OtherBase { number: PullRequestNumber, looked: String, now: String },
    #[error("the branch `{branch}` was removed by somebody")]
    BranchGone { branch: String },
    #[error("`{branch}` is the default branch, which is never pushed to")]
    DefaultBranch { branch: String },
    #[error("pull request {number} was {how}: open another one for new work")]
    Ended { number: PullRequestNumber, how: &'static str },
    #[error(
        "pull request {number} cannot be merged: both sides changed {}",
        paths.iter().map(|conflict| format!("`{}`", conflict.path)).collect::<Vec<_>>().join(", ")
    )]
    Conflicts { number: PullRequestNumber, paths: Vec<Conflict> },
    #[error("pull request {number} is not merged: close it instead")]
    NotMerged { number: PullRequestNumber },
    #[error(
        "pull request {number} cannot be taken back by itself: others changed {} since",
        paths.iter().map(|conflict| format!("`{}`", conflict.path)).collect::<Vec<_>>().join(", ")
    )]
    BuiltUpon { number: PullRequestNumber, paths: Vec<Conflict> },
    /// What was given is too large, or not well formed.
    #[error("{reason}")]
    Refused { reason: String },
    /// What is stored is not what we would have written.
    #[error("the record of pull request {number} cannot be read: {reason}")]
    Unreadable { number: PullRequestNumber, reason: String },
    #[error("the forge said no: {reason}")]
    Rejected { reason: String },
}

impl From<PullError> for super::ForgeError {
    fn from(error: PullError) -> Self {
        match error {
            PullError::NoRepository(repository) => Self::NoRepository(repository),
            PullError::Busy { reason } => Self::Busy { reason },
            error @ (PullError::Moved { .. } | PullError::BranchGone { .. }) => {
                Self::TakenOver { reason: error.to_string() }
            }
            error @ (PullError::NoPull { .. }
            | PullError::DefaultBranch { .. }
            | PullError::OtherBase { .. }
            | PullError::Ended { .. }
            | PullError::Conflicts { .. }
            | PullError::NotMerged { .. }
            | PullError::BuiltUpon { .. }
            | PullError::Refused { .. }
            | PullError::Unreadable { .. }
            | PullError::Rejected { .. }) => Self::Rejected { reason: error.to_string() },
        }
    }
}
