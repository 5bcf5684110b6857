//! What is remembered of each sandbox, as files: who it belongs to, what it stands on, what runs.
//!
//! A record is written after what it names was made, and taken away before that is removed. So after a crash
//! everything without a record is nobody's, and is cleared away ([`crate::provider`] reconciles).
//!
//! An id that was destroyed is not used again: [`Gone`] keeps them, sixteen bytes each, for more than a year.

mod gone;
mod shape;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use contracts::sandbox::{CommandName, Finished, Spec, State};
use domain::{id::SandboxId, time::Timestamp};
use files::Durability;
use fs_err as fs;
use images::handed::Handed;

use crate::stack::Stack;
pub(crate) use gone::Gone;

/// One sandbox.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) spec: Spec,
    pub(crate) state: State,
    pub(crate) created_at: Timestamp,
    /// When something last used it.
    pub(crate) used_at: Timestamp,
    /// Its lifetime, counted over everything it has run, ends here while it is open.
    pub(crate) ends_at: Timestamp,
    pub(crate) disk: String,
    pub(crate) stack: Stack,
    /// What runs now; nothing, when it rests.
    pub(crate) body: Option<BodyRecord>,
    /// The ports of its doors to the road, if it has a network.
    pub(crate) ports: Option<Vec<u16>>,
    /// Commands that ended before it rested.
    pub(crate) answers: BTreeMap<CommandName, Finished>,
    /// Why the last body ended, when nobody asked it to.
    pub(crate) died: Option<String>,
    /// How each repository was handed over that may be changed, by its name.
    pub(crate) handed: BTreeMap<String, Handed>,
}

/// What runs, told so that a server that has just started finds it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct BodyRecord {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) started: u64,
    /// The first id of its range; none, when it shares our own.
    pub(crate) base: Option<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Records {
    directory: PathBuf,
}

impl Records {
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// It is there after a power cut, from the return on.
    pub(crate) fn write(&self, record: &Record) -> io::Result<()> {
        self.put(record, Durability::Synced)
    }

    /// The same for one that is frozen or thawed: a power cut may leave the former record, which differs in nothing that outlives one.
    pub(crate) fn write_state(&self, record: &Record) -> io::Result<()> {
        self.put(record, Durability::SyncedFile)
    }

    fn put(&self, record: &Record, durability: Durability) -> io::Result<()> {
        let text = serde_json::to_vec(&shape::Shape::of(record))?;
        files::write(&self.path(record.spec.id), &text, files::PRIVATE, durability)
    }

    pub(crate) fn remove(&self, id: SandboxId) -> io::Result<()> {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// All of them. What cannot be read is told apart, with its name: it is kept, and not guessed at.
    pub(crate) fn all(&self) -> io::Result<(Vec<Record>, Vec<String>)> {
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                // A record that was being written when the server died: the old one still holds.
                let _ = fs::remove_file(&path);
                continue;
            }
            let text = fs::read(&path)?;
            match serde_json::from_slice::<shape::Shape>(&text).map_err(|error| error.to_string()) {
                Ok(shape) => match shape.record() {
                    Ok(record) => records.push(record),
                    Err(reason) => unreadable.push(format!("{}: {reason}", path.display())),
                },
                Err(reason) => unreadable.push(format!("{}: {reason}", path.display())),
            }
        }
        Ok((records, unreadable))
    }

    fn path(&self, id: SandboxId) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }
}
