//! What `cargo nextest` prints of its tests.
//!
//! ```text
//!         FAIL [   0.412s] (1/3) demo tests::adds
//!   stdout ───
//!     (what it printed, indented)
//!   TRY 2 PASS [   0.011s] (11/13) demo::whole flaky
//!      Summary [   0.457s] 3 tests run: 2 passed, 1 failed, 1 skipped
//! ```

use std::{collections::BTreeMap, time::Duration};

use super::panic;
use crate::{
    finding::Tool,
    location::Workspace,
    naming::Reach,
    output::{Gathered, lines},
    report::{MOST_TESTS, Report, Tally},
    test::{Outcome, TestCase, TestName},
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("Nextest run ID") || text.contains(" tests run: ") || text.contains(" test run: ")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader =
        Reader { workspace, report: Report::new(), failing: None, flaky: BTreeMap::new() };
    for line in lines(text) {
        reader.line(line);
    }
    reader.finish_failure();
    reader.report.passed_after_all(&reader.flaky);
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    failing: Option<(TestCase, Gathered)>,
    flaky: BTreeMap<TestName, TestCase>,
}

/// What a line says about a test.
struct Status<'a> {
    /// The last word before the bracket, such as `FAIL`.
    word: &'a str,
    attempt: u32,
    took: Option<Duration>,
    suite: &'a str,
    name: &'a str,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if let Some(summary) = line.trim_start().strip_prefix("Summary [") {
            self.finish_failure();
            self.report.heard(Tool::Nextest);
            self.report.said(tally(summary));
            self.report.reached(reach(summary));
        } else if let Some(status) = Status::new(line) {
            self.finish_failure();
            self.status(&status);
        } else if line.starts_with("────") {
            self.finish_failure();
        } else if let Some((_, printed)) = &mut self.failing {
            printed.line(line.strip_prefix("    ").unwrap_or(line));
        }
    }

    fn status(&mut self, status: &Status<'_>) {
        let outcome = match status.word {
            "PASS" | "LEAK" if status.attempt > 1 => Outcome::Flaky,
            "PASS" | "LEAK" => Outcome::Passed,
            "FLAKY" => Outcome::Flaky,
            "SKIP" => Outcome::Skipped,
            "TIMEOUT" | "TMT" => Outcome::TimedOut,
            // Not an end: it goes on, or is told again with what it printed.
            "SLOW" | "TRMNTG" | "SETUP" | "START" | "RETRY" | "DELAY" => return,
            // `FAIL`, `FAIL + LEAK`, and the names of signals.
            _ => Outcome::Failed,
        };
        let (name, place) = panic::name(status.suite, status.name, self.workspace);
        let test = TestCase::new(name, outcome).at(place).took(status.took);
        if outcome == Outcome::Flaky {
            if self.flaky.len() < MOST_TESTS {
                self.flaky.insert(test.name.clone(), test);
            }
        } else if outcome.is_failure() {
            self.report.ran(test.clone());
            self.failing = Some((test, Gathered::default()));
        } else {
            self.report.ran(test);
        }
    }

    fn finish_failure(&mut self) {
        let Some((test, printed)) = self.failing.take() else { return };
        // The summary at the end names the failures again, without what they printed.
        if printed.as_str().trim().is_empty() && self.report.explains(&test.name) {
            return;
        }
        let (test, finding) = panic::failed(&Tool::Nextest, test, printed.as_str(), self.workspace);
        self.report.explain(test);
        self.report.find_once(finding);
    }
}

impl<'a> Status<'a> {
    fn new(line: &'a str) -> Option<Self> {
        let (words, rest) = line.split_once('[')?;
        let mut words: Vec<&str> = words.split_whitespace().take(5).collect();
        let shape = |word: &&str| {
            word.bytes().all(|byte| byte.is_ascii_uppercase() || b"+/0123456789".contains(&byte))
        };
        if words.is_empty()
            || !line.starts_with(' ') && !line.starts_with("TRY ")
            || !words.iter().all(shape)
        {
            return None;
        }
        let mut attempt = 1;
        if let ["TRY", number, ..] = words.as_slice() {
            attempt = number.parse().ok()?;
            words.drain(..2);
        }
        let (took, rest) = rest.split_once(']')?;
        let took = took
            .trim()
            .trim_start_matches('>')
            .trim()
            .strip_suffix('s')
            .and_then(|took| took.parse().ok());
        let rest = rest.trim_start();
        // `( 1/13)` or `(─────)`, which older versions do not print.
        let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((_, rest)) => rest.trim_start(),
            None => rest,
        };
        let (suite, name) = rest.split_once(' ')?;
        let word = *words.first()?;
        let took = took.and_then(|took| Duration::try_from_secs_f64(took).ok());
        Some(Self { word, attempt, took, suite, name: name.trim() })
    }
}

/// `2/3 tests run` are not all.
fn reach(summary: &str) -> Reach {
    let counts = summary.split_once("] ").and_then(|(_, rest)| rest.split_once(" test"));
    match counts.and_then(|(counts, _)| counts.split_once('/')) {
        Some((run, all)) if run.trim() != all.trim() => Reach::Cut,
        Some(_) | None => Reach::Whole,
    }
}

/// The numbers in `0.457s] 3 tests run: 2 passed (1 flaky), 1 failed, 1 timed out, 1 skipped`.
fn tally(summary: &str) -> Tally {
    let mut tally = Tally::default();
    let counts = summary.split_once(" run: ").map_or("", |(_, counts)| counts);
    for part in counts.split(", ") {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        let slot = match word.split_once(" (").map_or(word, |(word, _)| word) {
            "passed" => &mut tally.passed,
            "failed" | "exec failed" | "timed out" => &mut tally.failed,
            "skipped" => &mut tally.skipped,
            _ => continue,
        };
        *slot = slot.saturating_add(number);
    }
    tally
}
