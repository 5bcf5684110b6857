//! Diagnostics of rustc and clippy in JSON: rustc's own, and wrapped by cargo.

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::{deep, list, number, text},
    location::Workspace,
    report::Report,
};

pub(crate) fn speaks(value: &Value) -> bool {
    !text(value, "reason").is_empty() || text(value, "$message_type") == "diagnostic"
}

/// A line of `cargo --message-format json`, or of `rustc --error-format json`.
pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    match text(value, "reason") {
        "compiler-message" => diagnostic(deep(value, &["message"]), report, workspace),
        "" => diagnostic(value, report, workspace),
        // What was built, and that it was.
        _ => report.heard(Tool::Cargo),
    }
}

fn diagnostic(value: &Value, report: &mut Report, workspace: &Workspace) {
    let kind = match text(value, "level") {
        "error" | "error: internal compiler error" => Kind::Error,
        "warning" => Kind::Warning,
        "note" | "help" => Kind::Note,
        // `failure-note` only says where errors are explained.
        _ => return,
    };
    let message = text(value, "message");
    if is_summary(message) {
        return;
    }
    let rule = text(deep(value, &["code"]), "code");
    let tool = if rule.starts_with("clippy::") { Tool::Clippy } else { Tool::Rustc };
    let spans = list(value, "spans");
    let primary = spans.iter().find(|span| span.get("is_primary") == Some(&Value::Bool(true)));
    let mut finding = Finding::new(kind, tool, message).rule(rule).details(text(value, "rendered"));
    if let Some(span) = primary {
        let span = outermost(span);
        finding = finding.at(workspace.place(
            text(span, "file_name"),
            number(span, "line_start"),
            number(span, "column_start"),
        ));
        let (expected, found) = expected_and_found(text(span, "label"));
        finding = finding.expected(expected).actual(found);
    }
    report.find(finding);
}

/// The place in the code that somebody wrote, where a macro was called, rather than the one inside the macro of somebody else.
fn outermost(span: &Value) -> &Value {
    /// Macros that call macros. More than this is somebody playing.
    const DEEPEST: usize = 64;
    let mut span = span;
    for _ in 0..DEEPEST {
        let file = text(span, "file_name");
        let expansion = deep(span, &["expansion", "span"]);
        if expansion.is_null() || !(file.starts_with('/') || file.starts_with('<')) {
            break;
        }
        span = expansion;
    }
    span
}

/// The two sides of ``expected `i32`, found `&str` ``.
pub(crate) fn expected_and_found(label: &str) -> (&str, &str) {
    let sides = label.strip_prefix("expected ").and_then(|label| label.split_once(", found "));
    sides.unwrap_or_default()
}

/// What a compiler says about its own findings is no finding.
pub(crate) fn is_summary(message: &str) -> bool {
    let counts = message.starts_with("aborting due to ")
        || message.starts_with("could not compile `")
        || message.contains(" generated ") && message.contains(" warning")
        || message.ends_with(" warning emitted")
        || message.ends_with(" warnings emitted");
    let tests = message.starts_with("test failed, to rerun pass")
        || message.starts_with("doctest failed, to rerun pass")
        || message == "test run failed"
        || message.contains(" targets failed:")
        || message.starts_with("1 target failed:");
    counts || tests || message == "build failed" || message.starts_with("build failed, waiting")
}
