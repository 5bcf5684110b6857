//! What a session remembers, as lines of JSON in a file: written as it goes, read after hibernation.
//!
//! A line is written at once, so only the last one can be damaged; it is dropped. The history is every entry ever said; the context is what
//! the model is still told of it, and begins anew with each compaction.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{conversation::Entry, model::Usage};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Session {
        version: u32,
        cwd: PathBuf,
    },
    Entry(Entry),
    /// What the model is told from here on.
    Context(Vec<Entry>),
    Usage(Usage),
}

const VERSION: u32 = 1;
const LARGEST: u64 = 64 << 20;
const LONGEST_ID: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("there is no session `{0}`")]
    Unknown(String),
    #[error("the memory of this session is damaged in line {0}")]
    Damaged(usize),
    #[error("the memory of this session is full; start a new one")]
    Full,
    #[error("the memory of this session cannot be used")]
    Io(#[from] std::io::Error),
}

/// An open file.
#[derive(Debug)]
pub struct Memory {
    file: File,
    length: u64,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Remembered {
    pub history: Vec<Entry>,
    pub context: Vec<Entry>,
    pub usage: Usage,
}

impl Memory {
    pub fn create(home: &Path, id: &str, cwd: &Path) -> Result<Self, MemoryError> {
        let path = path(home, id)?;
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        let mut memory = Self { file, length: 0 };
        memory.append(&Line::Session { version: VERSION, cwd: cwd.to_owned() })?;
        Ok(memory)
    }

    pub fn open(home: &Path, id: &str) -> Result<(Self, Remembered), MemoryError> {
        let path = path(home, id)?;
        let opened = OpenOptions::new().read(true).append(true).open(path);
        let file = opened.map_err(|error| {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            if is_missing { MemoryError::Unknown(id.to_owned()) } else { error.into() }
        })?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(MemoryError::Unknown(id.to_owned()));
        }
        if about.len() > LARGEST {
            return Err(MemoryError::Full);
        }
        let mut bytes = Vec::new();
        (&file).take(LARGEST).read_to_end(&mut bytes)?;
        let (remembered, length) = read(&bytes)?;
        // So that the next line does not become a part of a damaged one.
        file.set_len(length as u64)?;
        Ok((Self { file, length: length as u64 }, remembered))
    }

    pub fn entry(&mut self, entry: &Entry) -> Result<(), MemoryError> {
        self.append(&Line::Entry(entry.clone()))
    }

    pub fn context(&mut self, entries: &[Entry]) -> Result<(), MemoryError> {
        self.append(&Line::Context(entries.to_vec()))
    }

    pub fn usage(&mut self, usage: &Usage) -> Result<(), MemoryError> {
        self.append(&Line::Usage(*usage))
    }

    fn append(&mut self, line: &Line) -> Result<(), MemoryError> {
        let mut text = serde_json::to_string(line).map_err(std::io::Error::from)?;
        text.push('\n');
        if self.length + text.len() as u64 > LARGEST {
            return Err(MemoryError::Full);
        }
        self.file.write_all(text.as_bytes())?;
        self.length += text.len() as u64;
        Ok(())
    }
}

/// What the lines say, and how many bytes of them are good.
fn read(bytes: &[u8]) -> Result<(Remembered, usize), MemoryError> {
    let mut remembered = Remembered::default();
    let mut good = 0;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let is_last = lines.peek().is_none();
        let is_whole = line.last() == Some(&b'\n');
        let parsed = serde_json::from_slice(line).ok().filter(|_| is_whole);
        match (parsed, at) {
            (Some(Line::Session { version: VERSION, .. }), 0) => {}
            (Some(Line::Entry(entry)), 1..) => {
                remembered.context.push(entry.clone());
                remembered.history.push(entry);
            }
            (Some(Line::Context(entries)), 1..) => remembered.context = entries,
            (Some(Line::Usage(usage)), 1..) => remembered.usage.add(&usage),
            (None, 1..) if is_last => break,
            (Some(_) | None, _) => return Err(MemoryError::Damaged(at + 1)),
        }
        good += line.len();
    }
    if good == 0 {
        return Err(MemoryError::Damaged(1));
    }
    Ok((remembered, good))
}

/// Where a session is. An id is a name, never a path.
fn path(home: &Path, id: &str) -> Result<PathBuf, MemoryError> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(is_name) {
        return Err(MemoryError::Unknown(crate::cut::line(id, LONGEST_ID)));
    }
    Ok(home.join("sessions").join(format!("{id}.jsonl")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Entry {
        Entry::User(text.to_owned())
    }

    fn made(home: &Path) -> Memory {
        let mut memory = Memory::create(home, "s1", Path::new("/tree")).unwrap();
        memory.entry(&user("one")).unwrap();
        memory.entry(&user("two")).unwrap();
        memory
    }

    #[test]
    fn what_was_said_is_remembered() {
        let home = tempfile::tempdir().unwrap();
        let mut memory = made(home.path());
        let usage = Usage { input: 5, ..Usage::default() };
        memory.usage(&usage).unwrap();
        memory.usage(&usage).unwrap();
        memory.context(&[user("short")]).unwrap();
        memory.entry(&user("three")).unwrap();
        let (_, remembered) = Memory::open(home.path(), "s1").unwrap();
        assert_eq!(remembered.history, ["one", "two", "three"].map(user));
        assert_eq!(remembered.context, ["short", "three"].map(user));
        assert_eq!(remembered.usage.input, 10);
    }

    #[test]
    fn a_damaged_last_line_is_dropped_and_the_next_one_is_whole() {
        for damage in ["{\"entry\":{\"us", "{\"entry\":{\"us\n", "\u{0}\u{0}\u{0}", "\n"] {
            let home = tempfile::tempdir().unwrap();
            made(home.path()).file.write_all(damage.as_bytes()).unwrap();
            let (mut memory, remembered) = Memory::open(home.path(), "s1").unwrap();
            assert_eq!(remembered.history.len(), 2, "{damage:?}");
            memory.entry(&user("three")).unwrap();
            let (_, remembered) = Memory::open(home.path(), "s1").unwrap();
            assert_eq!(remembered.history, ["one", "two", "three"].map(user));
        }
    }

    #[test]
    fn damage_in_the_middle_is_told() {
        let home = tempfile::tempdir().unwrap();
        let mut memory = made(home.path());
        memory.file.write_all(b"nonsense\n").unwrap();
        memory.entry(&user("three")).unwrap();
        assert!(matches!(Memory::open(home.path(), "s1"), Err(MemoryError::Damaged(4))));
    }

    #[test]
    fn an_id_is_a_name_and_not_a_path() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("x.jsonl"), "").unwrap();
        for id in ["", "../x", "a/b", "missing", ".", "a\0b", &"x".repeat(100)] {
            let opened = Memory::open(home.path(), id);
            assert!(matches!(opened, Err(MemoryError::Unknown(_))), "{id:?}");
        }
    }

    #[test]
    fn a_memory_that_is_full_says_so() {
        let home = tempfile::tempdir().unwrap();
        let mut memory = made(home.path());
        memory.length = LARGEST - 10;
        assert!(matches!(memory.entry(&user("three")), Err(MemoryError::Full)));
    }
}
