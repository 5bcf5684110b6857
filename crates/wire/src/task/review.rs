//! What the second agent found in the change, and what people dismissed of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::shown::Person;
use crate::time::Time;

/// The newest review of a task's change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskReview {
    /// The commit that was looked at.
    pub commit: String,
    pub at: Time,
    /// Whether the change may pass: nothing was found, or a person has dismissed all of it.
    pub passed: bool,
    /// From 1.
    pub round: u64,
    pub findings: Vec<ReviewFinding>,
}

/// A fault that the reviewer found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewFinding {
    /// A hash of the file, of what is wrong and of what it fails with: the same finding in the next round has the same.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub id: String,
    pub path: String,
    pub line: u32,
    pub what: String,
    pub failing_input: String,
    /// Who dismissed it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<Dismissal>,
}

/// That a finding does not count, in the words of whoever said so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Dismissal {
    pub by: Person,
    pub at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A finding that a person dismissed, in this round or in an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DismissedFinding {
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub id: String,
    /// What it said when it was found last; missing where that cannot be read any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<crate::agent::AgentFinding>,
    pub by: Person,
    pub at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
