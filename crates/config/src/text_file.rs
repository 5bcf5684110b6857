//! Reads a file that a person wrote: text, of a sensible size.

use std::{
    io::{self, Read},
    path::Path,
};

/// Nobody writes a longer one by hand.
const MOST_BYTES: u64 = 1 << 20;

/// Why a file could not be read, in words that follow its name.
#[derive(Debug)]
pub enum Unreadable {
    Missing,
    Directory,
    TooLarge,
    NotText { line: usize },
    Failed(io::Error),
}

pub fn read(path: &Path) -> Result<String, Unreadable> {
    let file = fs_err::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Unreadable::Directory);
    }
    let mut bytes = Vec::new();
    // Not by the size that the file claims: a device or a pipe claims none.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Unreadable::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(good);
        Unreadable::NotText { line: before.filter(|byte| **byte == b'\n').count() + 1 }
    })
}

impl Unreadable {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Missing => "check the name, and the directory that you are in",
            Self::Directory => "name the files in it, as in `lamp config check agents/*.yaml`",
            Self::TooLarge => "check that this is the right file",
            Self::NotText { .. } => "save it as UTF-8, or check that this is the right file",
            Self::Failed(_) => "check its permissions",
        }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Directory => f.write_str("this is a directory"),
            Self::TooLarge => write!(f, "this is larger than {} MiB", MOST_BYTES >> 20),
            Self::NotText { line } => write!(f, "line {line} is not UTF-8 text"),
            Self::Failed(error) => write!(f, "it cannot be read: {}", error.kind()),
        }
    }
}

impl std::error::Error for Unreadable {}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Failed(error) }
    }
}
