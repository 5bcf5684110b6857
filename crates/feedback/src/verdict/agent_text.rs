//! What an agent is told about a verdict: what is its fault, with the findings, and nothing that it cannot do anything about.

use std::fmt::Write as _;

use super::{
    change::Change,
    judge::{CheckVerdict, Verdict},
    table::plain,
};
use crate::{
    finding::Finding,
    text::{Text, shorten},
};

/// As much as a model reads with attention.
const TEXT_BYTES: usize = 16 * 1024;
/// Of one finding, so that one that says much does not hide the others.
const FINDING_BYTES: usize = 1500;
const FINDINGS_LIMIT: usize = 20;
const NAMES_LIMIT: usize = 40;

impl Verdict {
    /// Empty if nothing is the change's fault. Never longer than a limit; what is left off is said.
    pub fn to_agent_text(&self) -> String {
        let mut told = String::new();
        for verdict in self.checks.iter().filter(|verdict| verdict.blocks()) {
            check(&mut told, verdict);
        }
        if told.len() > TEXT_BYTES {
            const CUT: &str = "\n… more was found; this is the beginning\n";
            shorten(&mut told, TEXT_BYTES - CUT.len());
            told.push_str(CUT);
        }
        told
    }
}

fn check(told: &mut String, verdict: &CheckVerdict) {
    let _ = writeln!(told, "Check `{}`: {}.", plain(&verdict.check.name), verdict.outcome);
    let _ = writeln!(
        told,
        "Command: `{}` in `{}`",
        brief(verdict.check.command.as_str()),
        verdict.check.directory
    );
    if let Some(head) = &verdict.head {
        let _ = writeln!(told, "It ended with: {}", head.ended);
    }
    let faults = [
        (Change::Regression, "These tests passed before your change and fail now"),
        (Change::NewFailing, "These tests are new and fail"),
        (Change::NowFailing, "These tests fail, and did not fail before your change"),
        (Change::FirstFailing, "These tests fail; before your change the check ended before them"),
    ];
    for (change, what) in faults {
        let tests: Vec<_> = verdict.tests.iter().filter(|test| test.change == change).collect();
        if tests.is_empty() {
            continue;
        }
        let _ = writeln!(told, "{what} ({}):", tests.len());
        for test in tests.iter().take(NAMES_LIMIT) {
            let _ = writeln!(told, "- {}", test.name);
        }
        left_off(told, tests.len(), NAMES_LIMIT);
    }
    findings(told, "Errors that were not there before", &verdict.new_errors);
    let is_told = |finding: &Finding| verdict.new_errors.contains(finding);
    let said: Vec<Finding> =
        verdict.failures.iter().filter(|finding| !is_told(finding)).cloned().collect();
    findings(told, "What was said", &said);
    told.push('\n');
}

fn findings(told: &mut String, title: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(told, "{title}:");
    for finding in findings.iter().take(FINDINGS_LIMIT) {
        let text = Text::<FINDING_BYTES>::new(&describe(finding));
        let _ = writeln!(told, "- {}", text.replace('\n', "\n  "));
    }
    left_off(told, findings.len(), FINDINGS_LIMIT);
}

fn describe(finding: &Finding) -> String {
    let mut text = finding.place.to_string();
    let mut add = |joint: &str, part: &str| {
        if !text.is_empty() {
            text.push_str(joint);
        }
        text.push_str(part);
    };
    if let Some(test) = &finding.test {
        add(" ", &test.to_string());
    }
    if let Some(rule) = &finding.rule {
        add(" ", &format!("[{rule}]"));
    }
    add(": ", &finding.message);
    let sides = [("expected: ", &finding.expected), ("actual: ", &finding.actual)];
    for (name, side) in sides {
        if let Some(side) = side {
            add("\n", &format!("{name}{side}"));
        }
    }
    if let Some(details) = &finding.details {
        add("\n", details);
    }
    text
}

fn left_off(told: &mut String, count: usize, limit: usize) {
    if count > limit {
        let _ = writeln!(told, "- … and {} more", count - limit);
    }
}

fn brief(command: &str) -> String {
    Text::<400>::new(command).to_string()
}
