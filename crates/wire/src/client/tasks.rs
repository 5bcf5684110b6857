//! Tasks, called from a program.

use bytes::Bytes;
use hyper::Method;
use serde::Serialize;

use super::{Answered, Client, TaskStream, escaped, task_path::of};
use crate::{
    task::{
        ask::{
            Amend, AnswerQuestion, Approve, DismissFinding, PickTask, Picked, PickedBy,
            RaiseBudget, Reject, Retry, RevertTask, Reverted, SendMessage,
        },
        checks::Checks,
        event::EventPage,
        new::{BegunTasks, NewTask},
        plan::TaskPlan,
        review::TaskReview,
        shown::{Context, KnownRepository, Patch, Queue, Repositories, Task, TaskList, TaskQuery},
        stream::Cursor,
        transcript::{PageQuery, TranscriptPage},
        usage::{TaskUsage, Usage, UsageQuery},
    },
    why::{Why, WhyQuery},
};

impl Client {
    /// Hands over a task. The same `key` with the same task, after an answer that was lost, begins nothing new.
    ///
    /// A key that is a UUID of version 7 also says when the task was asked for; any other is remembered for a day.
    pub async fn begin_task(&self, wish: &NewTask, key: &str) -> Answered<Vec<Task>> {
        let headers = [("idempotency-key", key)];
        let answer = self.send_with("/tasks", wish, &headers).await?;
        Ok(answer.json::<BegunTasks>().await?.tasks)
    }

    /// A page of tasks, the newest first.
    pub async fn tasks(&self, query: &TaskQuery) -> Answered<TaskList> {
        let TaskQuery { state, repository, limit, after } = query;
        let words = [
            ("state", state.clone()),
            ("repository", repository.clone()),
            ("limit", limit.map(|limit| limit.to_string())),
            ("after", after.clone()),
        ];
        self.get(&format!("/tasks{}", query_of(&words))).await
    }

    /// One, by its id or a beginning of it that only it has.
    pub async fn task(&self, task: &str) -> Answered<Task> {
        self.get(&of(task, "")).await
    }

    pub async fn task_events(&self, task: &str, page: PageQuery) -> Answered<EventPage> {
        self.get(&of(task, &format!("/events{}", page_of(page)))).await
    }

    pub async fn task_transcript(&self, task: &str, page: PageQuery) -> Answered<TranscriptPage> {
        self.get(&of(task, &format!("/transcript{}", page_of(page)))).await
    }

    /// Everything that happens to a task and that its agents say, after `cursor`, until it is over.
    ///
    /// A connection that is cut is opened again, and goes on where it was.
    pub fn watch_task(&self, task: &str, cursor: Cursor) -> TaskStream {
        TaskStream::new(self.clone(), task.to_owned(), cursor)
    }

    /// The newest plan.
    pub async fn task_plan(&self, task: &str) -> Answered<TaskPlan> {
        self.get(&of(task, "/plan")).await
    }

    pub async fn approve(&self, task: &str, wish: &Approve) -> Answered<Task> {
        self.ask(task, "approve", wish).await
    }

    pub async fn reject(&self, task: &str, wish: &Reject) -> Answered<Task> {
        self.ask(task, "reject", wish).await
    }

    pub async fn answer(&self, task: &str, wish: &AnswerQuestion) -> Answered<Task> {
        self.ask(task, "answer", wish).await
    }

    pub async fn message(&self, task: &str, wish: &SendMessage) -> Answered<Task> {
        self.ask(task, "message", wish).await
    }

    pub async fn pause_task(&self, task: &str) -> Answered<Task> {
        self.tell(task, "pause").await
    }

    pub async fn resume_task(&self, task: &str) -> Answered<Task> {
        self.tell(task, "resume").await
    }

    pub async fn cancel_task(&self, task: &str) -> Answered<Task> {
        self.tell(task, "cancel").await
    }

    pub async fn retry_task(&self, task: &str, wish: &Retry) -> Answered<Task> {
        self.ask(task, "retry", wish).await
    }

    pub async fn amend(&self, task: &str, wish: &Amend) -> Answered<Task> {
        self.ask(task, "amend", wish).await
    }

