//! What this server is and can do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::sandbox::Tier;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Always `ok`; a server that is not does not answer.
    pub status: String,
    /// The version of the program.
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Capabilities {
    pub tiers: Vec<Tier>,
    pub missing: Vec<MissingTier>,
    /// What works less well here than it could, each as a sentence with the remedy.
    pub weaker: Vec<String>,
}

/// A tier that this host cannot give, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingTier {
    pub tier: Tier,
    pub reason: String,
}
