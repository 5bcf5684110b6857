//! A master key in a file: made at the first start, and turned over without ever being lost.
//!
//! ```text
//!  turning over:  OLD ──begin──▶ NEW OLD ── everything is sealed with NEW ── finish ──▶ NEW
//! ```
//!
//! The file is replaced in one step each time. A crash in between leaves both keys in it, and the next start goes on from there.

use std::{io, path::PathBuf, str::from_utf8};

use zeroize::Zeroizing;

use super::{KeyError, Keys, MasterKey};
use crate::{
    disk,
    randomness::{NoRandomness, Randomness},
};

const LIMIT: usize = 4096;

#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the master key in `{}` cannot be used", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the master key in `{}` cannot be read", path.display())]
    Malformed { path: PathBuf, source: KeyError },
    #[error("there is no master key in `{}`", path.display())]
    Missing { path: PathBuf },
    #[error("no master key can be made")]
    NoRandomness(#[from] NoRandomness),
}

impl KeyFile {
    pub const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn read(&self) -> Result<Keys, KeyFileError> {
        self.find()?.ok_or_else(|| KeyFileError::Missing { path: self.path.clone() })
    }

    /// The keys of the file; `None` if there is no file.
    pub fn find(&self) -> Result<Option<Keys>, KeyFileError> {
        let Some(bytes) =
            disk::read_private(&self.path, LIMIT).map_err(|source| self.io(source))?
        else {
            return Ok(None);
        };
        let malformed = |source| KeyFileError::Malformed { path: self.path.clone(), source };
        let text = from_utf8(&bytes).map_err(|_| malformed(KeyError::Malformed(1)))?;
        text.parse().map(Some).map_err(malformed)
    }

    /// Makes the first key. The caller has made sure that nothing is sealed with one that was lost.
    pub fn make(&self, randomness: &dyn Randomness) -> Result<Keys, KeyFileError> {
        let keys = Keys::only(MasterKey::generate(randomness)?);
        self.write(&keys)?;
        Ok(keys)
    }

    /// Puts a new key before the others. Everything has to be sealed anew, and then [`Self::finish`] called.
    pub fn begin(&self, randomness: &dyn Randomness) -> Result<Keys, KeyFileError> {
        let keys = self.read()?.replaced_by(MasterKey::generate(randomness)?);
        self.write(&keys)?;
        Ok(keys)
    }

    /// Throws away the keys that nothing needs any more.
    pub fn finish(&self) -> Result<Keys, KeyFileError> {
        let keys = self.read()?.without_former();
        self.write(&keys)?;
        Ok(keys)
    }

    fn write(&self, keys: &Keys) -> Result<(), KeyFileError> {
        let mut text = Zeroizing::new(String::with_capacity(LIMIT));
        for key in keys.all() {
            text.push_str(&key.to_hex());
            text.push('\n');
        }
        disk::write_private(&self.path, text.as_bytes()).map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> KeyFileError {
        KeyFileError::Io { path: self.path.clone(), source }
    }
}
