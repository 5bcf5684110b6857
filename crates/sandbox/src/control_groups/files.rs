//! The kernel's small files: one value, a list of words, or lines of `key value`.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use super::GroupError;

/// One write, of a file that must exist: the kernel takes a value in one piece, and never makes a file.
pub(super) fn put(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

pub(super) fn write(path: &Path, value: &str) -> Result<(), GroupError> {
    put(path, value).map_err(|source| file(path, source))
}

pub(super) fn file(path: &Path, source: io::Error) -> GroupError {
    GroupError::File { path: path.to_owned(), source }
}

/// The file's content, or nothing.
pub(super) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The number that is the whole file; zero if it is missing or says `max`.
pub(super) fn number(path: &Path) -> u64 {
    text(path).trim().parse().unwrap_or_default()
}

/// The number after `key` in lines of `key value`.
pub(super) fn keyed(text: &str, key: &str) -> u64 {
    let value = |line: &str| {
        let (name, value) = line.split_once([' ', ':'])?;
        (name == key).then(|| value.trim().parse().ok()).flatten()
    };
    text.lines().find_map(value).unwrap_or_default()
}

/// The names of the directories in a directory.
pub(super) fn children(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries
        .filter_map(Result::ok)
        .filter(is_directory)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}
