//! The document that `jest --json` prints, which vitest writes too.

use serde_json::Value;

use super::thrown::{Thrown, name, suite};
use crate::{
    finding::{Kind, Tool},
    json::{deep, list, milliseconds, number, shown, text},
    location::{Location, Workspace},
    naming::Reach,
    report::Report,
    test::{Outcome, TestCase, Times},
};

pub(crate) fn speaks(value: &Value) -> bool {
    value.get("testResults").is_some_and(Value::is_array) && value.get("numTotalTests").is_some()
}

pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    let tool = if text(value, "runner") == "mocha" {
        Tool::Mocha
    } else if value.get("numRuntimeErrorTestSuites").is_some() {
        // Only jest counts suites that broke before they had tests.
        Tool::Jest
    } else {
        Tool::Vitest
    };
    let mut times = Times::default();
    report.heard(tool.clone());
    // Each test is named. Some versions of vitest count those that were skipped as passed, so their numbers are not taken.
    for file in list(value, "testResults") {
        let tests = list(file, "assertionResults");
        if tests.is_empty() && text(file, "status") == "failed" {
            broken(file, &tool, report, workspace);
        }
        let suite = suite(text(file, "name"), workspace);
        for test in tests {
            // Of vitest this means that its turn never came; those that are skipped are called so.
            if tool == Tool::Vitest && text(test, "status") == "pending" {
                report.reached(Reach::Cut);
                continue;
            }
            let case = case(test, text(file, "name"), &suite, workspace);
            let name = times.numbered(&case.name);
            take_test(test, TestCase { name, ..case }, &tool, report, workspace);
        }
    }
}

/// A file whose tests could not even be found.
fn broken(file: &Value, tool: &Tool, report: &mut Report, workspace: &Workspace) {
    let said = text(file, "message");
    let said = said.trim_start().strip_prefix("● Test suite failed to run").unwrap_or(said);
    let thrown = Thrown::new(said.trim_start_matches('\n'), workspace);
    let place = if thrown.place == Location::Unsaid {
        workspace.place(text(file, "name"), None, None)
    } else {
        thrown.place.clone()
    };
    report.find(thrown.finding(tool, Kind::Error).at(place));
}

fn case(value: &Value, file: &str, suite: &str, workspace: &Workspace) -> TestCase {
    let outcome = match text(value, "status") {
        "passed" => Outcome::Passed,
        "failed" => Outcome::Failed,
        _ => Outcome::Skipped,
    };
    let groups = list(value, "ancestorTitles")
        .iter()
        .filter_map(Value::as_str)
        .filter(|group| !group.is_empty());
    let name = name(suite, groups, text(value, "title"));
    let location = deep(value, &["location"]);
    let place = workspace.place(file, number(location, "line"), number(location, "column"));
    TestCase::new(name, outcome).at(place).took(milliseconds(value, "duration"))
}

fn take_test(
    value: &Value,
    test: TestCase,
    tool: &Tool,
    report: &mut Report,
    workspace: &Workspace,
) {
    if !test.outcome.is_failure() {
        return report.ran(test);
    }
    let said = list(value, "failureMessages").first().and_then(Value::as_str).unwrap_or_default();
    let mut thrown = Thrown::new(said.strip_prefix("Error: ").unwrap_or(said), workspace);
    if thrown.message.trim() == "STACK_TRACE_ERROR" {
        "vitest does not say in JSON why; mostly the test took too long"
            .clone_into(&mut thrown.message);
    }
    let matched =
        list(value, "failureDetails").first().map(|details| deep(details, &["matcherResult"]));
    if let Some(matched) = matched
        && let (Some(expected), Some(actual)) = (matched.get("expected"), matched.get("actual"))
    {
        (thrown.expected, thrown.actual) = (shown(expected), shown(actual));
    }
    let (test, finding) = thrown.failed(tool, test);
    report.ran(test);
    report.find(finding);
}
