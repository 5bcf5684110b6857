//! A file on its way: written beside its place, and put there when it is whole.

use std::{
    fs::{File, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile};

use crate::{Durability, ENDING, named, parent};

/// For content that comes in pieces. Dropped before it is put in its place, it leaves nothing.
#[derive(Debug)]
pub struct Unfinished {
    file: NamedTempFile,
    to: PathBuf,
}

/// What is done about a file that has the name already.
#[derive(Debug, Clone, Copy)]
enum Former {
    Goes,
    Stays,
}

impl Unfinished {
    /// Begins what will be at `to`, in the same directory. The umask may take from `mode`.
    pub fn begin(to: &Path, mode: u32) -> io::Result<Self> {
        if to.file_name().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not the path of a file",
            ));
        }
        Self::begin_in(parent(to), to, mode)
    }

    /// Begins it in another directory of the same file system, where nobody lists what is half written.
    pub fn begin_in(directory: &Path, to: &Path, mode: u32) -> io::Result<Self> {
        let ending = format!(".{ENDING}");
        let mut builder = Builder::new();
        builder.prefix(".").suffix(&ending).permissions(Permissions::from_mode(mode));
        let file = builder.tempfile_in(directory).map_err(|error| named("write", to, error))?;
        Ok(Self { file, to: to.to_owned() })
    }

    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Takes the place of what is there.
    pub fn replace(self, durability: Durability) -> io::Result<()> {
        self.put(Former::Goes, durability, &mut File::sync_all)
    }

    /// Takes the place if nothing is there; otherwise it is `AlreadyExists`, and what is there stays.
    pub fn put_new(self, durability: Durability) -> io::Result<()> {
        self.put(Former::Stays, durability, &mut File::sync_all)
    }

    /// `sync` is how a file or a directory is written out: tests look at when it is asked, and fail it.
    fn put(
        self,
        former: Former,
        durability: Durability,
        sync: &mut dyn FnMut(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { file, to } = self;
        let failed = |error| named("write", &to, error);
        match durability {
            Durability::Synced | Durability::SyncedFile => {
                sync(file.as_file()).map_err(failed)?;
            }
            Durability::Cache => {}
        }
        #[expect(clippy::disallowed_methods, reason = "the one place that all others go through")]
        let put = match former {
            Former::Goes => file.persist(&to),
            Former::Stays => file.persist_noclobber(&to),
        };
        put.map_err(|error| failed(error.error))?;
        match durability {
            Durability::Synced => File::open(parent(&to)).and_then(|it| sync(&it)).map_err(failed),
            Durability::SyncedFile | Durability::Cache => Ok(()),
        }
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[path = "unfinished_tests.rs"]
mod tests;
