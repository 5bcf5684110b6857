//! What can be asked of the engine.

use contracts::ids::IdSource as _;
use domain::{
    code::{PullRequestNumber, RepositoryName},
    id::TaskId,
    limits::Limits,
    people::Person,
    request::Trigger,
    task::{Ask, Command, ForgeNews, Task},
};
use tokio_util::sync::CancellationToken;

use crate::{Engine, Hands, SubmitError, driver, submit, watch};

impl<H: Hands> Engine<H> {
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
}
