//! coverage.py: JSON with `executed_lines` and `missing_lines` of each file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Coverage, CoverageError, Hit};
use crate::location::Workspace;

/// What is asked of a report. Read as these types, a number takes four bytes instead of the many of any value.
#[derive(Deserialize)]
struct Report {
    files: BTreeMap<String, File>,
}

#[derive(Deserialize)]
struct File {
    executed_lines: Vec<u32>,
    missing_lines: Vec<u32>,
}

pub(super) fn read(text: &str, workspace: &Workspace) -> Result<Coverage, CoverageError> {
    let report: Report = serde_json::from_str(text).map_err(|error| {
        // JSON of somebody else is no report; JSON that breaks off is a broken one.
        if error.is_data() { CoverageError::Unknown } else { CoverageError::Malformed("JSON") }
    })?;
    let mut coverage = Coverage::default();
    for (path, file) in report.files {
        let Some(path) = workspace.file(&path) else { continue };
        let run = file.executed_lines.into_iter().map(|line| (line, Hit::Run));
        let missed = file.missing_lines.into_iter().map(|line| (line, Hit::Missed));
        for (line, hit) in run.chain(missed) {
            coverage.add(&path, line, hit)?;
        }
    }
    Ok(coverage)
}
