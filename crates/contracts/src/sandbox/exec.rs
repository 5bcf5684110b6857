//! A command inside, and how it ended.

use std::{collections::BTreeMap, fmt, time::Duration};

use domain::cost::Cost;
use tokio::sync::mpsc;

use crate::Key;

/// What a command is called within its sandbox, by whoever asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandName(String);

impl CommandName {
    /// Names longer than this are cut.
    pub const LONGEST: usize = 128;

    pub fn new(name: impl Into<String>) -> Self {
        let mut name = name.into();
        let end = (0..=name.len().min(Self::LONGEST)).rev().find(|at| name.is_char_boundary(*at));
        name.truncate(end.unwrap_or_default());
        Self(name)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Key> for CommandName {
    fn from(key: Key) -> Self {
        Self::new(key.to_string())
    }
}

impl fmt::Display for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    pub argv: Vec<String>,
    /// On top of what the image says, and of `PATH`, `HOME`, `USER` and `LANG`.
    pub environment: BTreeMap<String, String>,
    /// Directories in which programs are looked for before those of `PATH`, whoever says what that is.
    pub path: Vec<String>,
    pub directory: String,
    pub user: User,
    /// A terminal of this size instead of three pipes.
    pub terminal: Option<TerminalSize>,
    /// Ended with everything that it started when this has passed.
    pub limit: Duration,
    /// Whether what it leaves running is killed when it ends. Otherwise that lives on, as in any shell.
    pub sweeps: bool,
    /// Bytes of output that are passed on; the rest is dropped and [`Finished::cut`] says so.
    pub output_limit: u64,
}

/// Who runs it, inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The ordinary user that agents are, without any privilege.
    Agent,
    /// Root over the sandbox's own files, and over nothing else.
    Root,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

/// The ends of a command's pipes. Whoever does not read slows the command down; nothing piles up.
/// Dropping the sender of `input` closes the command's input.
#[derive(Debug)]
pub struct Streams {
    pub input: mpsc::Receiver<Input>,
    pub output: mpsc::Sender<Output>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Bytes(Vec<u8>),
    Signal(i32),
    Resize(TerminalSize),
    /// No more bytes; signals may still come.
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Out(Vec<u8>),
    Error(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub ending: Ended,
    pub cut: Cut,
    pub cost: Cost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Killed { signal: i32 },
    TimedOut,
    OutOfMemory { peak_mib: u32 },
}

/// Whether output was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Whole,
    Cut,
}
