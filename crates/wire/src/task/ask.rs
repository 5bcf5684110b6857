//! What a person can ask of a task. Each is the body of one call, and each answer is the task as it stands then.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::plan::Conditions;

/// Yes, to exactly this plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The hash of the plan that was read. When another one waits by now, nothing is approved.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub plan: String,
    #[serde(default)]
    pub conditions: Conditions,
}

/// No; the comment reaches the agent, which plans anew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub plan: String,
    #[schema(min_length = 1, max_length = 65_536, pattern = r"\S")]
    pub comment: String,
}

/// The answer to a question of the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerQuestion {
    /// The question that was read; the open one when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^q_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    pub question: Option<String>,
    #[schema(min_length = 1, max_length = 65_536, pattern = r"\S")]
    pub text: String,
}

/// Words for the agent. On an open pull request they wake the task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    #[schema(min_length = 1, max_length = 65_536, pattern = r"\S")]
    pub text: String,
}

/// Again, from a phase on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The phase to begin from; the one that it stopped in when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(prepare|research|plan|implement|verify|review|deliver)$")]
    pub from: Option<String>,
}

/// Lets an approved plan go further than its conditions said. These replace them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Amend {
    pub conditions: Conditions,
}

/// More money.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RaiseBudget {
    /// The whole budget from now on, in millionths of a dollar.
    #[schema(minimum = 1)]
    pub to_micros: u64,
}

/// Takes a merged change back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevertTask {
    /// Whether the revert is merged at once. Otherwise it waits for a person, as any pull request does.
    #[serde(default)]
    pub merge: bool,
}

/// What takes a change back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reverted {
    /// The number of the pull request that is taken back.
    pub reverts: u64,
    /// The one that does it.
    pub pull: crate::pull::Pull,
}

/// A finding of the reviewer does not count, in this round or in any later one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissFinding {
    /// The id of the finding that was read.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub finding: String,
    /// Why, in one line: the pull request and its receipt say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 2000, pattern = r"\S")]
    pub why: Option<String>,
}

/// Which of several attempts is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PickTask {
    #[serde(default)]
    pub by: PickedBy,
}

/// Who picks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PickedBy {
    /// Whoever asks: it is the task that they name.
    #[default]
    Person,
    /// What the platform has seen: of all attempts that came to a pull request, the best by their checks. The task that is named says only
    /// which attempts are meant.
    Checks,
}

/// One of several attempts was picked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Picked {
    pub task: super::shown::Task,
    /// The attempts that were cancelled for it.
    pub cancelled: Vec<String>,
    /// Those that were over already.
    pub over: Vec<String>,
    /// Why it was this one, where the checks picked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
