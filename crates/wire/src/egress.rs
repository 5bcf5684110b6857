//! What a sandbox may reach, explained and learned.

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
}
