//! One mirror: a bare repository on this host, and where it comes from.

use std::path::PathBuf;

use crate::source::Source;

/// One of the mirrors, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The bare repository.
    pub path: PathBuf,
    pub source: Source,
}