    pub async fn raise_budget(&self, task: &str, wish: &RaiseBudget) -> Answered<Task> {
        self.ask(task, "budget", wish).await
    }

    /// Keeps one of several attempts, and cancels the others.
    pub async fn pick(&self, task: &str, by: PickedBy) -> Answered<Picked> {
        self.send(Method::POST, &of(task, "/pick"), &PickTask { by }).await?.json().await
    }

    /// Opens the pull request that takes a merged change back, or finds the one that does.
    pub async fn revert_task(&self, task: &str, wish: &RevertTask) -> Answered<Reverted> {
        self.send(Method::POST, &of(task, "/revert"), wish).await?.json().await
    }

    pub async fn task_diff(&self, task: &str) -> Answered<Patch> {
        self.get(&of(task, "/diff")).await
    }

    pub async fn task_checks(&self, task: &str) -> Answered<Checks> {
        self.get(&of(task, "/checks")).await
    }

    pub async fn task_review(&self, task: &str) -> Answered<TaskReview> {
        self.get(&of(task, "/review")).await
    }

    pub async fn dismiss(&self, task: &str, wish: &DismissFinding) -> Answered<Task> {
        self.ask(task, "review/dismiss", wish).await
    }

    /// The signed receipt: an envelope to be kept or verified as it is.
    pub async fn task_receipt(&self, task: &str) -> Answered<serde_json::Value> {
        self.get(&of(task, "/receipt")).await
    }

    pub async fn task_usage(&self, task: &str) -> Answered<TaskUsage> {
        self.get(&of(task, "/usage")).await
    }

    /// What the agent was told.
    pub async fn task_context(&self, task: &str) -> Answered<Context> {
        self.get(&of(task, "/context")).await
    }

    /// Plans that wait for a decision, those that wait longest first.
    pub async fn inbox(&self, limit: Option<u32>, after: Option<&str>) -> Answered<TaskList> {
        let words =
            [("limit", limit.map(|it| it.to_string())), ("after", after.map(str::to_owned))];
        self.get(&format!("/inbox{}", query_of(&words))).await
    }

    pub async fn queue(&self) -> Answered<Queue> {
        self.get("/queue").await
    }

    pub async fn usage(&self, query: &UsageQuery) -> Answered<Usage> {
        let words = [("repository", query.repository.clone())];
        self.get(&format!("/usage{}", query_of(&words))).await
    }

    pub async fn why(&self, query: &WhyQuery) -> Answered<Why> {
        let WhyQuery { repository, path, line } = query;
        let words = [
            ("repository", Some(repository.clone())),
            ("path", Some(path.clone())),
            ("line", Some(line.to_string())),
        ];
        self.get(&format!("/why{}", query_of(&words))).await
    }

    pub async fn repositories(&self) -> Answered<Vec<KnownRepository>> {
        Ok(self.get::<Repositories>("/repositories").await?.repositories)
    }

    async fn ask(&self, task: &str, word: &str, wish: &impl Serialize) -> Answered<Task> {
        self.send(Method::POST, &of(task, &format!("/{word}")), wish).await?.json().await
    }

    async fn tell(&self, task: &str, word: &str) -> Answered<Task> {
        let path = of(task, &format!("/{word}"));
        self.call(Method::POST, &path, Bytes::new()).await?.json().await
    }
}

/// Those that are there, after a `?`.
pub(super) fn query_of(words: &[(&str, Option<String>)]) -> String {
    let pairs: Vec<String> = words
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", escaped(value.as_ref()?))))
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn page_of(page: PageQuery) -> String {
    query_of(&[
        ("after", page.after.map(|after| after.to_string())),
        ("limit", page.limit.map(|limit| limit.to_string())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_changes_the_address() {
        assert_eq!(of("../tasks", "/plan"), "/tasks/%2E%2E%2Ftasks/plan");
        let words = [("a", Some("x&b=1".to_owned())), ("b", None)];
        assert_eq!(query_of(&words), "?a=x%26b%3D1");
        assert_eq!(query_of(&[("b", None)]), "");
    }
}
