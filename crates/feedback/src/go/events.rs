//! `go test -json`: an event in each line.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{package::Package, test};
use crate::{
    json::{seconds, text},
    location::Workspace,
    report::Report,
    test::Outcome,
};

/// Packages that are followed at a time.
const MOST_PACKAGES: usize = 2_000;

/// What is known after the events so far.
#[derive(Debug, Default)]
pub(crate) struct Events {
    packages: BTreeMap<String, Package>,
}

pub(crate) fn speaks(value: &Value) -> bool {
    !text(value, "Action").is_empty()
        && ["Package", "ImportPath"].iter().any(|key| value.get(key).is_some_and(Value::is_string))
}

impl Events {
    /// Takes one event. What the compiler said in it is handed back, to be read as its text.
    pub(crate) fn take<'a>(
        &mut self,
        value: &'a Value,
        report: &mut Report,
        workspace: &Workspace,
    ) -> Option<&'a str> {
        let action = text(value, "Action");
        if action == "build-output" {
            return Some(text(value, "Output"));
        }
        let name = text(value, "Package");
        let test = text(value, "Test");
        if test.is_empty() && ["pass", "fail", "skip"].contains(&action) {
            self.packages.remove(name).unwrap_or_default().report(name, report, workspace);
            return None;
        }
        if !self.packages.contains_key(name) && self.packages.len() >= MOST_PACKAGES {
            return None;
        }
        let package = self.packages.entry(name.to_owned()).or_default();
        let took = seconds(value, "Elapsed");
        match action {
            "run" => package.started(test),
            "pass" => package.ended(test, Outcome::Passed, took),
            "fail" => package.ended(test, Outcome::Failed, took),
            "skip" => package.ended(test, Outcome::Skipped, took),
            "output" => {
                let line = text(value, "Output").trim_end_matches('\n');
                if test::running(line).is_none() && test::ended(line).is_none() {
                    package.printed(test, line);
                }
            }
            _ => {}
        }
        None
    }

    /// No more events: what did not end was cut off.
    pub(crate) fn finish(self, report: &mut Report, workspace: &Workspace) {
        for (name, package) in self.packages {
            package.report(&name, report, workspace);
        }
    }
}
