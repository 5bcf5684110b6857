//! What Python's own test runner prints.
//!
//! ```text
//! test_two (test_calc.TestAdd.test_two) ... FAIL      with -v; before Python 3.11 without the name behind the class
//! ======================================================================
//! FAIL: test_two (test_calc.TestAdd.test_two)
//! ----------------------------------------------------------------------
//! Traceback (most recent call last):
//!   File "/src/test_calc.py", line 11, in test_two
//! AssertionError: 0 != 4
//!
//! ----------------------------------------------------------------------
//! Ran 3 tests in 0.001s
//! ```
//!
//! Without `-v` only those that failed have a name; the others are counted.

use std::collections::BTreeSet;

use super::pytest::{quoted_place, sides};
use crate::{
    finding::{Finding, Kind, Tool},
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines},
    report::{MOST_TESTS, Report, Tally},
    test::{Outcome, TestCase, TestName},
};

const UNEXPECTED: &str = "the test passed, although it is marked as one that fails";

pub(crate) fn speaks(text: &str) -> bool {
    lines(text).any(|line| ran(line).is_some())
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader {
        workspace,
        report: Report::new(),
        begun: None,
        block: None,
        failed: BTreeSet::new(),
        ran: 0,
        ran_beside: 0,
    };
    for line in lines(text) {
        reader.line(line);
    }
    reader.close();
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    /// A test that was named, and whose outcome has not come yet: it may print lines of its own before.
    begun: Option<TestName>,
    block: Option<Block>,
    /// Tests that have a block, of this run.
    failed: BTreeSet<TestName>,
    /// How many tests this run had, once it is said.
    ran: u64,
    /// How many of them are none.
    ran_beside: u64,
}

/// What is said about a failure below its headline.
struct Block {
    subject: Subject,
    printed: Gathered,
}

/// What a headline is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Test(TestName),
    /// What should have been set up before tests: none of them ran.
    Before(String),
    /// A file that could not be loaded.
    Module(String),
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if is_rule(line, '=') {
            return self.close();
        }
        if let Some(ran) = ran(line) {
            self.close();
            self.report.heard(Tool::Unittest);
            self.report.reached(Reach::Whole);
            self.ran = ran;
            return;
        }
        if let Some(counts) = ending(line).filter(|_| self.ran > 0) {
            return self.count(counts);
        }
        if let Some((word, subject)) = headline(line) {
            self.close();
            if word == "UNEXPECTED SUCCESS" {
                return self.unexpected(subject);
            }
            self.block = Some(Block { subject, printed: Gathered::default() });
            return;
        }
        match &mut self.block {
            Some(block) if !is_rule(line, '-') => block.printed.line(line),
            Some(_) => {}
            None => self.progress(line),
        }
    }

    /// `test_two (test_calc.TestAdd.test_two) ... FAIL`
    fn progress(&mut self, line: &str) {
        let named = subject(line.trim_start());
        let end = match &named {
            Some((_, rest)) => rest.rsplit_once(" ... ").map(|(_, word)| word),
            // The first line of its document stands between a test and its outcome; so does what it prints.
            None => line.rsplit_once(" ... ").map(|(_, word)| word).or(Some(line)),
        };
        let name = match named {
            Some((Subject::Test(name), _)) => Some(name),
            Some((Subject::Before(_) | Subject::Module(_), _)) => return,
            None => self.begun.take(),
        };
        let Some(name) = name else { return };
        match end.and_then(outcome) {
            Some((outcome, reason)) => {
                self.report.ran(TestCase::new(name, outcome).message(reason));
            }
            None => self.begun = Some(name),
        }
    }

    fn unexpected(&mut self, subject: Subject) {
        match subject {
            Subject::Test(name) => {
                self.report.ran(TestCase::new(name, Outcome::Failed).message(UNEXPECTED));
            }
            Subject::Before(_) | Subject::Module(_) => {}
        }
    }

    fn close(&mut self) {
        self.begun = None;
        let Some(Block { subject, printed }) = self.block.take() else { return };
        let (place, message) = trace(printed.as_str(), self.workspace);
        // `Lists differ: [1] != [2]` says with what kind it begins.
        let (expected, actual) =
            sides(message.split_once(" differ: ").map_or(message.as_str(), |(_, sides)| sides));
        let finding = |kind, message: &str| {
            Finding::new(kind, Tool::Unittest, message)
                .at(place.clone())
                .expected(expected)
                .actual(actual)
                .details(printed.as_str())
        };
        match subject {
            Subject::Test(name) => {
                let finding = finding(Kind::Failure, &message).of_test(name.clone());
                let test = TestCase::new(name.clone(), Outcome::Failed)
                    .at(place.clone())
                    .message(&finding.message);
                self.report.ran(test.clone());
                self.report.explain(test);
                self.report.find(finding);
                if self.failed.len() < MOST_TESTS {
                    self.failed.insert(name);
                }
            }
            Subject::Before(what) => {
                self.report.find(finding(Kind::Error, &format!("{what}: {message}")));
            }
            Subject::Module(name) => {
                // It is counted as a test, although it is none.
                self.ran_beside += 1;
                let told = format!("`{name}` cannot be loaded: {message}");
                self.report.find(finding(Kind::Error, &told));
            }
        }
    }

    /// Those that nobody named are counted.
    fn count(&mut self, counts: Counts) {
        let failed = u64::try_from(self.failed.len()).unwrap_or(u64::MAX);
        let beside = std::mem::take(&mut self.ran_beside).saturating_add(counts.unexpected);
        let others = failed.saturating_add(counts.skipped).saturating_add(beside);
        let passed = std::mem::take(&mut self.ran).saturating_sub(others);
        self.report.said(Tally { passed, failed: 0, skipped: counts.skipped });
        self.failed.clear();
    }
}

