//! Why an image cannot be kept or used.

use std::{io, path::Path};

use contracts::sandbox::ImageKey;

use crate::disk::{DiskError, LayerName};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Its record or one of its layers is not what was published. Build it again.
    #[error("the image {key} is refused: {reason}; build it again")]
    Refused { key: ImageKey, reason: String },
    /// Only what was just made by a build becomes an image (IM5).
    #[error(
        "the image {key} is refused: its uppermost layer is not `{proven}`, which the build made"
    )]
    Unproven { key: ImageKey, proven: LayerName },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("cannot {what}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

/// Says what was tried when it fails.
pub(super) trait Trying<T> {
    /// `what` continues "cannot".
    fn trying(self, what: &str, at: &Path) -> Result<T, StoreError>;
}

impl<T, E: Into<io::Error>> Trying<T> for Result<T, E> {
    fn trying(self, what: &str, at: &Path) -> Result<T, StoreError> {
        let what = || format!("{what} {}", at.display());
        self.map_err(|error| StoreError::Io { what: what(), source: error.into() })
    }
}
