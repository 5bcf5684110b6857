//! Are the lines that a change wrote run by a test? (FB5)
//!
//! Where the tools of a repository measure coverage, their reports are read: lcov, Cobertura, coverage.py and Go. Only the changed lines
//! are asked for: how much of the rest is covered was not this change's work. A line that no report speaks of (a comment, a type) counts
//! neither way.
//!
//! Reports are written by the code that they are about, so they are hostile, and read within limits. What they say is told to people, and
//! passes nothing by itself.

mod cobertura;
mod coverage_py;
mod diff;
mod go_profile;
mod lcov;
mod summary;

use std::collections::BTreeMap;

use crate::location::{Workspace, WorkspacePath};

pub use diff::{ChangedLines, DIFF_BYTES};
pub use summary::{FileSummary, Summary, of_changes};

/// A larger report is not read.
pub const REPORT_BYTES: usize = 32 * 1024 * 1024;
/// Lines that are kept of one report.
pub const LINES_LIMIT: usize = 2_000_000;

/// Which lines were run, by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    files: BTreeMap<WorkspacePath, BTreeMap<u32, Hit>>,
    lines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hit {
    Missed,
    Run,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoverageError {
    #[error("the report has {0} bytes; {REPORT_BYTES} is the limit")]
    Large(usize),
    #[error("the report speaks of more than {LINES_LIMIT} lines")]
    Long,
    #[error("this is no coverage report that can be read")]
    Unknown,
    #[error("the report is not well-formed {0}")]
    Malformed(&'static str),
}

/// Reads a report of any of the kinds that are known, by what it begins with.
pub fn read(bytes: &[u8], workspace: &Workspace) -> Result<Coverage, CoverageError> {
    if bytes.len() > REPORT_BYTES {
        return Err(CoverageError::Large(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| CoverageError::Malformed("text"))?;
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    if begin.starts_with("mode:") {
        go_profile::read(begin, workspace)
    } else if begin.starts_with('{') {
        coverage_py::read(begin, workspace)
    } else if begin.starts_with('<') {
        cobertura::read(begin, workspace)
    } else if begin.starts_with("TN:") || begin.starts_with("SF:") {
        lcov::read(begin, workspace)
    } else {
        Err(CoverageError::Unknown)
    }
}

impl Coverage {
    /// Adds what one part of a report says about a line. Of two words about one line the better counts: it was run by somebody.
    fn add(&mut self, file: &WorkspacePath, line: u32, hit: Hit) -> Result<(), CoverageError> {
        if line == 0 {
            return Ok(());
        }
        if self.lines >= LINES_LIMIT {
            return Err(CoverageError::Long);
        }
        if !self.files.contains_key(file) {
            self.files.insert(file.clone(), BTreeMap::new());
        }
        let Some(lines) = self.files.get_mut(file) else { return Ok(()) };
        let known = lines.entry(line).or_insert_with(|| {
            self.lines += 1;
            hit
        });
        *known = hit.max(*known);
        Ok(())
    }

    /// Adds another report, such as that of another program of the same tests.
    pub fn join(&mut self, other: Self) -> Result<(), CoverageError> {
        for (file, lines) in other.files {
            for (line, hit) in lines {
                self.add(&file, line, hit)?;
            }
        }
        Ok(())
    }

    pub fn files(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.files.keys()
    }

    pub fn hit(&self, file: &WorkspacePath, line: u32) -> Option<Hit> {
        self.files.get(file)?.get(&line).copied()
    }
}

impl Hit {
    const fn of_count(count: u64) -> Self {
        if count == 0 { Self::Missed } else { Self::Run }
    }
}

#[cfg(test)]
mod tests;
