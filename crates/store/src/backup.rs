//! A copy of everything, made while the server runs, and the way back.
//!
//! The database is copied by SQLite itself (`VACUUM INTO`: one consistent moment, whatever is being
//! written meanwhile), then the blobs. A blob is written before its event and never changes, so every
//! blob that the copied events speak of is there to be copied.

use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::{
    Place, StoreError,
    database::{Connection, Database, Value},
};

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("back up a PostgreSQL database with `pg_dump`, and the blobs by copying `{blobs}`")]
    NotSqlite { blobs: PathBuf },
    #[error("`{0}` exists already; choose another place")]
    Occupied(PathBuf),
    #[error("`{0}` is not a backup: it has no `{name}`", name = Place::DATABASE)]
    NotABackup(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot copy")]
    Io(#[from] std::io::Error),
}

pub(crate) async fn write(database: &Database, blobs: &Path, to: &Path) -> Result<(), BackupError> {
    let Database::Sqlite(sqlite) = database else {
        return Err(BackupError::NotSqlite { blobs: blobs.to_owned() });
    };
    if to.exists() {
        return Err(BackupError::Occupied(to.to_owned()));
    }
    fs::create_dir_all(to)?;
    let copy = to.join(Place::DATABASE);
    let mut reader = sqlite.readers().acquire().await.map_err(StoreError::from)?;
    let name = Value::Owned(copy.to_string_lossy().into_owned());
    Connection::Sqlite(&mut reader).execute("VACUUM INTO $1", &[name]).await?;
    fs::File::open(&copy)?.sync_all()?;
    copy_tree(blobs, &to.join(Place::BLOBS))?;
    Ok(())
}

/// Brings a backup back into an empty place.
pub fn restore(from: &Path, to: &Place) -> Result<(), BackupError> {
    if !from.join(Place::DATABASE).is_file() {
        return Err(BackupError::NotABackup(from.to_owned()));
    }
    if to.database().exists() {
        return Err(BackupError::Occupied(to.database()));
    }
    fs::create_dir_all(to.directory())?;
    copy_tree(&from.join(Place::BLOBS), &to.blobs())?;
    // The database comes last: with it the place is whole.
    let arriving = to.directory().join("arriving.db");
    fs::copy(from.join(Place::DATABASE), &arriving)?;
    fs::File::open(&arriving)?.sync_all()?;
    fs::rename(&arriving, to.database())?;
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    if !from.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if !target.exists() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
