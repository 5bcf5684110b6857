//! Files inside a sandbox.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::exec::User;

/// Which path, and with whose rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PathQuery {
    /// Absolute, as seen inside.
    #[param(max_length = 4096, pattern = r"^/[^\x00]*$", example = "/workspace")]
    pub path: String,
    /// With whose rights.
    #[serde(default)]
    pub user: User,
}

/// The same, for a file that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WriteQuery {
    /// Absolute, as seen inside.
    #[param(max_length = 4096, pattern = r"^/[^\x00]*$", example = "/workspace")]
    pub path: String,
    /// With whose rights.
    #[serde(default)]
    pub user: User,
    /// In octal; `644` when it is left out.
    #[param(pattern = "^[0-7]{1,3}$", example = "644")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
    pub size: u64,
    pub mode: u32,
    pub uid: u32,
    pub modified_seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Directory,
    Symlink,
    Other,
}

/// What is in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entries {
    pub entries: Vec<Entry>,
}
