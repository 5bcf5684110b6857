//! SARIF, in which many linters and scanners write what they found.

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::{deep, list, number, text},
    location::{Location, Workspace},
    output::Gathered,
    report::Report,
    text::Label,
};

pub(crate) fn speaks(value: &Value) -> bool {
    value.get("runs").is_some_and(Value::is_array)
        && (text(value, "version").starts_with("2.") || text(value, "$schema").contains("sarif"))
}

pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    for run in list(value, "runs") {
        let tool = tool(text(deep(run, &["tool", "driver"]), "name"));
        report.heard(tool.clone());
        for result in list(run, "results") {
            take_result(result, &tool, report, workspace);
        }
    }
}

fn take_result(result: &Value, tool: &Tool, report: &mut Report, workspace: &Workspace) {
    let passed = ["pass", "notApplicable", "informational"].contains(&text(result, "kind"));
    if passed || !list(result, "suppressions").is_empty() {
        return;
    }
    let kind = match text(result, "level") {
        "error" => Kind::Error,
        "note" => Kind::Note,
        "none" => return,
        // What says nothing is a warning: so the standard.
        _ => Kind::Warning,
    };
    let rule = match text(result, "ruleId") {
        "" => text(deep(result, &["rule"]), "id"),
        rule => rule,
    };
    let message = match text(deep(result, &["message"]), "text") {
        "" => text(deep(result, &["message"]), "markdown"),
        message => message,
    };
    let place = list(result, "locations")
        .first()
        .map_or(Location::Unsaid, |location| place(location, workspace));
    let mut details = Gathered::default();
    for fix in list(result, "fixes") {
        details.line(text(deep(fix, &["description"]), "text"));
    }
    report.find(
        Finding::new(kind, tool.clone(), message).rule(rule).at(place).details(details.as_str()),
    );
}

fn place(location: &Value, workspace: &Workspace) -> Location {
    let physical = deep(location, &["physicalLocation"]);
    let region = deep(physical, &["region"]);
    let uri = text(deep(physical, &["artifactLocation"]), "uri");
    workspace.place(uri, number(region, "startLine"), number(region, "startColumn"))
}

/// Those whom we know also speak otherwise, and are one tool.
fn tool(name: &str) -> Tool {
    match name.to_ascii_lowercase().as_str() {
        "ruff" => Tool::Ruff,
        "mypy" => Tool::Mypy,
        "eslint" => Tool::Eslint,
        "clippy" => Tool::Clippy,
        "gnu c" | "gnu c17" | "gnu c++" | "gnu c++17" | "clang" => Tool::C,
        _ => Label::new(name).filled().map_or(Tool::Unknown, Tool::Named),
    }
}
