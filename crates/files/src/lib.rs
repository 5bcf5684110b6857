//! A file that is whole or as it was, whenever the machine stops.
//!
//! ```text
//!  begin        <directory>/.Xa81bQ.unfinished    made for this writing alone, with its mode
//!  write        the bytes go there
//!  sync file    the bytes are on the disk                                      Durability::Synced
//!  rename       the unfinished file takes the name, in one step
//!  sync names   the directory is on the disk, so the name is there after a power cut      Synced
//! ```
//!
//! **Invariant:** whoever reads the path sees all of the old bytes or all of the new ones, and so does whoever reads it after a crash.
//! On a failure the unfinished file is removed. One that a crash left is hidden, ends in `.unfinished`, and is nobody's: [`sweep`] removes it.
//!
//! It stands on `tempfile`, which picks a name that nobody has and puts it in place; this room adds the mode, the two syncs and the sweep
//! ([decision 25](../../../docs/decisions/0025-whole-files.md)). `clippy.toml` bans renaming elsewhere.

mod unfinished;

use std::{
    fmt,
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

pub use unfinished::Unfinished;

/// The mode of a file that only its owner reads and writes.
pub const PRIVATE: u32 = 0o600;

/// What an unfinished file ends in.
const ENDING: &str = "unfinished";

/// What is left after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// What was written is there from when the call returns. For all that somebody relies on later.
    Synced,
    /// The bytes are there before the name is; the name is there when [`sync_directory`] returns. For many files of one directory.
    SyncedFile,
    /// The old file, the new one or an empty one. For what can be made again, or is soon written again; its reader takes an
    /// odd one for none.
    Cache,
}

/// Puts `bytes` at `path`, instead of what was there. The umask may take from `mode`, and nothing adds to it.
pub fn write(path: &Path, bytes: &[u8], mode: u32, durability: Durability) -> io::Result<()> {
    let mut unfinished = Unfinished::begin(path, mode)?;
    unfinished.write_all(bytes).map_err(|error| named("write", path, error))?;
    unfinished.replace(durability)
}

/// The names in `directory` are from now on what they will be after a power cut.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    let synced = File::open(directory).and_then(|opened| opened.sync_all());
    synced.map_err(|error| named("write out", directory, error))
}

/// Makes `directory`, and what is missing above it, for its owner alone. Each new name is on the disk on return.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = parent(directory);
    make_directory(above)?;
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(named("make", directory, error))
        }
        Ok(()) | Err(_) => sync_directory(above),
    }
}

/// Removes what a crash left unfinished in `directory`. Only for whoever alone writes there: what another is writing goes as well.
pub fn sweep(directory: &Path) -> io::Result<()> {
    let at = |error| named("read", directory, error);
    for entry in fs::read_dir(directory).map_err(at)? {
        let path = entry.map_err(at)?.path();
        if is_unfinished(&path) {
            fs::remove_file(&path).map_err(|error| named("remove", &path, error))?;
        }
    }
    Ok(())
}

/// Whether a crash left this, or somebody is writing it now.
pub fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// Where a name stands: a bare one stands here.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// The failure, of the same kind, with what was tried at which path.
fn named(tried: &'static str, path: &Path, source: io::Error) -> io::Error {
    io::Error::new(source.kind(), Failure { tried, path: path.to_owned(), source })
}

#[derive(Debug)]
struct Failure {
    tried: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tried, path, source } = self;
        write!(out, "cannot {tried} `{}`: {source}", path.display())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests;
