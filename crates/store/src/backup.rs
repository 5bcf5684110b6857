//! A copy of everything, made while the server runs, and the way back.
//!
//! The database is copied by SQLite itself (`VACUUM INTO`: one consistent moment, whatever is being
//! written meanwhile), then the blobs. A blob is written before its event and never changes, so every
//! blob that the copied events speak of is there to be copied.
//!
//! **Invariant:** what has the name of a backup, or of a database, is whole. Both are made under another
//! name, flushed, and moved to their place in one step.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use files::{Durability, Unfinished};
use fs_err as fs;

use crate::{
    DataDirectory, OpenError, StoreError, blobs,
    database::{Connection, Database, Value},
};

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("back up a PostgreSQL database with `pg_dump`, and the blobs by copying `{blobs}`")]
    NotSqlite { blobs: PathBuf },
    #[error("`{0}` exists already; choose another place")]
    Occupied(PathBuf),
    #[error("`{0}` is not a backup: it has no `{name}` that is a database", name = DataDirectory::DATABASE)]
    NotABackup(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    DataDirectory(#[from] OpenError),
    #[error("cannot copy")]
    Io(#[from] io::Error),
}

pub(crate) async fn write(database: &Database, blobs: &Path, to: &Path) -> Result<(), BackupError> {
    let Database::Sqlite(sqlite) = database else {
        return Err(BackupError::NotSqlite { blobs: blobs.to_owned() });
    };
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Occupied(to.to_owned()));
    }
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    fs::create_dir_all(parent)?;
    // Removed again if anything fails on the way.
    let begun = tempfile::Builder::new().prefix(".lamp-backup-").tempdir_in(parent)?;
    let copy = begun.path().join(DataDirectory::DATABASE);
    let name = copy.to_str().ok_or(io::ErrorKind::InvalidFilename);
    let name = Value::Owned(name.map_err(io::Error::from)?.to_owned());
    let mut reader = sqlite.readers().acquire().await.map_err(StoreError::from)?;
    Connection::sqlite(&mut reader).execute("VACUUM INTO $1", &[name]).await?;
    drop(reader);
    fs::File::open(&copy)?.sync_all()?;
    copy_blobs(blobs, &begun.path().join(DataDirectory::BLOBS))?;
    files::sync_directory(begun.path())?;
    #[expect(clippy::disallowed_methods, reason = "a whole directory, and its files are synced")]
    fs::rename(begun.path(), to)?;
    drop(begun.keep());
    files::sync_directory(parent)?;
    Ok(())
}

/// Brings a backup back into an empty place. `beside` brings what else belongs there; nobody else uses the place meanwhile.
pub fn restore(
    from: &Path,
    to: &DataDirectory,
    beside: impl FnOnce() -> io::Result<()>,
) -> Result<(), BackupError> {
    if !is_database(&from.join(DataDirectory::DATABASE)) {
        return Err(BackupError::NotABackup(from.to_owned()));
    }
    // A journal that an older database left behind would be played into the new one.
    for ending in ["", "-wal", "-shm", "-journal"] {
        let path = to.directory().join(format!("{}{ending}", DataDirectory::DATABASE));
        if path.symlink_metadata().is_ok() {
            return Err(BackupError::Occupied(path));
        }
    }
    let _alone = to.lock()?;
    copy_blobs(&from.join(DataDirectory::BLOBS), &to.blobs())?;
    beside()?;
    // The database comes last: with it the place is whole.
    copy(&from.join(DataDirectory::DATABASE), &to.database())?;
    files::sync_directory(to.directory())?;
    Ok(())
}

fn is_database(path: &Path) -> bool {
    const BEGINNING: &[u8; 16] = b"SQLite format 3\0";
    let mut beginning = [0; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == *BEGINNING
}

/// Copies the blobs that are whole. One that is collected meanwhile is spoken of by no event.
fn copy_blobs(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    if !from.is_dir() {
        return Ok(());
    }
    for directory in fs::read_dir(from)? {
        let directory = directory?;
        if !directory.file_type()?.is_dir() || directory.file_name() == blobs::HALF_WRITTEN {
            continue;
        }
        let target = to.join(directory.file_name());
        fs::create_dir_all(&target)?;
        for blob in fs::read_dir(directory.path())? {
            let blob = blob?;
            match copy(&blob.path(), &target.join(blob.file_name())) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => copied?,
            }
        }
        files::sync_directory(&target)?;
    }
    files::sync_directory(to)
}

/// Copies one file: all of it, or nothing. What was torn by an earlier attempt is replaced.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = fs::File::open(from)?;
    let mut arriving = Unfinished::begin(to, files::PRIVATE)?;
    io::copy(&mut source, &mut arriving)?;
    arriving.replace(Durability::SyncedFile)
}
