//! Were the tests made weaker? (FB4)
//!
//! The cheapest way to make a failing test pass is to delete it, to skip it, or to ask less of it. Each of these can be right. None may
//! happen unseen. What is found here is told to the people who review, and fails nothing by itself.
//!
//! Old and new contents of the changed files are compared test by test, by name and over all files, so that a test which only moved, or
//! got a better name, is no alarm. Code is not parsed; strings and comments are blanked, brackets are matched, and the rest is read as
//! words. Where that is not enough to be sure, nothing is said: an alarm that is often wrong is soon ignored.
//!
//! Everything here is hostile, and read once, with limits.

mod behind;
mod change;
mod checks;
mod commands;
mod compare;
mod files;
mod languages;
mod mask;
mod once;
mod recipes;
mod runners;
mod runs;
mod scan;
mod snapshots;
mod thresholds;

use crate::text::{Label, Message};

pub use behind::behind_checks;
pub use checks::lost_checks;
pub use runners::not_sources;
pub use runs::in_runs;

/// More files in one change are not looked at; that they were not is said.
pub const FILES_LIMIT: usize = 5_000;
/// A larger file is not a test that somebody wrote.
pub const FILE_BYTES: usize = 1024 * 1024;
/// All files together, old and new.
pub const ALL_BYTES: usize = 64 * 1024 * 1024;
/// More than anybody reads. The rest is counted.
pub const FOUND_LIMIT: usize = 200;

/// One file on base and on head. `None` where it does not exist; both paths differ when it was renamed.
#[derive(Debug, Clone, Copy)]
pub struct FileChange<'a> {
    pub old: Option<Version<'a>>,
    pub new: Option<Version<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// How a test, or what runs it, was made weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weakening {
    FileDeleted,
    TestDeleted,
    TestSkipped,
    /// Others are skipped, because this one is marked as the only one.
    OthersSkipped,
    /// It may fail now, and counts as passed then.
    ExpectedToFail,
    AssertionsRemoved,
    /// An assertion that cannot fail.
    AlwaysTrue,
    /// As many assertions, but they ask less.
    Loosened,
    /// A command whose failure is not noticed, or that leaves tests out.
    CommandTolerant,
    CheckRemoved,
    CheckChanged,
    /// A file that takes the place of what runs the tests, or that it loads by itself, or code that reaches into it.
    RunnerTouched,
    /// A file that a program runs or loads, and that nobody can read.
    NotSource,
    ThresholdLowered,
    SnapshotRewritten,
    /// A test file, or one that says how tests are run, that could not be read, so nothing is known about it.
    Unread,
    /// Ran on base, and not on head.
    GoneFromRun,
    /// Ran on base, and was skipped on head.
    SkippedInRun,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weakened {
    pub kind: Weakening,
    /// Empty if only a run told of it.
    pub file: Label,
    /// In the new file, or in the old one if there is no new one.
    pub line: Option<u32>,
    pub what: Message,
}

/// All that was found, within limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub weakened: Vec<Weakened>,
    pub left_off: usize,
}

/// What a change does to the tests in its files.
pub fn in_files(changes: &[FileChange<'_>]) -> Found {
    let mut found = Found::default();
    let looked_at = changes.get(..FILES_LIMIT).unwrap_or(changes);
    if looked_at.len() < changes.len() {
        let what = format!(
            "{} more files were changed and not looked at",
            changes.len() - looked_at.len()
        );
        found.add(Weakened::new(Weakening::Unread, "", None, &what));
    }
    let files = files::Files::read(looked_at, &mut found);
    compare::tests(&files, &mut found);
    let before = commands::Before::of(&files);
    for change in &files.changes {
        commands::compare(change, &before, &mut found);
        thresholds::compare(change, &mut found);
        snapshots::compare(change, &mut found);
        recipes::compare(change, &mut found);
        runners::compare(change, &mut found);
    }
    found.weakened.sort();
    found
}

impl Weakening {
    pub const fn word(self) -> &'static str {
        match self {
            Self::FileDeleted => "test file deleted",
            Self::TestDeleted => "test deleted",
            Self::TestSkipped => "test skipped",
            Self::OthersSkipped => "other tests skipped",
            Self::ExpectedToFail => "failure expected",
            Self::AssertionsRemoved => "assertions removed",
            Self::AlwaysTrue => "assertion that cannot fail",
            Self::Loosened => "assertion loosened",
            Self::CommandTolerant => "failures tolerated",
            Self::CheckRemoved => "check removed",
            Self::CheckChanged => "check changed",
            Self::RunnerTouched => "test runner touched",
            Self::NotSource => "may run what is no source",
            Self::ThresholdLowered => "threshold lowered",
            Self::SnapshotRewritten => "snapshot rewritten",
            Self::Unread => "not looked at",
            Self::GoneFromRun => "test no longer run",
            Self::SkippedInRun => "test skipped in the run",
        }
    }
}

impl Weakened {
    fn new(kind: Weakening, file: &str, line: Option<usize>, what: &str) -> Self {
        let line = line.and_then(|line| u32::try_from(line).ok());
        Self { kind, file: Label::new(file), line, what: Message::new(what) }
    }
}

impl std::fmt::Display for Weakened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let joint = if self.file.is_empty() { "" } else { ": " };
        write!(f, "{joint}{}: {}", self.kind.word(), self.what)
    }
}

impl Found {
    fn add(&mut self, weakened: Weakened) {
        if self.weakened.len() < FOUND_LIMIT {
            self.weakened.push(weakened);
        } else {
            self.left_off += 1;
        }
    }
}

#[cfg(test)]
mod tests;
