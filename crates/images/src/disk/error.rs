//! Why a disk or a layer could not be had.

use std::{io, path::Path};

use super::{DiskName, LayerName, NoRoom};

/// Deeper trees are refused, or taken apart in pieces. Every level costs descriptors, and no honest tree comes near.
pub(super) const DEEPEST: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("there is no disk `{0}`")]
    NoDisk(DiskName),
    #[error("there is no layer `{0}`")]
    NoLayer(LayerName),
    #[error("the disk `{0}` exists")]
    Exists(DiskName),
    #[error("the layer `{0}` exists")]
    LayerExists(LayerName),
    /// Only a disk that was made for a setup becomes a layer (IM5).
    #[error("the disk `{0}` was not made for a setup, and does not become a layer")]
    NotASetup(DiskName),
    #[error("the disks cannot be opened: {0}")]
    Unusable(String),
    /// All that there is has been promised to others.
    #[error("{0}")]
    NoRoom(NoRoom),
    /// The host is full, or the pool is.
    #[error("no room: {what}")]
    Full { what: String },
    /// A hostile tree: walking it further would cost more than it is worth.
    #[error("{0} is deeper than {most} directories", most = DEEPEST)]
    TooDeep(String),
    /// A directory that is closed to us who own it, and cannot be opened.
    #[error("{0} hides what is in it")]
    Hidden(String),
    #[error("cannot {what}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

/// Why a layer was not imported; nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError<E> {
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// What the one who filled it said.
    #[error("the layer could not be filled")]
    Fill(#[source] E),
}

/// Says what was tried when it fails.
pub(super) trait Trying<T> {
    /// `what` continues "cannot".
    fn trying(self, what: &str, at: &Path) -> Result<T, DiskError>;
}

impl<T, E: Into<io::Error>> Trying<T> for Result<T, E> {
    fn trying(self, what: &str, at: &Path) -> Result<T, DiskError> {
        self.map_err(|error| {
            let source: io::Error = error.into();
            let what = format!("{what} {}", at.display());
            let kind = source.kind();
            if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                return DiskError::Full { what: format!("cannot {what}: {source}") };
            }
            DiskError::Io { what, source }
        })
    }
}

/// Refuses to go deeper than any honest tree is.
pub(super) fn at_depth(depth: usize, root: &Path) -> Result<(), DiskError> {
    if depth < DEEPEST {
        return Ok(());
    }
    Err(DiskError::TooDeep(root.display().to_string()))
}
