//! What mypy prints, as text and as JSON in lines.

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::{number, text},
    located::Located,
    location::Workspace,
    output::{Gathered, lines},
    report::Report,
};

const EXTENSIONS: &[&str] = &["py", "pyi"];

pub(crate) fn speaks(text: &str) -> bool {
    let located =
        text.contains(": error: ") || text.contains(": note: ") || text.contains(": warning: ");
    located && (text.contains(".py:") || text.contains(".pyi:"))
        || text.contains("Success: no issues found in ")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut open: Option<(Finding, String, Gathered)> = None;
    for line in lines(text) {
        let located = Located::new(line).filter(|located| located.has_extension(EXTENSIONS));
        if let Some((located, (kind, message))) =
            located.and_then(|located| Some((located, head(located.rest)?)))
        {
            finish(&mut open, &mut report);
            let finding = Finding::new(kind, Tool::Mypy, "").at(located.place(workspace));
            open = Some((finding, message.to_owned(), Gathered::default()));
        } else if line.starts_with("Success: no issues found in ") {
            report.heard(Tool::Mypy);
        } else if line.starts_with("Found ") || line.is_empty() || located_note(line) {
            finish(&mut open, &mut report);
        } else if let Some((_, message, details)) = &mut open {
            // `--pretty` breaks long messages, and shows the code below them, indented.
            if line.starts_with(' ') {
                details.line(line);
            } else if rule(message).1.is_empty() && message.len() < crate::text::MESSAGE_BYTES {
                message.push(' ');
                message.push_str(line.trim());
            } else {
                finish(&mut open, &mut report);
            }
        }
    }
    finish(&mut open, &mut report);
    report
}

fn finish(open: &mut Option<(Finding, String, Gathered)>, report: &mut Report) {
    let Some((finding, message, details)) = open.take() else { return };
    let (message, rule) = rule(&message);
    let (expected, actual) = sides(message);
    report.find(
        Finding { message: message.into(), ..finding }
            .rule(rule)
            .expected(expected)
            .actual(actual)
            .details(details.as_str()),
    );
}

pub(crate) fn speaks_json(value: &Value) -> bool {
    ["file", "severity", "message"].iter().all(|key| value.get(key).is_some_and(Value::is_string))
        && value.get("line").is_some()
}

/// A line of `mypy --output json`. Its columns count from 0.
pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    let kind = match text(value, "severity") {
        "error" => Kind::Error,
        "warning" => Kind::Warning,
        _ => Kind::Note,
    };
    let column = number(value, "column").map(|column| column.saturating_add(1));
    let message = text(value, "message");
    let (expected, actual) = sides(message);
    let finding = Finding::new(kind, Tool::Mypy, message)
        .rule(text(value, "code"))
        .at(workspace.place(text(value, "file"), number(value, "line"), column))
        .expected(expected)
        .actual(actual)
        .details(text(value, "hint"));
    report.find(finding);
}

fn head(rest: &str) -> Option<(Kind, &str)> {
    let (word, message) = rest.split_once(": ")?;
    let kind = match word {
        "error" => Kind::Error,
        "warning" => Kind::Warning,
        "note" => Kind::Note,
        _ => return None,
    };
    Some((kind, message))
}

/// `calc.py: note: In function "label":` says where the next one is.
fn located_note(line: &str) -> bool {
    line.split_once(": note: ").is_some_and(|(path, _)| !path.contains(' '))
}

/// The message and the rule of `Incompatible types  [assignment]`.
fn rule(message: &str) -> (&str, &str) {
    let bare = message.trim_end();
    let split = bare.strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
    match split.filter(|(_, rule)| {
        rule.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte.is_ascii_digit())
    }) {
        Some((message, rule)) => (message.trim_end(), rule),
        None => (bare, ""),
    }
}

/// What was expected and what was there, where mypy says both.
fn sides(message: &str) -> (&str, &str) {
    let between = |open: &str, close: &str| {
        let (_, rest) = message.split_once(open)?;
        rest.split_once(close)
    };
    if let Some((actual, rest)) = between("(got \"", "\", expected \"") {
        return (rest.split_once("\")").map_or("", |(expected, _)| expected), actual);
    }
    if let Some((actual, rest)) = between("(expression has type \"", "\", variable has type \"") {
        return (rest.split_once("\")").map_or("", |(expected, _)| expected), actual);
    }
    between("has incompatible type \"", "\"; expected \"")
        .map_or(("", ""), |(actual, rest)| (rest.trim_end_matches('"'), actual))
}
