//! What the routes of tasks and pull requests need of the rooms behind them.

use std::{fmt, sync::Arc};

use contracts::ids::IdSource;
use domain::{
    id::{PersonId, TaskId},
    people::Person,
};
use engine::Front;
use store::{Filter, Page, Store, TaskView};
use tokio::sync::Semaphore;
use wire::{
    error::{Code, Problem},
    task::shown,
};

use crate::{
    door::Closing,
    extract::bad,
    problem::Answer,
    task_ids::{self, Beginning},
};

/// How many may watch tasks at once: each costs a connection and a page in memory.
const WATCHERS: usize = 256;

pub struct TaskDoor {
    pub front: Arc<dyn Front>,
    pub ids: Arc<dyn IdSource>,
    /// Whoever comes in: the one owner of this server.
    pub person: Person,
    /// What they are called.
    pub owner: String,
    pub closing: Closing,
}

impl fmt::Debug for TaskDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskDoor").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// The door, and what is counted at it.
#[derive(Clone)]
pub(crate) struct Behind {
    pub(crate) door: Arc<TaskDoor>,
    pub(crate) watchers: Arc<Semaphore>,
    /// One at a time, so that two calls with one key, on both sides of an hour's end, do not both begin a task.
    pub(crate) keyed: Arc<Semaphore>,
}

impl Behind {
    pub(crate) fn new(door: TaskDoor) -> Self {
        Self {
            door: Arc::new(door),
            watchers: Arc::new(Semaphore::new(WATCHERS)),
            keyed: Arc::new(Semaphore::new(1)),
        }
    }

    /// What doors ask of the engine.
    pub(crate) fn front(&self) -> &dyn Front {
        &*self.door.front
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        self.front().store()
    }

    /// The task of this id, or the only one whose id begins so.
    pub(crate) async fn find(&self, called: &str) -> Answer<TaskView> {
        let store = self.store();
        let help = "`lamp list` shows the tasks that there are";
        let beginning: Beginning =
            called.parse().map_err(|error: task_ids::BeginningError| bad(error.to_string()))?;
        let page = Page { before: beginning.end(), size: 2 };
        let found = store.tasks(&Filter::default(), page).await?;
        let mut fitting = found.into_iter().filter(|view| beginning.fits(view.task));
        match (fitting.next(), fitting.next()) {
            (Some(view), None) => Ok(view),
            (Some(_), Some(_)) => {
                Err(bad(format!("several tasks begin with `{called}`: write more of it")))
            }
            (None, _) => Err(Problem::new(Code::NotFound, format!("there is no task `{called}`"))
                .with_help(help)
                .into()),
        }
    }

    /// All attempts at the same as `view`, and it among them, in their order.
    pub(crate) async fn attempts(&self, view: &TaskView) -> Answer<Vec<TaskView>> {
        let store = self.store();
        let base = view.parent.unwrap_or(view.task);
        let mut attempts = Vec::new();
        if !task_ids::is_attempt(base, view.task) {
            return Ok(vec![view.clone()]);
        }
        for number in 0..wire::task::new::PARALLEL {
            let task = task_ids::attempt(base, number);
            let found = store.task(task).await?;
            let belongs = |it: &TaskView| it.task == base || it.parent == Some(base);
            match found.filter(belongs) {
                Some(attempt) => attempts.push(attempt),
                None => break,
            }
        }
        Ok(attempts)
    }

    /// The other attempts at the same as `view`, in their order.
    pub(crate) async fn siblings(&self, view: &TaskView) -> Answer<Vec<TaskView>> {
        let mut attempts = self.attempts(view).await?;
        attempts.retain(|attempt| attempt.task != view.task);
        Ok(attempts)
    }

    pub(crate) fn person(&self, id: PersonId) -> shown::Person {
        let name = (id == self.door.person.id).then(|| self.door.owner.clone());
        shown::Person { id: id.to_string(), name }
    }

    pub(crate) fn new_task(&self) -> TaskId {
        TaskId::from_u128(self.door.ids.next())
    }
}
