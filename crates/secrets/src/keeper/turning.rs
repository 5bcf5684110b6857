//! The master key: where it comes from, and how it is turned over.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use contracts::secret::{OldKey, Turned};

use super::{Grants, Inner, Keeper, KeeperError, Placeholders, State, read, values};
use crate::{
    disk,
    randomness::Randomness,
    seal::{KeyFile, KeyFileError, Keys, SealError, Sealer},
};

/// Where the master key comes from.
#[derive(Debug, Clone)]
pub enum Master {
    /// A file of ours, made at the first start.
    File(PathBuf),
    /// The operator gave it, by a variable or a command, and turns it over by giving two: the new one first.
    Given(Keys),
}

/// Somebody else who keeps things that the same master key sealed.
pub trait Reseal: Send + Sync {
    /// Seals everything anew, by [`Sealer::rewrap`]. Why something still needs the old key is told in half a sentence, and it is kept.
    fn reseal(&self, sealer: &Sealer) -> Result<(), String>;
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(
        "the master key is given by the operator, so the operator turns it over: start the server with the new key and, \
         after it, the old one; then leave the old one out"
    )]
    Given,
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error("the secret `{name}` keeps the old key")]
    Seal { name: String, source: SealError },
    #[error("the secret `{name}` keeps the old key")]
    Io { name: String, source: io::Error },
    #[error(
        "the last turning over is not finished, because {reason}; restart the server to finish it"
    )]
    Unfinished { reason: String },
    #[error(
        "these secrets cannot be read, and may need the old key, so it is kept: {0}; set or delete them first"
    )]
    Broken(String),
}

impl Keeper {
    /// Reads what is kept in `directory`, and makes the master key if nothing was ever sealed.
    ///
    /// When a master key was being turned over, [`Keeper::finish_turning`] has to be called.
    pub fn open(
        directory: PathBuf,
        master: Master,
        randomness: impl Randomness,
    ) -> Result<Self, KeeperError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            |source| KeeperError::Io { path, source }
        };
        disk::own_directory(&directory).map_err(io(&directory))?;
        let values = values(&directory);
        disk::own_directory(&values).map_err(io(&values))?;
        let keys = match &master {
            Master::Given(keys) => keys.clone(),
            Master::File(path) => of_file(path, &values, &randomness)?,
        };
        let sealer = Arc::new(Sealer::new(keys, randomness));
        let (records, broken) = read(&values, &sealer).map_err(io(&values))?;
        let grants = directory.join("grants");
        let grants = Grants::open(grants.clone()).map_err(io(&grants))?;
        let inside = directory.join("inside");
        let placeholders = Placeholders::open(inside.clone()).map_err(io(&inside))?;
        let state = Mutex::new(State { records, broken, grants, placeholders, redactions: None });
        Ok(Self { inner: Arc::new(Inner { directory, master, sealer, state }) })
    }

    /// Makes a new master key, seals everything with it, and throws the old one away.
    pub fn turn_over(&self, others: &[&dyn Reseal]) -> Result<Turned, TurnError> {
        let Master::File(path) = &self.inner.master else { return Err(TurnError::Given) };
        let file = KeyFile::at(path.clone());
        // One that was left unfinished is finished first, so that keys do not pile up.
        if file.read()?.has_former()
            && let OldKey::Kept { reason } = self.finish_turning(others)?.old_key
        {
            return Err(TurnError::Unfinished { reason });
        }
        let keys = file.begin(self.inner.sealer.randomness())?;
        self.inner.sealer.use_keys(keys);
        self.finish_turning(others)
    }

    /// Seals with the current key what an older one sealed. Does nothing when there is only one.
    pub fn finish_turning(&self, others: &[&dyn Reseal]) -> Result<Turned, TurnError> {
        let mut state = self.state();
        let broken: Vec<String> =
            state.broken.iter().map(|broken| format!("`{}`", broken.name)).collect();
        if !broken.is_empty() {
            return Err(TurnError::Broken(broken.join(", ")));
        }
        for (name, record) in &mut state.records {
            let anew = record.rewrap(&self.inner.sealer);
            let anew = anew.map_err(|source| TurnError::Seal { name: name.to_string(), source })?;
            if let Some(anew) = anew {
                let written = disk::write_private(&self.place(name), &anew.to_bytes());
                written.map_err(|source| TurnError::Io { name: name.to_string(), source })?;
                *record = anew;
            }
        }
        let secrets = state.records.len();
        let resealed = others.iter().try_for_each(|other| other.reseal(&self.inner.sealer));
        if let Err(reason) = resealed {
            return Ok(Turned { secrets, old_key: OldKey::Kept { reason } });
        }
        if let Master::File(path) = &self.inner.master {
            self.inner.sealer.use_keys(KeyFile::at(path.clone()).finish()?);
        }
        Ok(Turned { secrets, old_key: OldKey::Gone })
    }
}

fn of_file(path: &Path, values: &Path, randomness: &dyn Randomness) -> Result<Keys, KeeperError> {
    let file = KeyFile::at(path.to_owned());
    if let Some(keys) = file.find()? {
        return Ok(keys);
    }
    let is_empty = fs::read_dir(values).map(|mut entries| entries.next().is_none());
    match is_empty {
        Ok(true) => Ok(file.make(randomness)?),
        Ok(false) => {
            Err(KeeperError::KeyIsLost { key: path.to_owned(), values: values.to_owned() })
        }
        Err(source) => Err(KeeperError::Io { path: values.to_owned(), source }),
    }
}
