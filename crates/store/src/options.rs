//! How a store is opened.

use std::time::Duration;

use crate::transcript;

/// What whoever opens it expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// How long to wait for a lock that someone else holds, or for a connection.
    pub patience: Duration,
    /// Bytes that what agents say may take, for each task.
    pub transcript_limit: u64,
}

impl OpenOptions {
    pub const DEFAULT: Self =
        Self { patience: Duration::from_secs(5), transcript_limit: transcript::LIMIT };
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}
