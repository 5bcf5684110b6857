//! The door to the engine.

use std::sync::Arc;

use contracts::{clock::Clock as _, ids::IdSource as _};
use domain::{
    code::{PullRequestNumber, RepositoryName},
    id::TaskId,
    limits::Limits,
    people::Person,
    request::Trigger,
    task::{Ask, Command, ForgeNews, Task},
};
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::{Hands, Settings, SubmitError, driver, submit, watch};

#[derive(Debug)]
pub struct Engine<H> {
    pub(crate) store: Arc<Store>,
    pub(crate) hands: Arc<H>,
    pub(crate) settings: Settings,
}

impl<H> Clone for Engine<H> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            hands: Arc::clone(&self.hands),
            settings: self.settings.clone(),
        }
    }
}

impl<H: Hands> Engine<H> {
    pub const fn new(store: Arc<Store>, hands: Arc<H>, settings: Settings) -> Self {
        Self { store, hands, settings }
    }

    /// Takes on a task, if whoever triggered it may. It is remembered when this returns.
    pub async fn submit(&self, trigger: Trigger, limits: Limits) -> Result<TaskId, SubmitError> {
        let task = TaskId::from_u128(self.hands.ids().next());
        self.submit_as(task, trigger, limits).await?;
        Ok(task)
    }

    /// The same, with an id that the caller made, so that the call can be repeated.
    pub async fn submit_as(
        &self,
        task: TaskId,
        trigger: Trigger,
        limits: Limits,
    ) -> Result<(), SubmitError> {
        Box::pin(submit::begin(self, task, trigger, limits)).await
    }

    /// A person asks for something. Refusals are sentences for that person, and are audited.
    pub async fn ask(&self, task: TaskId, by: Person, ask: Ask) -> Result<Task, SubmitError> {
        Box::pin(submit::ask(self, task, by, ask)).await
    }

    /// A forge tells what happened to a pull request: a merge, a push, a failed check.
    pub async fn forge_says(&self, task: TaskId, news: ForgeNews) -> Result<Task, SubmitError> {
        Box::pin(submit::command(self, task, Command::Report(news.into()))).await
    }

    /// Looks at a task's pull request now, for what was just done to it. Who does not do this is not unheard: the engine looks by itself,
    /// only later.
    pub async fn look_at_pull_request(
        &self,
        task: TaskId,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<(), String> {
        Box::pin(watch::look_at(self, task, repository, number)).await
    }

    /// Drives tasks until `stop`. Then running steps are let go, for the next driver.
    pub async fn run(&self, stop: CancellationToken) {
        Box::pin(driver::drive(self, stop)).await;
    }

    pub const fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn now(&self) -> domain::time::Timestamp {
        self.hands.clock().now()
    }
}
