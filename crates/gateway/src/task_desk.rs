//! Tasks, as the server offers them: taken on, asked of, and looked at.
//!
//! The gateway reads everything that the store knows by itself: lists, events, transcripts, plans, and the documents of checks, reviews
//! and receipts. The desk is for what needs the engine, the repositories or the agents.

use std::sync::Arc;

use contracts::forge::Diff;
use domain::{
    code::{CommitId, RepositoryName},
    id::TaskId,
    limits::Limits,
    people::Person,
    queue::Places,
    request::{ChannelKind, Request, Trigger},
    task::{Ask, Task},
};
use engine::SubmitError;
use futures::future::BoxFuture;
use store::Store;
use wire::{
    error::{Code, Problem},
    task::{new::NewTask, shown::KnownRepository},
    why::{Why, WhyQuery},
};

/// Has tasks done. `lamp` plugs the engine in here.
pub trait TaskDesk: Send + Sync + 'static {
    /// Where tasks are remembered; `None` on a server without.
    fn store(&self) -> Option<&Arc<Store>>;

    /// How many tasks may work at once.
    fn places(&self) -> Places;

    /// What the engine is to be given for a wish: the repositories are known from now on and can be read, the agent exists, and the
    /// limits are those of the agent, the server and the policy together with what is wished.
    ///
    /// The same wish by the same `door` gives the same order: the gateway may ask twice. It sets `parent` of parallel attempts, and adds to the source's
    /// `thread` which of them it is.
    fn order<'a>(
        &'a self,
        by: &'a Person,
        door: ChannelKind,
        wish: &'a NewTask,
    ) -> BoxFuture<'a, Result<(Trigger, Limits), Problem>>;

    /// As [`engine::Engine::submit_as`].
    fn submit_as(
        &self,
        task: TaskId,
        trigger: Trigger,
        limits: Limits,
    ) -> BoxFuture<'_, Result<(), SubmitError>>;

    /// As [`engine::Engine::ask`].
    fn ask(&self, task: TaskId, by: Person, ask: Ask) -> BoxFuture<'_, Result<Task, SubmitError>>;

    /// The branch that the work of a task goes to, until it has a pull request.
    fn branch(&self, task: TaskId, request: &Request) -> Option<String>;

    /// What a task's newest commit changes, as a patch.
    fn diff<'a>(&'a self, change: &'a TaskChange) -> BoxFuture<'a, Result<Diff, Problem>>;

    /// Where a line is from.
    fn why<'a>(&'a self, query: &'a WhyQuery) -> BoxFuture<'a, Result<Why, Problem>>;

    /// The repositories that this server knows, by name. Their addresses have nothing secret in them.
    fn repositories(&self) -> BoxFuture<'_, Result<Vec<KnownRepository>, Problem>>;
}

/// The newest work of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    pub task: TaskId,
    pub repository: RepositoryName,
    /// What the task began from.
    pub base: CommitId,
    pub commit: CommitId,
}

/// For a server without tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTasks;

pub(crate) fn none() -> Problem {
    Problem::new(Code::Unsupported, "this server has no tasks")
}

fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, Problem>> {
    Box::pin(async { Err(none()) })
}

impl TaskDesk for NoTasks {
    fn store(&self) -> Option<&Arc<Store>> {
        None
    }

    fn places(&self) -> Places {
        Places { total: 0, per_repository: 0, per_person: 0 }
    }

    fn order<'a>(
        &'a self,
        _by: &'a Person,
        _door: ChannelKind,
        _wish: &'a NewTask,
    ) -> BoxFuture<'a, Result<(Trigger, Limits), Problem>> {
        refused()
    }

    fn submit_as(
        &self,
        task: TaskId,
        _trigger: Trigger,
        _limits: Limits,
    ) -> BoxFuture<'_, Result<(), SubmitError>> {
        Box::pin(async move { Err(store::StoreError::NoTask { task }.into()) })
    }

    fn ask(
        &self,
        task: TaskId,
        _by: Person,
        _ask: Ask,
    ) -> BoxFuture<'_, Result<Task, SubmitError>> {
        Box::pin(async move { Err(store::StoreError::NoTask { task }.into()) })
    }

    fn branch(&self, _task: TaskId, _request: &Request) -> Option<String> {
        None
    }

    fn diff<'a>(&'a self, _change: &'a TaskChange) -> BoxFuture<'a, Result<Diff, Problem>> {
        refused()
    }

    fn why<'a>(&'a self, _query: &'a WhyQuery) -> BoxFuture<'a, Result<Why, Problem>> {
        refused()
    }

    fn repositories(&self) -> BoxFuture<'_, Result<Vec<KnownRepository>, Problem>> {
        refused()
    }
}
