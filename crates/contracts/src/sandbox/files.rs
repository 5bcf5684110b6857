//! Files inside, read and changed from outside with the rights of a user inside.

use super::User;

/// What to do with which path. Paths are absolute, as seen inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAsk {
    Stat {
        path: String,
        user: User,
    },
    List {
        path: String,
        user: User,
    },
    /// The content goes to the output.
    Read {
        path: String,
        user: User,
    },
    /// The input becomes the content; the file is replaced at once when the input ends.
    Write {
        path: String,
        user: User,
        mode: u32,
    },
    /// A tar archive goes to the output: of all that is below a directory, with names relative to it, or of one
    /// file, under its own name.
    TarOut {
        path: String,
        user: User,
    },
    /// The input is a tar archive, unpacked below the path.
    TarIn {
        path: String,
        user: User,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transfer {
    Done,
    Entries(Vec<Entry>),
    /// Told as the sandbox's own system says it.
    Failed {
        path: String,
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
    pub size: u64,
    pub mode: u32,
    pub uid: u32,
    pub modified_seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    Symlink,
    Other,
}
