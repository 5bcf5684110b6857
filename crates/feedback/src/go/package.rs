//! The tests of one Go package, until it is known how all of them ended.
//!
//! What a test printed may come before or after the word on how it ended, and the package is named last. A test that fails only because a
//! test within it failed has nothing to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    finding::{Finding, Kind, Tool},
    located::Located,
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines},
    report::{MOST_TESTS, Report},
    test::{Outcome, TestCase, TestName},
};

/// Tests of a package whose output is kept.
const MOST_PRINTED: usize = 5_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    running: BTreeSet<String>,
    ended: BTreeMap<String, (Outcome, Option<Duration>)>,
    printed: BTreeMap<String, Gathered>,
}

impl Package {
    pub(crate) fn started(&mut self, test: &str) {
        if self.running.len() < MOST_TESTS {
            self.running.insert(test.to_owned());
        }
    }

    pub(crate) fn ended(&mut self, test: &str, outcome: Outcome, took: Option<Duration>) {
        self.running.remove(test);
        if self.ended.len() < MOST_TESTS {
            self.ended.insert(test.to_owned(), (outcome, took));
        }
    }

    /// A line of a test, or of the package itself if the name is empty.
    pub(crate) fn printed(&mut self, test: &str, line: &str) {
        if let Some(printed) = self.printed.get_mut(test) {
            printed.line(line);
        } else if self.printed.len() < MOST_PRINTED {
            self.printed.entry(test.to_owned()).or_default().line(line);
        }
    }

    /// All is known: the package has this name.
    pub(crate) fn report(mut self, package: &str, report: &mut Report, workspace: &Workspace) {
        report.heard(Tool::GoTest);
        // What was still running when the program died was killed by it.
        for test in std::mem::take(&mut self.running) {
            report.reached(Reach::Cut);
            self.ended.entry(test).or_insert((Outcome::Failed, None));
        }
        let failed: BTreeSet<&str> = self
            .ended
            .iter()
            .filter(|(_, (outcome, _))| outcome.is_failure())
            .map(|(test, _)| test.as_str())
            .collect();
        for (test, (outcome, took)) in &self.ended {
            let name = TestName::new(package, test);
            let printed = self.printed.get(test).map(Gathered::as_str).unwrap_or_default();
            let case = TestCase::new(name, *outcome).took(*took);
            if !outcome.is_failure() {
                report.ran(skipped(case, package, printed, workspace));
                continue;
            }
            let below = format!("{test}/");
            let has_failing_child = failed
                .range(below.as_str()..)
                .next()
                .is_some_and(|child| child.starts_with(&below));
            let reason = Reason::new(package, printed, workspace);
            if has_failing_child && reason.message.is_empty() {
                report.explained_within(&case.name);
                report.ran(case);
                continue;
            }
            let (case, finding) = reason.failed(case);
            report.ran(case);
            report.find(finding);
        }
    }
}

/// A test that was skipped says why.
fn skipped(case: TestCase, package: &str, printed: &str, workspace: &Workspace) -> TestCase {
    if case.outcome != Outcome::Skipped {
        return case;
    }
    let reason = Reason::new(package, printed, workspace);
    case.at(reason.place).message(&reason.message)
}

#[derive(Default)]
struct Reason {
    message: String,
    place: Location,
    details: Gathered,
}

impl Reason {
    fn new(package: &str, printed: &str, workspace: &Workspace) -> Self {
        let mut reason = Self::default();
        let mut panicking = false;
        for line in lines(printed) {
            reason.details.line(line);
            let bare = line.trim();
            if let Some(panic) = line.strip_prefix("panic: ") {
                panicking = true;
                if reason.message.is_empty() {
                    panic.clone_into(&mut reason.message);
                }
            } else if panicking {
                let place = bare
                    .split_once(" +0x")
                    .map(|(place, _)| crate::located::place(place, workspace));
                if let Some(place) =
                    place.filter(|place| is_ours(place) && reason.place == Location::Unsaid)
                {
                    reason.place = place;
                }
            } else if let Some(located) =
                Located::new(bare).filter(|located| located.has_extension(&["go"]))
                && reason.message.is_empty()
            {
                located.rest.clone_into(&mut reason.message);
                reason.place = workspace.go_place(package, located.path, Some(located.line));
            }
        }
        reason
    }

    fn failed(self, case: TestCase) -> (TestCase, Finding) {
        let outcome = if self.message.starts_with("test timed out after ") {
            Outcome::TimedOut
        } else {
            case.outcome
        };
        let message = if self.message.is_empty() {
            "the test failed and said nothing"
        } else {
            &self.message
        };
        let (expected, actual) = sides(message);
        let finding = Finding::new(Kind::Failure, Tool::GoTest, message)
            .at(self.place.clone())
            .of_test(case.name.clone())
            .expected(expected)
            .actual(actual)
            .details(self.details.as_str());
        (TestCase { outcome, ..case }.at(self.place).message(message), finding)
    }
}

/// A file of the workspace that somebody wrote: Go makes a `_testmain.go` for each package.
fn is_ours(place: &Location) -> bool {
    place.file().is_some_and(|file| !file.as_str().ends_with("_testmain.go"))
}

/// The two sides of `Add(2, 2) = 0, want 4` and `got 0, want 4`.
fn sides(message: &str) -> (&str, &str) {
    let Some((before, expected)) =
        message.split_once(", want ").or_else(|| message.split_once("; want "))
    else {
        return ("", "");
    };
    let actual = before
        .rsplit_once("got ")
        .or_else(|| before.rsplit_once(" = "))
        .map_or("", |(_, actual)| actual);
    (expected.trim(), actual.trim())
}
