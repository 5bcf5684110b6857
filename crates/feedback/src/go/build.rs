//! What `go build` and `go vet` print: `b.go:2:23: message`, below a `# package`.

use serde_json::Value;

use crate::{
    finding::{Finding, Kind, Tool},
    json::text,
    located::{self, Located},
    location::Workspace,
    output::{Gathered, lines},
    report::Report,
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains(".go:")
}

/// Both speak alike: who ran is said by the command.
pub(crate) fn read(text: &str, tool: &Tool, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut open: Option<(Finding, Gathered)> = None;
    let mut vetted = false;
    for line in lines(text) {
        let located = Located::new(line.strip_prefix("vet: ").unwrap_or(line))
            .filter(|located| located.has_extension(&["go"]));
        if let Some(located) = located {
            finish(&mut open, &mut report);
            let tool = if vetted || line.starts_with("vet: ") { Tool::GoVet } else { tool.clone() };
            open = Some((
                Finding::new(Kind::Error, tool, located.rest).at(located.place(workspace)),
                Gathered::default(),
            ));
        } else if line.starts_with("# ") {
            finish(&mut open, &mut report);
            vetted = line.starts_with("# [");
        } else if let Some((_, details)) = open.as_mut().filter(|_| line.starts_with('\t')) {
            // `have (string)` and `want (int)` follow, indented.
            details.line(line);
        } else {
            finish(&mut open, &mut report);
        }
    }
    finish(&mut open, &mut report);
    report
}

fn finish(open: &mut Option<(Finding, Gathered)>, report: &mut Report) {
    let Some((finding, details)) = open.take() else { return };
    let side = |word: &str| {
        lines(details.as_str()).find_map(|line| line.trim().strip_prefix(word)).unwrap_or_default()
    };
    let finding = finding.expected(side("want ")).actual(side("have ")).details(details.as_str());
    report.find(finding);
}

/// `go vet -json`: packages, in them analyzers, in them findings.
pub(crate) fn speaks_json(value: &Value) -> bool {
    let is_finding = |value: &Value| value.get("posn").is_some_and(Value::is_string);
    let analyzers =
        value.as_object().and_then(|packages| packages.values().next()).and_then(Value::as_object);
    analyzers
        .and_then(|analyzers| analyzers.values().next())
        .and_then(Value::as_array)
        .and_then(|list| list.first())
        .is_some_and(is_finding)
}

pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    for analyzers in
        value.as_object().into_iter().flat_map(serde_json::Map::values).filter_map(Value::as_object)
    {
        for (rule, findings) in analyzers {
            for finding in findings.as_array().into_iter().flatten() {
                let place = located::place(text(finding, "posn"), workspace);
                report.find(
                    Finding::new(Kind::Error, Tool::GoVet, text(finding, "message"))
                        .rule(rule)
                        .at(place),
                );
            }
        }
    }
}
