//! The document that the plugin `pytest-json-report` writes.

use serde_json::Value;

use super::pytest::{Trace, name};
use crate::{
    finding::{Finding, Kind, Tool},
    json::{count, deep, list, number, seconds, text},
    location::{Location, Workspace},
    report::{Report, Tally},
    test::{Outcome, TestCase},
};

pub(crate) fn speaks(value: &Value) -> bool {
    value.get("summary").is_some_and(Value::is_object)
        && (value.get("collectors").is_some() || value.get("tests").is_some())
        && value.get("exitcode").is_some()
}

pub(crate) fn take(value: &Value, report: &mut Report, workspace: &Workspace) {
    report.heard(Tool::Pytest);
    let summary = deep(value, &["summary"]);
    report.said(Tally {
        passed: count(summary, "passed").saturating_add(count(summary, "xpassed")),
        failed: count(summary, "failed").saturating_add(count(summary, "error")),
        skipped: count(summary, "skipped").saturating_add(count(summary, "xfailed")),
    });
    for collector in
        list(value, "collectors").iter().filter(|collector| text(collector, "outcome") == "failed")
    {
        let trace = Trace::new(text(collector, "longrepr"), workspace);
        let place = match trace.place.clone() {
            Location::Unsaid | Location::Outside(_) => {
                workspace.place(text(collector, "nodeid"), None, None)
            }
            inside @ Location::Inside { .. } => inside,
        };
        report.find(trace.finding(Kind::Error).at(place));
    }
    for test in list(value, "tests") {
        take_test(test, report, workspace);
    }
}

fn take_test(value: &Value, report: &mut Report, workspace: &Workspace) {
    let outcome = match text(value, "outcome") {
        "passed" | "xpassed" => Outcome::Passed,
        "skipped" | "xfailed" => Outcome::Skipped,
        _ => Outcome::Failed,
    };
    let node = text(value, "nodeid");
    let name = name(node);
    let file = node.split_once("::").map_or(node, |(file, _)| file);
    // Lines count from 0 here, but not in what a stage says about its crash.
    let line = number(value, "lineno").map(|line| line.saturating_add(1));
    let place = workspace.place(file, line, None);
    let took = seconds(deep(value, &["call"]), "duration");
    let test = TestCase::new(name.clone(), outcome).at(place).took(took);
    let stages = ["setup", "call", "teardown"].map(|stage| (stage, deep(value, &[stage])));
    let Some((stage, bad)) = stages
        .into_iter()
        .find(|(_, stage)| text(stage, "outcome") == "failed")
        .filter(|_| outcome.is_failure())
    else {
        return report.ran(test);
    };
    let trace = Trace::new(text(bad, "longrepr"), workspace);
    let crash = deep(bad, &["crash"]);
    let crashed = workspace.place(text(crash, "path"), number(crash, "lineno"), None);
    let place = if crashed.file().is_some() { crashed } else { trace.place.clone() };
    let outcome = if trace.timed_out() { Outcome::TimedOut } else { outcome };
    let mut finding: Finding = trace.finding(Kind::Failure).at(place.clone()).of_test(name);
    if stage != "call" {
        finding = finding.rule(&format!("error at {stage}"));
    }
    report.ran(TestCase { outcome, ..test }.at(place).message(&finding.message));
    report.find(finding);
}
