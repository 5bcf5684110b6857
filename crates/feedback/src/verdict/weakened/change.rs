//! What is known of the changed files.

use super::{languages::Language, scan::Test};

/// All of them.
pub(super) struct Files<'a> {
    pub(super) changes: Vec<Change<'a>>,
}

/// Both sides of one file, as far as they could be read.
pub(super) struct Change<'a> {
    pub(super) old: Option<Side<'a>>,
    pub(super) new: Option<Side<'a>>,
}

/// One side of a file.
pub(super) struct Side<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) language: Option<Language>,
    pub(super) tests: Vec<Test>,
}
