//! What ruff prints: `full`, `concise` and `grouped` as text, and JSON as a document or in lines. Its SARIF and its XML are read as everybody's.

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::{deep, number, text},
    located::{self, Located},
    location::Workspace,
    output::{Gathered, lines},
    report::Report,
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains(".py")
        && (text.contains("Found ")
            || text.contains("--> ")
            || lines(text).any(|line| concise(line).is_some()))
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut previous = "";
    let mut group = "";
    let mut open: Option<(Finding, Gathered)> = None;
    for line in lines(text) {
        if let Some((located, rule, message)) = concise(line) {
            report.find(
                Finding::new(Kind::Error, Tool::Ruff, message)
                    .rule(rule)
                    .at(located.place(workspace)),
            );
        } else if let Some(place) = line.trim_start().strip_prefix("--> ") {
            if let Some((rule, message)) = ruled(previous).or_else(|| named(previous)) {
                finish(&mut open, &mut report);
                let finding = Finding::new(Kind::Error, Tool::Ruff, message).rule(rule);
                open = Some((finding.at(located::place(place, workspace)), Gathered::default()));
            }
        } else if line.is_empty() {
            finish(&mut open, &mut report);
            group = "";
        } else if let Some((_, details)) = &mut open {
            details.line(line);
        } else if let Some(path) = line
            .strip_suffix(':')
            .filter(|path| located::extension(path).is_some_and(|found| found.starts_with("py")))
        {
            group = path;
        } else if !group.is_empty()
            && let Some((row, column, rest)) = grouped(line)
            && let Some((rule, message)) = ruled(rest).or_else(|| named(rest))
        {
            let place = workspace.place(group, Some(row), Some(column));
            report.find(Finding::new(Kind::Error, Tool::Ruff, message).rule(rule).at(place));
        }
        previous = line;
    }
    finish(&mut open, &mut report);
    report
}

fn finish(open: &mut Option<(Finding, Gathered)>, report: &mut Report) {
    if let Some((finding, details)) = open.take() {
        report.find(finding.details(details.as_str()));
    }
}

pub(crate) fn speaks_json(value: &Value) -> bool {
    value.get("code").is_some()
        && value.get("filename").is_some_and(Value::is_string)
        && deep(value, &["location", "row"]).is_u64()
}

/// One finding of ruff's JSON.
pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    let kind = if text(value, "severity") == "warning" { Kind::Warning } else { Kind::Error };
    let location = deep(value, &["location"]);
    let rule = match text(value, "code") {
        "" => text(value, "name"),
        code => code,
    };
    let finding = Finding::new(kind, Tool::Ruff, text(value, "message"))
        .rule(rule)
        .at(workspace.place(
            text(value, "filename"),
            number(location, "row"),
            number(location, "column"),
        ))
        .details(text(deep(value, &["fix"]), "message"));
    report.find(finding);
}

/// `calc.py:1:8: F401 [*] message`
fn concise(line: &str) -> Option<(Located<'_>, &str, &str)> {
    let located = Located::new(line).filter(|located| {
        located.column.is_some() && located.has_extension(&["py", "pyi", "ipynb", "toml"])
    })?;
    let (rule, message) = ruled(located.rest).or_else(|| named(located.rest))?;
    Some((located, rule, message))
}

/// `   1:8  F401 [*] message`, below the name of a file.
fn grouped(line: &str) -> Option<(u32, u32, &str)> {
    let (row, rest) = located::leading_number(line.trim_start())?;
    let (column, rest) = located::leading_number(rest.strip_prefix(':')?)?;
    Some((row, column, rest.trim_start()))
}

/// Rule and message of `F401 [*] message`.
fn ruled(text: &str) -> Option<(&str, &str)> {
    let (rule, message) = text.split_once(' ')?;
    let letters = rule.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = rule.bytes().skip(letters).filter(u8::is_ascii_digit).count();
    let message = message.trim_start();
    let message = message.strip_prefix("[*] ").unwrap_or(message);
    ((1..=7).contains(&letters) && (2..=5).contains(&digits) && letters + digits == rule.len())
        .then_some((rule, message))
}

/// Rule and message of `invalid-syntax: message`.
fn named(text: &str) -> Option<(&str, &str)> {
    text.split_once(": ").filter(|(rule, _)| {
        ["invalid-syntax", "unformatted", "SyntaxError", "io-error"].contains(rule)
    })
}
