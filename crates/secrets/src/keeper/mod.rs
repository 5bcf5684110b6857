//! Secrets by name, with what each may be used for.
//!
//! ```text
//!  <data>/secrets/values/GITHUB     what it is for, and the sealed value
//!  <data>/secrets/grants/t_01…      which sandboxes of a task may use secrets
//!  <data>/secrets/inside/s_01…      what stands for secrets inside a sandbox
//! ```
//!
//! **Invariants:** a value goes in and does not come out, but for one use of a sandbox that was granted, or of the server itself. What was withdrawn
//! is withdrawn at once, and stays so after a restart. A crash leaves the old value or the new one.

mod expose;
mod grants;
mod placeholders;
mod record;
mod turning;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use contracts::secret::{Broken, Description, Entry, ExposeError, OldKey, Turned};
use contracts::{
    Key,
    secret::{SecretError, SecretName, SecretSource, SecretValue},
};
use domain::{
    id::{SandboxId, TaskId},
    time::Timestamp,
};

pub use self::{
    expose::{Exposed, Use, Witness},
    record::RecordError,
    turning::{Master, Reseal, TurnError},
};
use self::{
    grants::Grants,
    placeholders::Placeholders,
    record::{Record, Records},
};
use crate::{
    binding::{Binding, BindingError},
    disk,
    placeholder::Placeholder,
    redact::{Redactions, SHORTEST},
    seal::{KeyFileError, SealError, Sealer},
};

/// The most bytes of a value.
pub const LONGEST: usize = 64 * 1024;
const NOTE_LIMIT: usize = 1000;

/// Keeps secrets. A copy is the same keeper.
#[derive(Clone)]
pub struct Keeper {
    inner: Arc<Inner>,
}

struct Inner {
    directory: PathBuf,
    master: Master,
    sealer: Arc<Sealer>,
    state: Mutex<State>,
}

struct State {
    records: Records,
    broken: Vec<Broken>,
    grants: Grants,
    placeholders: Placeholders,
    redactions: Option<Arc<Redactions>>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("the secrets in `{}` cannot be kept", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error(
        "there is no master key in `{}`, but `{}` has secrets that one sealed; \
         put the key back, or move the secrets away and set them again", key.display(), values.display()
    )]
    KeyIsLost { key: PathBuf, values: PathBuf },
}

/// What setting a secret came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    Made,
    Replaced,
}

