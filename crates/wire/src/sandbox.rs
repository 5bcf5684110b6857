//! Sandboxes: what to make, what exists, what it uses.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSandbox {
    /// Chosen by the caller, so that a call can be repeated: `s_` and 26 letters or digits. Made here when
    /// it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How people call it: 1 to 64 letters in lower case, digits or `-`, beginning with a letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`; `host` when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(default)]
    pub tier: Tier,
    #[serde(default)]
    pub compute: ComputeWish,
    /// What is inside when it is first opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<Repository>,
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// Whether `/workspace`, with all below it, is mounted read-only: for the agent and for root inside, once the repositories are
    /// there and `post_clone` has run. The rest stays writable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// What it may reach; nothing when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkWish>,
}

/// What a sandbox may reach. Never more than the server's policy allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkWish {
    /// Rules as they stand in a policy: `github`, `registry:npm`, `docs.example.com`,
    /// `{ host: api.example.com, methods: [POST] }`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Secrets that it may use by their placeholders, on the hosts that they are bound to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The agent that the run is of. A secret that names agents is for theirs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whose rules of the policy hold: `setup`, `research`, `implement` or `review`; `implement` when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<EgressPhase>,
}

/// The phases that a policy speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EgressPhase {
    Setup,
    Research,
    Implement,
    Review,
}

/// Scripts for `/bin/sh`, run inside at the turns of its life. Empty ones are not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hooks {
    /// Once, after the repositories were brought in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub post_clone: String,
    /// After every start, also after a rest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub post_start: String,
    /// Before everything is stopped.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pre_teardown: String,
}

impl Hooks {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A repository to bring in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// `owner/name`, or one word. It is found at `/workspace/` and its last word.
    pub name: String,
    pub url: String,
    /// A branch, a tag or a commit; the default branch when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// How strongly a sandbox is isolated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    Verified,
    #[default]
    Standard,
    Untrusted,
}

/// How much it may use. What is left out is the server's usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeWish {
    /// In thousandths of a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_mib: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<u64>,
}

/// How much it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Compute {
    /// In thousandths of a core.
    pub cpu_millis: u32,
    pub memory_mib: u32,
    pub disk_mib: u32,
    pub processes: u32,
    pub lifetime_seconds: u64,
}

/// One that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sandbox {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub state: State,
    pub owner: Owner,
    pub purpose: Purpose,
    pub image: String,
    pub tier: Tier,
    pub compute: Compute,
    /// Whether nothing inside can change what is in `/workspace`.
    #[serde(default)]
    pub read_only: bool,
    pub created_at_millis: i64,
    /// Why it ended by itself, until it is opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died: Option<String>,
}

/// Who pays for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Task(String),
    Person(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Research,
    Implement,
    Verify,
    Review,
    Person,
    Setup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Open,
    /// Nothing runs; memory is kept.
    Frozen,
    /// Nothing runs; the disk is kept.
    Resting,
}

/// The sandboxes that exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sandboxes {
    pub sandboxes: Vec<Sandbox>,
}

/// What the copy is called and how much it may use; image, tier and disk are those of the original.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkSandbox {
    /// As in `CreateSandbox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default)]
    pub compute: ComputeWish,
}

/// What it uses now, and has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    pub cpu_millis: u64,
    /// Memory times time.
    pub memory_mib_seconds: u64,
    pub network_bytes: u64,
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    pub disk_bytes: u64,
    pub disk_files: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub processes: u32,
    /// How often something inside was killed because the memory ran out.
    pub out_of_memory: u64,
}
