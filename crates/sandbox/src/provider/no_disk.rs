//! What it means for a sandbox that there is no disk for it.

use contracts::sandbox::SandboxError;
use images::disk::DiskError;

use super::busy;

/// Why there is no disk.
pub(super) fn no_disk(error: DiskError) -> SandboxError {
    match error {
        DiskError::NoRoom(refused) => SandboxError::NoRoom { reason: refused.to_string() },
        error @ (DiskError::NoDisk(_)
        | DiskError::NoLayer(_)
        | DiskError::Exists(_)
        | DiskError::LayerExists(_)
        | DiskError::NotASetup(_)
        | DiskError::Unusable(_)
        | DiskError::Full { .. }
        | DiskError::TooDeep(_)
        | DiskError::Hidden(_)
        | DiskError::Io { .. }) => busy(error),
    }
}