#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error(transparent)]
    Binding(#[from] BindingError),
    #[error(
        "the value has {0} bytes; with fewer than {SHORTEST} it could not be told from other text, and would not be removed from logs"
    )]
    TooShort(usize),
    #[error("the value has {0} bytes; the limit is {LONGEST}")]
    TooLong(usize),
    #[error("the value holds a byte of zero")]
    Zero,
    #[error(
        "the value cannot stand in a request: it has a line break, a letter beyond ASCII, or a space at an end; \
         bind it to no host, and give it to programs with `--expose env`"
    )]
    NotForRequests,
    #[error("the value holds a placeholder of Lamplighter, not the secret that it stands for")]
    Placeholder,
    #[error("the note is longer than {NOTE_LIMIT} letters, or has a line break")]
    Note,
    #[error("the value cannot be sealed")]
    Seal(#[from] SealError),
    #[error("the value cannot be kept")]
    Io(#[from] io::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("there is no secret `{0}`")]
    Unknown(SecretName),
    #[error("the secret cannot be deleted")]
    Io(#[from] io::Error),
}

impl Keeper {
    /// Sets a secret, or replaces it. Who uses it next gets the new value.
    pub fn set(&self, entry: Entry, now: Timestamp) -> Result<Set, SetError> {
        entry.binding.check()?;
        check_value(entry.value.expose(), &entry.binding)?;
        if entry.note.chars().count() > NOTE_LIMIT || entry.note.contains(char::is_control) {
            return Err(SetError::Note);
        }
        let mut state = self.state();
        let earlier = state.records.get(&entry.name).map(|record| &record.description);
        let (set, version, created) = match earlier {
            None => (Set::Made, 1, now),
            Some(earlier) => (Set::Replaced, earlier.version.saturating_add(1), earlier.created),
        };
        let Entry { name, value, binding, note } = entry;
        let description =
            Description { name: name.clone(), binding, note, version, created, updated: now };
        let record = Record::seal(description, value.expose(), &self.inner.sealer)?;
        disk::write_private(&self.place(&name), &record.to_bytes())?;
        state.broken.retain(|broken| broken.name != name);
        state.records.insert(name, record);
        state.redactions = None;
        Ok(set)
    }

    pub fn delete(&self, name: &SecretName) -> Result<(), DeleteError> {
        let mut state = self.state();
        let is_broken = state.broken.iter().any(|broken| broken.name == *name);
        if !state.records.contains_key(name) && !is_broken {
            return Err(DeleteError::Unknown(name.clone()));
        }
        disk::remove(&self.place(name))?;
        files::sync_directory(&self.values())?;
        state.records.remove(name);
        state.broken.retain(|broken| broken.name != *name);
        state.redactions = None;
        Ok(())
    }

    /// All that can be used, by name.
    pub fn list(&self) -> Vec<Description> {
        self.state().records.values().map(|record| record.description.clone()).collect()
    }

    pub fn describe(&self, name: &SecretName) -> Option<Description> {
        self.state().records.get(name).map(|record| record.description.clone())
    }

    /// Those that are there and cannot be used.
    pub fn broken(&self) -> Vec<Broken> {
        self.state().broken.clone()
    }

    /// What removes all values that are kept now.
    pub fn redactions(&self) -> Result<Arc<Redactions>, SecretError> {
        let mut state = self.state();
        if let Some(redactions) = &state.redactions {
            return Ok(Arc::clone(redactions));
        }
        let values = state.records.values().map(|record| record.open(&self.inner.sealer));
        let values: Vec<SecretValue> =
            values.collect::<Result<_, _>>().map_err(|error| busy(&error))?;
        let redactions = Redactions::new(values.iter().map(SecretValue::expose));
        let redactions = Arc::new(redactions.map_err(|error| busy(&error))?);
        state.redactions = Some(Arc::clone(&redactions));
        Ok(redactions)
    }

    /// A value that the server itself uses, as the key of a model provider. No sandbox gets it, and no grant is asked for.
    pub fn for_the_server(&self, name: &SecretName) -> Result<SecretValue, SecretError> {
        self.opened(&self.state(), name)
    }

    pub fn sealer(&self) -> &Arc<Sealer> {
        &self.inner.sealer
    }

    fn hand_out(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        let mut state = self.state();
        if !state.grants.has(task, sandbox)? {
            return Err(SecretError::Revoked);
        }
        self.opened(&state, name)
    }

    fn opened(&self, state: &State, name: &SecretName) -> Result<SecretValue, SecretError> {
        if let Some(broken) = state.broken.iter().find(|broken| broken.name == *name) {
            return Err(SecretError::Busy { reason: format!("`{name}` {}", broken.reason) });
        }
        let record = state.records.get(name).ok_or_else(|| SecretError::Unknown(name.clone()))?;
        record.open(&self.inner.sealer).map_err(|error| busy(&error))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn values(&self) -> PathBuf {
        values(&self.inner.directory)
    }

    fn place(&self, name: &SecretName) -> PathBuf {
        self.values().join(name.to_string())
    }
}

impl SecretSource for Keeper {
    async fn grant(&self, key: Key, sandbox: SandboxId) -> Result<(), SecretError> {
        self.aside(move |keeper| keeper.state().grants.grant(key.task, key.seq, sandbox)).await
    }

    async fn value(
        &self,
        name: &SecretName,
        task: TaskId,
        sandbox: SandboxId,
    ) -> Result<SecretValue, SecretError> {
        let name = name.clone();
        self.aside(move |keeper| keeper.hand_out(&name, task, sandbox)).await
    }

    async fn revoke(&self, key: Key) -> Result<(), SecretError> {
        self.aside(move |keeper| keeper.state().grants.revoke(key.task, key.seq)).await
    }
}

impl Keeper {
    /// Does what may wait for the disk where nobody else waits for it.
    async fn aside<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Self) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        let keeper = self.clone();
        let done = tokio::task::spawn_blocking(move || what(&keeper)).await;
        done.unwrap_or_else(|error| Err(busy(&error)))
    }
}

fn busy(error: &dyn std::error::Error) -> SecretError {
    SecretError::Busy { reason: error.to_string() }
}

fn values(directory: &Path) -> PathBuf {
    directory.join("values")
}

fn check_value(value: &str, binding: &Binding) -> Result<(), SetError> {
    if value.len() < SHORTEST {
        return Err(SetError::TooShort(value.len()));
    }
    if value.len() > LONGEST {
        return Err(SetError::TooLong(value.len()));
    }
    if value.contains('\0') {
        return Err(SetError::Zero);
    }
    if !Placeholder::find_all(value).is_empty() {
        return Err(SetError::Placeholder);
    }
    let is_plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && value.trim() == value;
    if !binding.hosts.is_empty() && !is_plain {
        return Err(SetError::NotForRequests);
    }
    Ok(())
}

/// Reads all secrets in `directory`; what cannot be read is set apart, with the reason.
fn read(directory: &Path, sealer: &Sealer) -> io::Result<(Records, Vec<Broken>)> {
    let (mut records, mut broken) = (Records::new(), Vec::new());
    files::sweep(directory)?;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let Some(text) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Ok(name) = text.parse::<SecretName>() else { continue };
        match read_one(&name, &path, sealer) {
            Ok(record) => drop(records.insert(name, record)),
            Err(reason) => broken.push(Broken { name, reason }),
        }
    }
    broken.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((records, broken))
}

fn read_one(name: &SecretName, path: &Path, sealer: &Sealer) -> Result<Record, String> {
    let bytes = disk::read_private(path, record::LIMIT).map_err(|error| error.to_string())?;
    let record =
        Record::parse(name, &bytes.unwrap_or_default()).map_err(|error| error.to_string())?;
    record.open(sealer).map_err(|error| error.to_string())?;
    Ok(record)
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("directory", &self.inner.directory).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
