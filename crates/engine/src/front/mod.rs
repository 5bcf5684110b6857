//! What doors ask of the engine, behind one pointer.
//!
//! ```text
//!  HTTP, later SSH, a page, channels ──▶ dyn Front ──▶ Engine<H> ──▶ store, and the hands
//! ```
//!
//! [`Engine`] is generic over nine kinds of hands, and a door cares for none of them. So there is this trait, which only [`Engine`] implements; a test
//! of a door has a real engine with scripted hands behind it.

mod order;
mod pulls;
mod why;

use std::sync::Arc;

use contracts::{
    forge::{
        Author, Check, Comment, Diff, ForgeError, Merge, Pull, PullError, PullRequest, Revert,
        Review,
    },
    order::{KnownRepository, Order, OrderError, Wish},
};
use domain::{
    code::{BranchName, CommitId, PullRequestNumber, RepositoryName},
    id::TaskId,
    people::Person,
    queue::Places,
    request::Request,
    task::{Ask, Task},
};
use futures::future::BoxFuture;
use store::Store;

pub use why::{Approved, Line, Origin, PlanOfLine, Why, WhyError};

use crate::{Engine, Hands, SubmitError, delivered::TaskChange};

/// An answer that is waited for.
type Told<'a, T, E> = BoxFuture<'a, Result<T, E>>;

/// The engine, as doors see it.
pub trait Front: Send + Sync + 'static {
    /// Where tasks are remembered: lists, events, transcripts and documents are read there.
    fn store(&self) -> &Arc<Store>;

    /// How many tasks may work at once.
    fn places(&self) -> Places;

    /// What a wish becomes here, with repositories that can be read and a branch that the change can go into. It begins nothing.
    fn order<'a>(&'a self, wish: &'a Wish) -> Told<'a, Order, OrderError>;

    /// Takes on a task by an id that the caller made, so that the call can be repeated. It is remembered when this returns.
    fn submit_as(&self, task: TaskId, order: Order) -> Told<'_, (), SubmitError>;

    /// A person asks for something. Refusals are sentences for that person, and are audited.
    fn ask(&self, task: TaskId, by: Person, ask: Ask) -> Told<'_, Task, SubmitError>;

    /// The branch that the work of a task goes to, until it has a pull request.
    fn branch(&self, task: TaskId, request: &Request) -> Option<BranchName>;

    /// What a change of a task is, as a patch.
    fn diff<'a>(
        &'a self,
        repository: &'a RepositoryName,
        change: TaskChange<'a>,
    ) -> Told<'a, Diff, ForgeError>;

    /// Where a line is from.
    fn why<'a>(&'a self, line: &'a Line) -> Told<'a, Why, WhyError>;

    /// The repositories that this server knows, by name.
    fn repositories(&self) -> Told<'_, Vec<KnownRepository>, OrderError>;

    /// All pull requests of a repository, the newest first.
    fn pulls<'a>(&'a self, repository: &'a RepositoryName) -> Told<'a, Vec<Pull>, PullError>;

    /// One as it is now; what its task delivered is told by the task's own events.
    fn pull<'a>(&'a self, at: &'a PullAt) -> Told<'a, Pull, PullError>;

    /// What it would change, as a patch.
    fn pull_diff<'a>(&'a self, at: &'a PullAt) -> Told<'a, Diff, PullError>;

    /// Adds a comment, unless one with this name is there. Its task hears of it at once.
    fn comment<'a>(&'a self, at: &'a PullAt, comment: &'a Comment) -> Told<'a, (), PullError>;

    /// Says how a check of a commit stands. Its task hears of it at once.
    fn check<'a>(&'a self, at: &'a PullAt, check: &'a Check) -> Told<'a, (), PullError>;

    /// Adds a review, unless one with this name is there. Its task hears of it at once.
    fn review<'a>(&'a self, at: &'a PullAt, review: &'a Review) -> Told<'a, (), PullError>;

    /// Merges what was looked at, and then tells its task, which ends.
    fn merge<'a>(&'a self, at: &'a PullAt, merge: &'a Merge) -> Told<'a, CommitId, PullError>;

    /// Opens the pull request that takes a merged one back, or finds it.
    fn revert<'a>(&'a self, at: &'a PullAt, revert: &'a Revert)
    -> Told<'a, PullRequest, PullError>;

    /// Ends it without merging, and then tells its task, which ends.
    fn close<'a>(&'a self, at: &'a PullAt, by: &'a Author) -> Told<'a, (), PullError>;
}

