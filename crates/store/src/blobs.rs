//! Large things (logs, reports, evidence), kept as files that are named by their hash.
//!
//! A blob is written beside its place, flushed, and moved there in one step: a crash leaves either all
//! of it or nothing. Reading checks the hash, so a torn or changed file is an error, not evidence.
//! What no event speaks of is collected after a while: a blob is always written before its event. A lock
//! on the directory keeps apart the one who keeps a blob again and the one who is about to remove it.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use domain::digest::Digest;
use files::{Durability, Unfinished};
use fs_err as fs;

#[derive(Debug, Clone)]
pub struct Blobs {
    directory: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("there is no blob {digest}")]
    Missing { digest: Digest },
    #[error("blob {digest} is damaged: `{path}` does not have this hash; restore it from a backup")]
    Damaged { digest: Digest, path: PathBuf },
    #[error("a blob may have {limit} bytes at most")]
    TooLarge { limit: u64 },
    #[error("cannot keep or read a blob")]
    Io(#[from] io::Error),
}

/// What a collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    pub kept: usize,
    pub removed: usize,
    pub freed_bytes: u64,
}

/// Where a blob is written before it is moved to its place.
pub(crate) const HALF_WRITTEN: &str = "new";

impl Blobs {
    pub const LIMIT: u64 = 256 * 1024 * 1024;

    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory.join(HALF_WRITTEN))?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Keeps `bytes`. Keeping the same bytes again changes nothing.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError> {
        if bytes.len() as u64 > Self::LIMIT {
            return Err(BlobError::TooLarge { limit: Self::LIMIT });
        }
        let digest = Digest::of(bytes);
        let kept = self.locked()?;
        kept.lock_shared()?;
        if self.get(digest).is_ok() {
            // Young again: its event may not be written yet.
            fs::File::open(self.place(digest))?.into_file().set_modified(now())?;
            return Ok(digest);
        }
        self.write(digest, bytes)?;
        Ok(digest)
    }

    fn write(&self, digest: Digest, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(digest);
        let parent = place.parent().unwrap_or(&self.directory);
        if !parent.is_dir() {
            fs::create_dir_all(parent)?;
            files::sync_directory(&self.directory)?;
        }
        let half_written = self.directory.join(HALF_WRITTEN);
        let mut file = Unfinished::begin_in(&half_written, &place, files::PRIVATE)?;
        file.write_all(bytes)?;
        file.replace(Durability::Synced)
    }

    /// The file whose lock is held, in common, while a blob is kept, and alone, while one is removed.
    fn locked(&self) -> io::Result<std::fs::File> {
        let path = self.directory.join("lock");
        let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        Ok(file.into_file())
    }

    pub fn get(&self, digest: Digest) -> Result<Vec<u8>, BlobError> {
        let path = self.place(digest);
        let mut bytes = Vec::new();
        match fs::File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BlobError::Missing { digest });
            }
            Err(error) => return Err(error.into()),
            Ok(file) => file.take(Self::LIMIT + 1).read_to_end(&mut bytes)?,
        };
        if Digest::of(&bytes) != digest {
            return Err(BlobError::Damaged { digest, path });
        }
        Ok(bytes)
    }

    /// Removes what is older than `grace` and not `spoken_of`, and what a crash left half-written.
    pub(crate) fn collect(
        &self,
        grace: Duration,
        spoken_of: impl Fn(Digest) -> bool,
    ) -> io::Result<Collected> {
        let mut collected = Collected::default();
        for directory in fs::read_dir(&self.directory)? {
            let directory = directory?;
            if !directory.file_type()?.is_dir() {
                continue;
            }
            let half_written = directory.file_name() == HALF_WRITTEN;
            for file in fs::read_dir(directory.path())? {
                let file = file?;
                let name = file.file_name();
                let wanted = match name.to_str().and_then(|name| name.parse().ok()) {
                    Some(digest) => spoken_of(digest),
                    // Not ours, unless it lies where we write.
                    None => !half_written,
                };
                match if wanted { None } else { self.remove_if_old(&file.path(), grace)? } {
                    None => collected.kept += 1,
                    Some(bytes) => {
                        collected.removed += 1;
                        collected.freed_bytes += bytes;
                    }
                }
            }
        }
        Ok(collected)
    }

    /// Removes a file that nobody has kept for `grace`; tells how many bytes that freed.
    fn remove_if_old(&self, path: &Path, grace: Duration) -> io::Result<Option<u64>> {
        let alone = self.locked()?;
        alone.lock()?;
        let about = match fs::symlink_metadata(path) {
            Ok(about) => about,
            // Moved into its place, or removed by another server.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let age = now().duration_since(about.modified()?).unwrap_or_default();
        if age < grace || about.is_dir() {
            return Ok(None);
        }
        fs::remove_file(path)?;
        Ok(Some(about.len()))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn place(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join(name.get(..2).unwrap_or_default()).join(name)
    }
}

#[expect(clippy::disallowed_methods, reason = "compared with file times, which the system sets")]
fn now() -> SystemTime {
    SystemTime::now()
}
