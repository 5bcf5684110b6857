//! What a change may be.

use std::time::Duration;

pub use contracts::forge::Workflows;

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the whole way out.
    pub time: Duration,
    /// Of the pack as it comes out of the sandbox.
    pub pack_bytes: u64,
    pub objects: u32,
    /// Paths that are new, different or gone.
    pub files: usize,
    /// Of one new content, and of all together.
    pub file_bytes: u64,
    pub total_bytes: u64,
    pub path_bytes: usize,
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(5),
            pack_bytes: 64 << 20,
            objects: 50_000,
            files: 5_000,
            file_bytes: 10 << 20,
            total_bytes: 64 << 20,
            path_bytes: 1_024,
            depth: 64,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Submodules {
    #[default]
    Refused,
    Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    pub limits: Limits,
    pub submodules: Submodules,
    pub workflows: Workflows,
}

/// The values that must not be seen, known to whoever keeps them.
pub trait KnownSecrets: Send + Sync {
    /// Whether any of them is in `bytes`, in any spelling.
    fn is_in(&self, bytes: &[u8]) -> bool;
}

/// For those who keep none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

impl KnownSecrets for NoSecrets {
    fn is_in(&self, _bytes: &[u8]) -> bool {
        false
    }
}
