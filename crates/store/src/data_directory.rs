//! Where things are kept on this machine.

use std::{
    fs::TryLockError,
    path::{Path, PathBuf},
};

use crate::OpenError;

/// The directory that holds a server's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDirectory {
    directory: PathBuf,
}

impl DataDirectory {
    pub const DATABASE: &str = "lamp.db";
    pub const BLOBS: &str = "blobs";

    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The SQLite file, where no other database is named.
    pub fn database(&self) -> PathBuf {
        self.directory.join(Self::DATABASE)
    }

    pub fn blobs(&self) -> PathBuf {
        self.directory.join(Self::BLOBS)
    }

    /// Makes the directory, for its owner only: it holds what people asked and what was answered.
    pub(crate) fn make(&self) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)
    }

    pub fn sqlite_url(&self) -> String {
        format!("sqlite:{}", self.database().display())
    }
}

/// Held by the one server that drives the tasks kept here. Gone with the process, however it ends.
#[derive(Debug)]
pub struct ServerLock {
    _file: fs_err::File,
}

impl DataDirectory {
    /// Makes sure that no other server drives the tasks of this place.
    pub fn lock(&self) -> Result<ServerLock, OpenError> {
        let path = self.directory.join("server.lock");
        let unusable = |source| OpenError::Directory { path: self.directory.clone(), source };
        self.make().map_err(unusable)?;
        let file = fs_err::File::create(&path).map_err(unusable)?;
        match file.file().try_lock() {
            Ok(()) => Ok(ServerLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: self.directory.clone() }),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }
}
