//! What a sandbox may reach, explained and learned; what it did; and the policy that holds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Asks what would become of one request. Nothing is sent anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainEgress {
    /// `https://api.example.com/v1/things`
    pub url: String,
    /// `GET` when it is left out.
    #[serde(default = "get", skip_serializing_if = "is_get")]
    pub method: String,
}

fn get() -> String {
    "GET".to_owned()
}

fn is_get(method: &str) -> bool {
    method == "GET"
}

/// Which rule decides, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedEgress {
    pub method: String,
    pub url: String,
    pub phase: String,
    pub verdict: EgressVerdict,
    /// The rule that decides, as it is written, or the layer that has none.
    pub rule: Option<String>,
    /// One sentence.
    pub reason: String,
    /// What a person can do about a denial.
    pub remedy: Option<String>,
    /// What each layer says, from the organisation down.
    pub layers: Vec<EgressLayer>,
    /// The bundles that the request belongs to, of those that rules name.
    pub bundles: Vec<String>,
    /// `inspected`, `carried unseen` or `refused`: what becomes of the connection.
    pub connection: String,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EgressVerdict {
    Allow,
    Deny,
    /// The rules allow it if its body is what it should be.
    DependsOnBody,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EgressLayer {
    pub layer: String,
    /// `allows`, `denies` or `says nothing`.
    pub says: String,
    pub rule: Option<String>,
}

/// What a sandbox did and tried, and the smallest policy for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LearnedEgress {
    pub phase: String,
    pub rules: Vec<LearnedRule>,
    /// How much was seen that is not listed, because there was too much.
    pub forgotten: u64,
    /// The same as a part of `policy.yaml`.
    pub yaml: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LearnedRule {
    /// As it is written in a policy.
    pub rule: String,
    pub times: u64,
    /// Whether it is allowed now; otherwise it was refused.
    pub allowed: bool,
    /// The command that wanted it last, where it was refused and that is known. It is what a program says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What changed when the server read its files again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReloadedPolicy {
    /// Rules that are new or gone.
    pub changes: Vec<PolicyChange>,
    /// Other keys that changed, and hold now.
    pub others: Vec<String>,
    /// Keys that changed, and hold after the next start of the server.
    pub after_restart: Vec<String>,
    /// How many sandboxes that run have the new rules.
    pub sandboxes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyChange {
    /// `organisation` or `platform`.
    pub layer: String,
    pub phase: String,
    /// `allow` or `deny`.
    pub list: String,
    pub change: RuleChange,
    /// As it is written.
    pub rule: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleChange {
    Added,
    Removed,
}

/// The most records of one answer.
pub const LOG_LIMIT: u32 = 2_000;

/// Which records are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressLogQuery {
    /// Only what was refused.
    pub refused: bool,
    /// The most records, the newest; 200 when it is left out, and never more than 2000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
}

/// What a sandbox did and tried, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EgressLog {
    pub records: Vec<EgressRecord>,
}

/// One exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EgressRecord {
    pub at_millis: i64,
    pub host: String,
    /// 0 for a name.
    pub port: u16,
    /// `connect`, `absolute_form`, `socks`, `transparent` or `names`.
    pub way: String,
    pub method: Option<String>,
    /// Without the query.
    pub path: Option<String>,
    /// `done`, `refused` or `broken`.
    pub outcome: String,
    pub status: Option<u16>,
    /// Of a refusal: a stable word.
    pub code: Option<String>,
    /// Why it was refused, or how it broke.
    pub reason: Option<String>,
    /// The rule that allowed it, or that decided against it.
    pub rule: Option<String>,
    /// The command that wanted it, where it was refused and that is known. It is what a program says of itself.
    pub cause: Option<String>,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub millis: u64,
    pub cost_micros: Option<u64>,
}
