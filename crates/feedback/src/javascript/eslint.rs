//! What eslint prints: `stylish` as text, and JSON.

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::{list, number, text},
    located::leading_number,
    location::Workspace,
    output::lines,
    report::Report,
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("✖ ") && text.contains(" problem")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut file = "";
    for line in lines(text) {
        if line.starts_with("✖ ") && line.contains(" problem") {
            report.heard(Tool::Eslint);
        } else if !line.starts_with(' ') {
            file = line;
        } else if let Some((row, column, kind, rest)) = stylish(line) {
            let (message, rule) = rest
                .rsplit_once("  ")
                .filter(|(_, rule)| !rule.contains(' '))
                .unwrap_or((rest, ""));
            let place = workspace.place(file, Some(row), Some(column));
            report.find(Finding::new(kind, Tool::Eslint, message).rule(rule).at(place));
        }
    }
    report
}

/// `  1:22  warning  Unexpected var  no-var`
fn stylish(line: &str) -> Option<(u32, u32, Kind, &str)> {
    let (row, rest) = leading_number(line.trim_start())?;
    let (column, rest) = leading_number(rest.strip_prefix(':')?)?;
    let (word, rest) = rest.strip_prefix("  ")?.trim_start().split_once("  ")?;
    let kind = match word {
        "error" => Kind::Error,
        "warning" => Kind::Warning,
        _ => return None,
    };
    Some((row, column, kind, rest.trim()))
}

pub(crate) fn speaks_json(value: &Value) -> bool {
    value.get("filePath").is_some_and(Value::is_string)
        && value.get("messages").is_some_and(Value::is_array)
}

/// What eslint's JSON says about one file.
pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    report.heard(Tool::Eslint);
    for message in list(value, "messages") {
        let kind = if number(message, "severity") == Some(1) { Kind::Warning } else { Kind::Error };
        let at = workspace.place(
            text(value, "filePath"),
            number(message, "line"),
            number(message, "column"),
        );
        report.find(
            Finding::new(kind, Tool::Eslint, text(message, "message"))
                .rule(text(message, "ruleId"))
                .at(at),
        );
    }
}
