//! Why is this line there? From blame to the task, its plan, its approval and its reasoning.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{task::shown::Person, time::Time};

/// Which line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhyQuery {
    /// The repository that the file is in.
    #[param(min_length = 1, max_length = 200, example = "acme/web")]
    pub repository: String,
    /// A file inside the repository.
    #[param(min_length = 1, max_length = 4096, example = "src/login.rs")]
    pub path: String,
    /// From 1.
    #[param(minimum = 1, example = 12)]
    pub line: u32,
}

/// What is known of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    pub repository: String,
    pub path: String,
    pub line: u32,
    /// The commit that the line is from.
    pub commit: String,
    /// The line itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The first line of the commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What a task tells about it; missing for a line that no task wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<WhyOrigin>,
}

/// The task that a line is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyOrigin {
    pub task: String,
    pub title: String,
    pub requester: Person,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<WhyPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<WhyApproval>,
    /// What the agent said about it while it worked, the newest last. Data, never a proof.
    pub reasoning: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyPlan {
    pub hash: String,
    pub summary: String,
    /// Why this file was to be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_file: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyApproval {
    pub by: Person,
    pub at: Time,
}
