//! What gcc, clang and their like print, as text and as gcc's JSON.
//!
//! ```text
//! a.c:2:25: warning: initialization of 'int' from 'char *' [-Wint-conversion]
//!     2 | int main(void){ int x = "s"; }
//!       |                         ^~~
//! ```

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::{deep, list, number, text},
    located::Located,
    location::{Location, Workspace},
    output::{Gathered, lines},
    report::Report,
};

const EXTENSIONS: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl", "inc", "tcc",
    "m", "mm", "cu", "cuh", "C", "H", "S", "s", "l", "y",
];

pub(crate) fn speaks(text: &str) -> bool {
    [": error: ", ": fatal error: ", ": warning: ", ": undefined reference to "]
        .iter()
        .any(|sign| text.contains(sign))
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut open: Option<(Finding, Gathered)> = None;
    for line in lines(text) {
        let located = Located::new(line).filter(|located| located.has_extension(EXTENSIONS));
        if let Some((kind, message)) = located.and_then(|located| head(located.rest)) {
            // A note belongs to what was said before it.
            if let Some((_, details)) = open.as_mut().filter(|_| kind == Kind::Note) {
                details.line(line);
                continue;
            }
            finish(&mut open, &mut report);
            let (message, rule) = option(message);
            let place = located.map_or(Location::Unsaid, |located| located.place(workspace));
            open = Some((
                Finding::new(kind, Tool::C, message).rule(rule).at(place),
                Gathered::default(),
            ));
        } else if let Some((place, symbol)) = line.split_once(": undefined reference to ") {
            finish(&mut open, &mut report);
            let path = place
                .split_once(":(")
                .map_or(place, |(path, _)| path)
                .rsplit(' ')
                .next()
                .unwrap_or_default();
            let (path, number, _) = crate::located::split(path);
            let message = format!("undefined reference to {symbol}");
            report.find(
                Finding::new(Kind::Error, Tool::C, &message)
                    .rule("linker")
                    .at(workspace.place(path, number, None)),
            );
        } else if let Some((_, details)) = open.as_mut().filter(|_| line.starts_with(' ')) {
            details.line(line);
        } else if open.as_ref().is_some_and(|_| line.is_empty() || line.starts_with("make")) {
            finish(&mut open, &mut report);
        } else if let Some((_, details)) = &mut open {
            // clang shows the code without indentation; at most a few lines of it.
            details.line(line);
        }
    }
    finish(&mut open, &mut report);
    report
}

fn finish(open: &mut Option<(Finding, Gathered)>, report: &mut Report) {
    if let Some((finding, details)) = open.take() {
        report.find(finding.details(details.as_str()));
    }
}

/// Kind and message of `fatal error: missing.h: No such file or directory`.
pub(crate) fn head(rest: &str) -> Option<(Kind, &str)> {
    let (word, message) = rest.split_once(": ")?;
    let kind = match word {
        "error" | "fatal error" | "sorry, unimplemented" | "internal compiler error" => Kind::Error,
        "warning" => Kind::Warning,
        "note" | "remark" => Kind::Note,
        _ => return None,
    };
    Some((kind, message))
}

/// Message and option of `unused variable 'x' [-Wunused-variable]`.
fn option(message: &str) -> (&str, &str) {
    let split = message.strip_suffix(']').and_then(|bare| bare.rsplit_once(" ["));
    split.filter(|(_, option)| option.starts_with('-')).unwrap_or((message, ""))
}

pub(crate) fn speaks_json(value: &Value) -> bool {
    value.get("kind").is_some_and(Value::is_string)
        && value.get("locations").is_some_and(Value::is_array)
        && value.get("message").is_some()
}

/// One diagnostic of `gcc -fdiagnostics-format=json`.
pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    let kind = match text(value, "kind") {
        "warning" => Kind::Warning,
        "note" => Kind::Note,
        _ => Kind::Error,
    };
    let caret = list(value, "locations")
        .first()
        .map_or(&Value::Null, |location| deep(location, &["caret"]));
    let mut notes = Gathered::default();
    for child in list(value, "children") {
        notes.line(text(child, "message"));
    }
    let place =
        workspace.place(text(caret, "file"), number(caret, "line"), number(caret, "column"));
    let finding = Finding::new(kind, Tool::C, text(value, "message"))
        .rule(text(value, "option"))
        .at(place)
        .details(notes.as_str());
    report.find(finding);
}