/// Which pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullAt {
    pub repository: RepositoryName,
    pub number: PullRequestNumber,
}

impl<H: Hands> Front for Engine<H> {
    fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn places(&self) -> Places {
        self.settings.places
    }

    fn order<'a>(&'a self, wish: &'a Wish) -> Told<'a, Order, OrderError> {
        Box::pin(order::order(self, wish))
    }

    fn submit_as(&self, task: TaskId, order: Order) -> Told<'_, (), SubmitError> {
        Box::pin(self.submit_as(task, order.trigger, order.limits))
    }

    fn ask(&self, task: TaskId, by: Person, ask: Ask) -> Told<'_, Task, SubmitError> {
        Box::pin(self.ask(task, by, ask))
    }

    fn branch(&self, task: TaskId, request: &Request) -> Option<BranchName> {
        self.settings.branches.name(task, &request.text).ok()?.as_str().parse().ok()
    }

    fn diff<'a>(
        &'a self,
        repository: &'a RepositoryName,
        change: TaskChange<'a>,
    ) -> Told<'a, Diff, ForgeError> {
        use contracts::forge::Forges as _;
        let TaskChange { base, commit, .. } = change;
        Box::pin(
            async move { Ok(self.hands.forges().compare(repository, base, commit).await?.patch) },
        )
    }

    fn why<'a>(&'a self, line: &'a Line) -> Told<'a, Why, WhyError> {
        Box::pin(why::why(self, line))
    }

    fn repositories(&self) -> Told<'_, Vec<KnownRepository>, OrderError> {
        use contracts::order::Orders as _;
        Box::pin(self.hands.orders().repositories())
    }

    fn pulls<'a>(&'a self, repository: &'a RepositoryName) -> Told<'a, Vec<Pull>, PullError> {
        Box::pin(pulls::all(self, repository))
    }

    fn pull<'a>(&'a self, at: &'a PullAt) -> Told<'a, Pull, PullError> {
        Box::pin(pulls::one(self, at))
    }

    fn pull_diff<'a>(&'a self, at: &'a PullAt) -> Told<'a, Diff, PullError> {
        Box::pin(pulls::diff(self, at))
    }

    fn comment<'a>(&'a self, at: &'a PullAt, comment: &'a Comment) -> Told<'a, (), PullError> {
        Box::pin(pulls::comment(self, at, comment))
    }

    fn check<'a>(&'a self, at: &'a PullAt, check: &'a Check) -> Told<'a, (), PullError> {
        Box::pin(pulls::check(self, at, check))
    }

    fn review<'a>(&'a self, at: &'a PullAt, review: &'a Review) -> Told<'a, (), PullError> {
        Box::pin(pulls::review(self, at, review))
    }

    fn merge<'a>(&'a self, at: &'a PullAt, merge: &'a Merge) -> Told<'a, CommitId, PullError> {
        Box::pin(pulls::merge(self, at, merge))
    }

    fn revert<'a>(
        &'a self,
        at: &'a PullAt,
        revert: &'a Revert,
    ) -> Told<'a, PullRequest, PullError> {
        Box::pin(pulls::revert(self, at, revert))
    }

    fn close<'a>(&'a self, at: &'a PullAt, by: &'a Author) -> Told<'a, (), PullError> {
        Box::pin(pulls::close(self, at, by))
    }
}
