//! What tasks used, as metered outside their sandboxes.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::money::Money;

/// What was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Spent {
    pub money: Money,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cpu_millis: u64,
    /// Memory times time.
    pub memory_mib_seconds: u64,
    pub network_bytes: u64,
}

/// What one task used, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskUsage {
    pub task: String,
    pub total: Spent,
    pub budget: Money,
    /// Those in which something was used, in their order.
    pub phases: Vec<PhaseUsage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PhaseUsage {
    pub phase: String,
    pub spent: Spent,
}

/// What all tasks spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    pub spent: Money,
    pub tasks: u64,
    /// The most expensive first.
    pub repositories: Vec<Share>,
    pub agents: Vec<Share>,
    pub people: Vec<Share>,
    /// Whether there are older tasks that were not counted.
    pub cut: bool,
}

/// What those with one name spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Share {
    pub name: String,
    pub tasks: u64,
    pub spent: Money,
}

/// Which tasks are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// Only those whose first repository is this one.
    #[param(max_length = 200, example = "acme/web")]
    pub repository: Option<String>,
}
