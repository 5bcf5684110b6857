//! Tests as events in JSON, one in each line: libtest's own, and nextest's that look like them.

use serde_json::Value;

use super::{libtest::Suites, panic};
use crate::{
    finding::Tool,
    json::{count, deep, seconds, text},
    location::Workspace,
    report::{Report, Tally},
    test::{Outcome, TestCase},
};

/// What is known after the events so far.
#[derive(Debug, Default)]
pub(crate) struct Events {
    suite: String,
}

pub(crate) fn speaks(value: &Value) -> bool {
    ["suite", "test"].contains(&text(value, "type")) && !text(value, "event").is_empty()
}

impl Events {
    pub(crate) fn take(
        &mut self,
        value: &Value,
        suites: &mut Suites,
        report: &mut Report,
        workspace: &Workspace,
    ) {
        match (text(value, "type"), text(value, "event")) {
            ("suite", "started") => {
                // nextest names the program with each test.
                self.suite =
                    if value.get("nextest").is_some() { String::new() } else { suites.next() };
            }
            ("suite", _) => {
                let nextest = deep(value, &["nextest"]).is_object();
                report.heard(if nextest { Tool::Nextest } else { Tool::Libtest });
                // nextest says the numbers of a program once more each time that it goes on with it.
                if !nextest {
                    let skipped = count(value, "ignored");
                    report.said(Tally {
                        passed: count(value, "passed"),
                        failed: count(value, "failed"),
                        skipped,
                    });
                }
            }
            ("test", event) => self.test(value, event, report, workspace),
            _ => {}
        }
    }

    fn test(&self, value: &Value, event: &str, report: &mut Report, workspace: &Workspace) {
        let outcome = match event {
            "ok" => Outcome::Passed,
            "failed" if text(value, "reason") == "time limit exceeded" => Outcome::TimedOut,
            "failed" => Outcome::Failed,
            "timeout" => Outcome::TimedOut,
            "ignored" => Outcome::Skipped,
            _ => return,
        };
        let (tool, suite, name, attempt) = self.named(text(value, "name"));
        // nextest numbers a test that it has tried again.
        let outcome =
            if attempt > 1 && outcome == Outcome::Passed { Outcome::Flaky } else { outcome };
        let (name, place) = panic::name(&suite, name, workspace);
        let test = TestCase::new(name, outcome).at(place).took(seconds(value, "exec_time"));
        report.heard(tool.clone());
        if outcome.is_failure() {
            // What libtest itself has to say about a panic is not in what was printed.
            let printed = match text(value, "message") {
                "" => text(value, "stdout").to_owned(),
                message => format!("{}\nnote: {message}", text(value, "stdout")),
            };
            let (test, finding) = panic::failed(&tool, test, &printed, workspace);
            report.ran(test);
            report.find(finding);
        } else {
            report.ran(test.message(text(value, "message")));
        }
    }

    /// Tool, program, test and attempt of `demo::whole$adds#2`, as nextest writes it, or of `tests::adds`.
    fn named<'a>(&self, name: &'a str) -> (Tool, String, &'a str, u32) {
        let Some((program, test)) = name.split_once('$') else {
            return (Tool::Libtest, self.suite.clone(), name, 1);
        };
        let suite = match program.split_once("::") {
            Some((package, binary)) if package == binary => package,
            Some(_) | None => program,
        };
        let numbered =
            test.rsplit_once('#').and_then(|(test, attempt)| Some((test, attempt.parse().ok()?)));
        let (test, attempt) = numbered.unwrap_or((test, 1));
        (Tool::Nextest, suite.to_owned(), test, attempt)
    }
}
