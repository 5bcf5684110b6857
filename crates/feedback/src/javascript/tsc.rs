//! What the TypeScript compiler prints, plain and `--pretty`.
//!
//! ```text
//! t.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
//! t.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.
//! ```

use crate::{
    finding::{Finding, Kind, Tool},
    located,
    location::{Location, Workspace},
    output::{Gathered, lines},
    report::Report,
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("error TS") || text.contains("warning TS")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut open: Option<(Finding, Gathered)> = None;
    for line in lines(text) {
        if let Some(finding) = head(line, workspace) {
            finish(&mut open, &mut report);
            open = Some((finding, Gathered::default()));
        } else if line.starts_with("Found ") {
            finish(&mut open, &mut report);
        } else if let Some((_, details)) = &mut open {
            details.line(line);
        }
    }
    finish(&mut open, &mut report);
    report
}

fn finish(open: &mut Option<(Finding, Gathered)>, report: &mut Report) {
    if let Some((finding, details)) = open.take() {
        report.find(finding.details(details.as_str().trim_start_matches('\n')));
    }
}

fn head(line: &str, workspace: &Workspace) -> Option<Finding> {
    let (place, rest) = if let Some((place, rest)) = line.split_once("): ") {
        let (path, numbers) = place.rsplit_once('(')?;
        let (row, column) = numbers.split_once(',')?;
        (workspace.place(path, Some(row.parse().ok()?), column.parse().ok()), rest)
    } else if let Some((place, rest)) = line.split_once(" - ") {
        (located::place(place, workspace), rest)
    } else {
        (Location::Unsaid, line)
    };
    let (word, rest) = rest.split_once(' ')?;
    let kind = match word {
        "error" => Kind::Error,
        "warning" => Kind::Warning,
        _ => return None,
    };
    let (rule, message) = rest.split_once(": ")?;
    let number = rule.strip_prefix("TS")?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (expected, actual) = sides(message);
    Some(
        Finding::new(kind, Tool::Tsc, message)
            .rule(rule)
            .at(place)
            .expected(expected)
            .actual(actual),
    )
}

/// The types in `Type 'string' is not assignable to type 'number'.`
fn sides(message: &str) -> (&str, &str) {
    let Some((actual, expected)) = message.split_once(" is not assignable to ") else {
        return ("", "");
    };
    (quoted(expected), quoted(actual))
}

fn quoted(text: &str) -> &str {
    let inner = text.split_once('\'').and_then(|(_, rest)| rest.rsplit_once('\''));
    inner.map_or("", |(inner, _)| inner)
}
