//! A task as lists and pages show it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

pub use super::person::Person;
use super::{checks::Headline, repository::RepositoryUse, review::DismissedFinding, usage::Spent};
use crate::{money::Money, time::Time};

/// One task, with all that is known of where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    #[schema(example = "t_01jbrt5cy4fnf8z40j6hb7h6nw")]
    pub id: String,
    /// The beginning of the id: enough to type.
    #[schema(example = "t_01jbrt5cy4fn")]
    pub short: String,
    /// In words: `researching`, `awaiting approval`, `pull request open`, `done`.
    #[schema(example = "awaiting approval")]
    pub state: String,
    /// Whether anything moves by itself, somebody is waited for, or all is over.
    pub standing: Standing,
    /// The phase that runs, is interrupted, or comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "implement")]
    pub phase: Option<String>,
    /// The first line of the text.
    pub title: String,
    pub text: String,
    pub requester: Person,
    /// Where it came from: `cli`, `api`, `web`.
    pub channel: String,
    pub repositories: Vec<RepositoryUse>,
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The branch that its work goes to, once there is work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The newest commit of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The number of its pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    /// What the checks of its newest commit say together, once they have run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// The sandbox that its agent works in, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The hash of the plan that waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_waiting: Option<String>,
    /// The hash of the plan that was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_approved: Option<String>,
    /// The question that waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// What stopped it, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// How it ended well: `merged`, `pull_request_closed` or `taken_over`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_because: Option<String>,
    /// The attempt under way, from 1, once there is an approved plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u8>,
    /// How often the reviewer has sent the change back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_round: Option<u8>,
    /// What people dismissed of what reviewers found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<DismissedFinding>,
    pub spent: Spent,
    pub budget: Money,
    /// Its place in the queue, while it waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
    /// The task that this one is a part of, or another attempt of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The other attempts at the same, if there are some. `POST …/pick` keeps one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<Sibling>,
    /// How many events it has: what to resume `/events` and `/stream` after.
    pub events: u64,
    pub created_at: Time,
    pub changed_at: Time,
    /// Since when it stands where it stands.
    pub since: Time,
    pub next: Next,
}

/// How a task stands to those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It waits for a place.
    Queued,
    /// It works.
    Works,
    /// It waits for a person.
    WaitsForPerson,
    /// Nothing more happens, unless it is retried.
    Over,
}

/// What people can do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Next {
    /// One sentence, without a full stop.
    #[schema(example = "the plan waits for a decision")]
    pub sentence: String,
    pub commands: Vec<NextCommand>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextCommand {
    /// As it is typed.
    #[schema(example = "lamp plan t_01jbrt5cy4fn")]
    pub command: String,
    /// What it does, in a few words.
    #[schema(example = "shows the plan")]
    pub does: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    pub id: String,
    pub text: String,
    /// Answers to choose from. A person may always write their own.
    pub choices: Vec<String>,
}

/// What went wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    /// A stable name: `test_loop`, `budget_hit`, `oom`.
    #[schema(example = "test_loop")]
    pub kind: String,
    #[schema(example = "implement")]
    pub phase: String,
    pub message: String,
    /// The end of the log.
    pub last_lines: Vec<String>,
    pub remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuePlace {
    /// 1 is next.
    pub place: u64,
    #[schema(example = "all 8 places are taken")]
    pub reason: String,
}

/// Another attempt at the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sibling {
    pub id: String,
    pub short: String,
    pub state: String,
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
}

/// A task, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    pub id: String,
    pub short: String,
    pub state: String,
    pub title: String,
    /// The first of its repositories.
    pub repository: String,
    pub requester: Person,
    pub agent: String,
    pub channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_waiting: Option<String>,
    /// The stable name of what stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    pub spent: Money,
    pub created_at: Time,
    pub changed_at: Time,
    pub since: Time,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    pub tasks: Vec<TaskSummary>,
    /// Where the next page begins: give it as `after`. Missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// In words, as `state` of a task has it; `_` may stand for a space.
    #[param(
        pattern = "^(queued|preparing|researching|planning|implementing|verifying|reviewing|delivering|waiting[ _]for[ _]an[ _]answer|awaiting[ _]approval|paused|pull[ _]request[ _]open|waking[ _]for[ _]a[ _]follow-up|done|failed|cancelled)$",
        example = "awaiting_approval"
    )]
    pub state: Option<String>,
    /// Only those whose first repository is this one.
    #[param(max_length = 200, example = "acme/web")]
    pub repository: Option<String>,
    /// At most 500; 50 when it is left out.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// The `next` of the page before.
    #[param(pattern = "^t_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    pub after: Option<String>,
}

/// The queue, those that are next first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    pub waiting: Vec<QueuedTask>,
    pub places: Places,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedTask {
    pub task: TaskSummary,
    pub place: u64,
    pub reason: String,
}

/// How many tasks may work at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Places {
    pub total: u64,
    pub per_repository: u64,
    pub per_person: u64,
}

/// What an agent was told, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Context {
    /// The number of the event that asked for the run.
    pub run: u64,
    pub attempt: u64,
    pub at: Time,
    pub texts: Vec<String>,
}

/// A change, as a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Patch {
    /// As git writes it; bytes that are no text are replaced.
    pub text: String,
    /// Whether there is more than was read.
    pub cut: bool,
}

/// A repository that this server knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KnownRepository {
    #[schema(example = "acme/web")]
    pub name: String,
    /// Where it is, without anything secret.
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Repositories {
    pub repositories: Vec<KnownRepository>,
}