/// `Ran 3 tests in 0.001s`
fn ran(line: &str) -> Option<u64> {
    let (count, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    let seconds = rest.strip_prefix("tests in ").or_else(|| rest.strip_prefix("test in "))?;
    seconds.strip_suffix('s')?.parse::<f64>().ok()?;
    count.parse().ok()
}

/// Tests that have no block although they did not pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// With those that were expected to fail.
    skipped: u64,
    unexpected: u64,
}

/// `OK (skipped=1)`, `FAILED (failures=1, expected failures=2)`
fn ending(line: &str) -> Option<Counts> {
    let words = ["OK", "FAILED", "NO TESTS RAN"];
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    if rest.is_empty() {
        return Some(Counts::default());
    }
    let parts = rest.strip_prefix(" (")?.strip_suffix(')')?;
    let mut counts = Counts::default();
    for part in parts.split(", ") {
        let (what, count) = part.split_once('=')?;
        let count: u64 = count.parse().ok()?;
        let slot = match what {
            "skipped" | "expected failures" => &mut counts.skipped,
            "unexpected successes" => &mut counts.unexpected,
            "failures" | "errors" => continue,
            _ => return None,
        };
        *slot = slot.saturating_add(count);
    }
    Some(counts)
}

/// `FAIL: test_two (test_calc.TestAdd.test_two)`
fn headline(line: &str) -> Option<(&str, Subject)> {
    let (word, rest) = line.split_once(": ")?;
    if !["FAIL", "ERROR", "UNEXPECTED SUCCESS"].contains(&word) {
        return None;
    }
    subject(rest).map(|(subject, _)| (word, subject))
}

/// `test_two (test_calc.TestAdd.test_two)`, and what follows: the values of a part of the test, or how it ended.
fn subject(line: &str) -> Option<(Subject, &str)> {
    let (name, rest) = line.split_once(" (")?;
    let (dotted, rest) = rest.split_once(')')?;
    let is_word = |text: &str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || "_.<>".contains(letter);
        !text.is_empty() && text.chars().all(is_letter)
    };
    if !is_word(name) || !is_word(dotted) {
        return None;
    }
    let before = ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];
    if before.contains(&name) {
        return Some((Subject::Before(format!("{name} of {dotted}")), rest));
    }
    if dotted.starts_with("unittest.loader.") {
        return Some((Subject::Module(name.to_owned()), rest));
    }
    let class = dotted.strip_suffix(name).and_then(|it| it.strip_suffix('.')).unwrap_or(dotted);
    Some((Subject::Test(TestName::new(class, name)), rest))
}

fn outcome(word: &str) -> Option<(Outcome, &str)> {
    match word.trim() {
        "ok" => Some((Outcome::Passed, "")),
        "FAIL" | "ERROR" => Some((Outcome::Failed, "")),
        "unexpected success" => Some((Outcome::Failed, UNEXPECTED)),
        "expected failure" => Some((Outcome::Skipped, "expected to fail")),
        other => {
            let reason = other.strip_prefix("skipped ")?;
            Some((Outcome::Skipped, reason.trim_matches(['\'', '"'])))
        }
    }
}

/// Whether the line is drawn, as between blocks.
fn is_rule(line: &str, letter: char) -> bool {
    line.len() == 70 && line.chars().all(|it| it == letter)
}

/// Where it went wrong, as near as the workspace knows, and what was raised.
fn trace(printed: &str, workspace: &Workspace) -> (Location, String) {
    let mut place = Location::Unsaid;
    let mut message: Vec<&str> = Vec::new();
    for line in lines(printed) {
        if let Some(found) = quoted_place(line, workspace) {
            place = found;
        }
        if line.starts_with("  File \"") || line.starts_with("Traceback ") {
            message.clear();
        } else if !line.starts_with("    ") || !message.is_empty() {
            message.push(line);
        }
    }
    // A difference may follow in many lines; the details have it all.
    let said = message.join("\n");
    let said = said.trim();
    let said = if said.is_empty() { "it failed and said nothing" } else { said };
    (place, said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_one_name_in_every_version_of_python() {
        let name = Subject::Test(TestName::new("test_calc.TestAdd", "test_two"));
        for line in [
            "test_two (test_calc.TestAdd)",
            "test_two (test_calc.TestAdd.test_two)",
            "test_two (test_calc.TestAdd.test_two) (i=1)",
        ] {
            assert_eq!(subject(line).map(|(it, _)| it), Some(name.clone()), "{line}");
        }
        for line in ["a sentence (with this) in it", "f (x y)", " (x)", "no", "f (x"] {
            assert_eq!(subject(line), None, "{line}");
        }
    }

    #[test]
    fn only_the_last_lines_of_a_run_are_taken_for_them() {
        assert_eq!(ran("Ran 3 tests in 0.001s"), Some(3));
        assert_eq!(ran("Ran 1 test in 12.5s"), Some(1));
        for line in
            ["Ran tests in 1s", "Ran 3 tests in a hurry", "Ran 3 tests in 1", "Ran -1 tests in 1s"]
        {
            assert_eq!(ran(line), None, "{line}");
        }
        let counts = |skipped, unexpected| Some(Counts { skipped, unexpected });
        assert_eq!(ending("OK"), counts(0, 0));
        assert_eq!(
            ending("FAILED (failures=1, skipped=2, expected failures=3, unexpected successes=4)"),
            counts(5, 4)
        );
        for line in ["OK then", "FAILED (because)", "FAILED (x=1)", "OK (skipped=many)"] {
            assert_eq!(ending(line), None, "{line}");
        }
    }
}
