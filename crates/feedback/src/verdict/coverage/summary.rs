//! How many of the changed lines are run by tests, and which are not.

use std::{fmt::Write as _, ops::RangeInclusive};

use super::{ChangedLines, Coverage, Hit};
use crate::{location::WorkspacePath, verdict::table::code};

const FILES_SHOWN: usize = 20;
const RANGES_SHOWN: usize = 12;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Changed lines that were run.
    pub covered: usize,
    /// Changed lines that could have been run, and were not.
    pub missed: usize,
    /// Files with changed lines that a report speaks of.
    pub files: Vec<FileSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    pub file: WorkspacePath,
    pub covered: usize,
    pub missed: Vec<RangeInclusive<u32>>,
}

/// Nothing where no report speaks of a changed line: then nothing is known, which is not the same as nothing covered.
pub fn of_changes(coverage: &Coverage, changed: &ChangedLines) -> Option<Summary> {
    let mut summary = Summary::default();
    for (file, lines) in &changed.0 {
        let mut here = FileSummary { file: file.clone(), covered: 0, missed: Vec::new() };
        let mut missed = 0;
        for line in lines {
            match coverage.hit(file, *line) {
                Some(Hit::Run) => here.covered += 1,
                Some(Hit::Missed) => {
                    missed += 1;
                    extend(&mut here.missed, *line);
                }
                None => {}
            }
        }
        if here.covered + missed > 0 {
            summary.covered += here.covered;
            summary.missed += missed;
            summary.files.push(here);
        }
    }
    (!summary.files.is_empty()).then_some(summary)
}

fn extend(ranges: &mut Vec<RangeInclusive<u32>>, line: u32) {
    match ranges.last_mut() {
        Some(last) if last.end().checked_add(1) == Some(line) => *last = *last.start()..=line,
        Some(_) | None => ranges.push(line..=line),
    }
}

impl Summary {
    /// For the body of a pull request.
    pub fn to_markdown(&self) -> String {
        let all = self.covered + self.missed;
        let mut told =
            format!("{} of {all} changed lines that can be run are run by tests.\n", self.covered);
        let missing: Vec<&FileSummary> =
            self.files.iter().filter(|file| !file.missed.is_empty()).collect();
        if !missing.is_empty() {
            told.push_str("\nNot run:\n\n");
        }
        for file in missing.iter().take(FILES_SHOWN) {
            let mut ranges: Vec<String> =
                file.missed.iter().take(RANGES_SHOWN).map(shown).collect();
            let more = file.missed.len().saturating_sub(RANGES_SHOWN);
            if more > 0 {
                ranges.push(format!("and {more} more"));
            }
            let _ = writeln!(told, "- {}: {}", code(file.file.as_str()), ranges.join(", "));
        }
        if missing.len() > FILES_SHOWN {
            let _ = writeln!(told, "- and {} more files", missing.len() - FILES_SHOWN);
        }
        told
    }
}

fn shown(range: &RangeInclusive<u32>) -> String {
    if range.start() == range.end() {
        range.start().to_string()
    } else {
        format!("{}–{}", range.start(), range.end())
    }
}
