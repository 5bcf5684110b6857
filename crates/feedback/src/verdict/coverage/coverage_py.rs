//! coverage.py: JSON with `executed_lines` and `missing_lines` of each file.

use serde_json::Value;

use super::{Coverage, CoverageError, Hit};
use crate::place::Workspace;

pub(super) fn read(text: &str, workspace: &Workspace) -> Result<Coverage, CoverageError> {
    let report: Value = serde_json::from_str(text).map_err(|_| CoverageError::Malformed("JSON"))?;
    let files = report.get("files").and_then(Value::as_object).ok_or(CoverageError::Unknown)?;
    let mut coverage = Coverage::default();
    for (path, file) in files {
        let Some(path) = workspace.file(path) else { continue };
        for (key, hit) in [("executed_lines", Hit::Run), ("missing_lines", Hit::Missed)] {
            let lines = file.get(key).and_then(Value::as_array).ok_or(CoverageError::Unknown)?;
            let numbers =
                lines.iter().filter_map(Value::as_u64).filter_map(|line| u32::try_from(line).ok());
            for line in numbers {
                coverage.add(&path, line, hit)?;
            }
        }
    }
    Ok(coverage)
}
