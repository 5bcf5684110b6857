//! Images: what sandboxes start from.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::Problem,
    sandbox::{ComputeWish, Repository},
};

/// What to build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildImage {
    /// `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`.
    pub base: String,
    /// Checked out before the setup runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<Repository>,
    /// A script of the shell, run once. Left out: proposed from the manifests in the repositories. Empty:
    /// nothing is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// What the setup may use.
    #[serde(default)]
    pub compute: ComputeWish,
}

/// One line of a build's stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BuildNews {
    /// A new stage, as a sentence.
    Stage { text: String },
    /// The setup's output. What is not UTF-8 is replaced.
    Output { text: String },
    /// A setup script was proposed from these files.
    Proposed { script: String, because: Vec<String> },
    /// The last line of a build that worked.
    Built { image: Image },
    /// The last line of one that did not.
    Failed { error: Problem },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Image {
    /// 64 hexadecimal digits. `image:` and the key is what a sandbox is made of.
    pub key: String,
    pub base: String,
    /// The repositories inside, as `name@commit`.
    pub sources: Vec<String>,
    pub setup: String,
    pub bytes: u64,
    pub built_at_millis: i64,
    pub used_at_millis: i64,
    /// How many sandboxes stand on it.
    pub users: u32,
}

/// The images that are kept, the most recently used first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Images {
    pub images: Vec<Image>,
}

/// Which images may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneImages {
    /// Unused images go, the longest unused first, until at most so much is left.
    #[serde(default)]
    pub keep_bytes: u64,
}

/// The images that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pruned {
    pub removed: Vec<Image>,
    pub bytes: u64,
}
