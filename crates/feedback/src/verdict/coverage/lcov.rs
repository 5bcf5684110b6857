//! lcov: `SF:` names a file, `DA:line,count` a line of it.

use super::{Coverage, CoverageError, Hit};
use crate::location::Workspace;

pub(super) fn read(text: &str, workspace: &Workspace) -> Result<Coverage, CoverageError> {
    let mut coverage = Coverage::default();
    let mut file = None;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = workspace.file(path);
        } else if line.trim_end() == "end_of_record" {
            file = None;
        } else if let (Some(file), Some(record)) = (&file, line.strip_prefix("DA:")) {
            let wrong = || CoverageError::Malformed("lcov");
            let mut numbers = record.trim_end().split(',');
            let number = numbers.next().and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
            // Some tools count below zero or in floating point when a counter overflows; that the line was run is then no news.
            let count = numbers.next().ok_or_else(wrong)?;
            let hit = if count.chars().all(|c| c == '0') { Hit::Missed } else { Hit::Run };
            coverage.add(file, number, hit)?;
        }
    }
    Ok(coverage)
}
