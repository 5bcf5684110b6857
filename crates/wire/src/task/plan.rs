//! The plan at the gate, and the conditions of an approval.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::shown::Person;
use crate::{agent::PlannedFile, money::Money, time::Time};

/// What an agent intends to do, so that a person can say yes to exactly this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The name of this exact plan. An approval names it.
    #[schema(example = "745169c4753d52d888826ffb4e0dcef9fdd92e307fb01ee15e15dd1e493f26a8")]
    pub hash: String,
    pub summary: String,
    pub files: Vec<PlannedFile>,
    pub tests: Vec<String>,
    pub expected_behaviour: String,
    pub commands: Vec<String>,
    pub hosts: Vec<String>,
    pub risks: Vec<String>,
    pub estimate: Estimate,
}

/// What the work should take. What is not known is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// A task's newest plan, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPlan {
    pub plan: Plan,
    pub submitted_at: Time,
    /// Whether it waits for a decision now.
    pub waiting: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// How many plans there were before it.
    pub earlier: u64,
}

/// What a person said to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Approved {
        by: Person,
        at: Time,
        /// Those that hold now, amended or not.
        conditions: Conditions,
    },
    Rejected {
        by: Person,
        at: Time,
        comment: String,
    },
}

/// What an approver allows. What is left out is whatever the policy allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Each allows itself and everything below it: `src`, `src/login.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 256)]
    pub paths: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 256)]
    pub hosts: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 256)]
    pub commands: Option<Vec<String>>,
    /// In millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_seconds: Option<u64>,
}
