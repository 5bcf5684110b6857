//! Commits, as they are read on the host: never checked out, never run.

use std::collections::BTreeMap;

use domain::code::CommitId;

use super::pulls::Diff;

/// Bytes of one file. A larger one is told by its path alone.
pub const LARGEST_FILE: usize = 1 << 20;

/// Bytes of all files of one reading.
pub const LARGEST_READING: usize = 64 << 20;

/// The files of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    pub paths: Vec<String>,
    /// Of those that were wanted, and are not too large.
    pub contents: BTreeMap<String, Vec<u8>>,
}

/// What is different between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The hash of the second commit's tree.
    pub tree: String,
    pub files: Vec<FileChange>,
    pub patch: Diff,
}

/// One file on both sides; none where it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub old: Option<FileVersion>,
    pub new: Option<FileVersion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    pub path: String,
    /// None for one that is too large, or is no file.
    pub bytes: Option<Vec<u8>>,
}

/// A line, and the commit that it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    pub commit: CommitId,
    /// The line as it is now, fit to be shown.
    pub text: String,
    /// The first line of the commit's message, fit to be shown.
    pub subject: String,
}
