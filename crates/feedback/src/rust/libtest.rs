//! What `cargo test` prints of its tests.
//!
//! ```text
//!      Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)     on stderr
//! running 2 tests
//! test tests::adds ... FAILED
//! failures:
//! ---- tests::adds stdout ----
//! test result: FAILED. 1 passed; 1 failed; 0 ignored; ...
//! ```
//!
//! Which program is running is said on the other stream: the n-th `Running` there belongs to the n-th `running` here.

use std::{collections::VecDeque, time::Duration};

use super::panic;
use crate::{
    finding::Tool,
    location::Workspace,
    naming::Reach,
    output::{Gathered, lines},
    report::{Report, Tally},
    test::{Outcome, TestCase, TestName},
};

/// Programs of tests that are told apart.
const MOST_SUITES: usize = 10_000;

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("\ntest result: ") || text.starts_with("running ") || text.contains("\nrunning ")
}

pub(crate) fn read(text: &str, suites: &mut Suites, workspace: &Workspace) -> Report {
    let mut reader = Reader {
        suites,
        workspace,
        report: Report::new(),
        suite: String::new(),
        interrupted: String::new(),
        failing: None,
    };
    for line in lines(text) {
        reader.line(line);
    }
    reader.finish_failure();
    reader.report
}

/// The programs of tests that cargo said it runs, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suites(VecDeque<String>);

impl Suites {
    /// Adds those that are named in a text.
    pub(crate) fn add(&mut self, text: &str) {
        let room = MOST_SUITES.saturating_sub(self.0.len());
        self.0.extend(lines(text).filter_map(suite).take(room));
    }

    /// The one that runs next; empty if cargo did not say.
    pub(crate) fn next(&mut self) -> String {
        self.0.pop_front().unwrap_or_default()
    }
}

/// Whether cargo went on after a program of tests that failed. Without `--no-fail-fast` it does not, and the next ones are not run.
pub(crate) fn reach(text: &str) -> Reach {
    let is_sum = |line: &str| {
        let rest = line.strip_prefix("error: ");
        rest.is_some_and(|it| it.ends_with(" target failed:") || it.ends_with(" targets failed:"))
    };
    if lines(text).any(is_sum) {
        Reach::Whole
    } else if lines(text).any(|line| line.starts_with("error: test failed, to rerun pass ")) {
        Reach::Cut
    } else {
        Reach::Unsaid
    }
}

/// The name of a program in `Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)`, or, with `--verbose`, in
/// ``Running `/src/target/debug/deps/demo-0123456789abcdef --quiet` ``.
fn suite(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(documented) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{} (doc)", documented.trim()));
    }
    let running = line.strip_prefix("Running ")?;
    if let Some(command) = running.strip_prefix('`') {
        let program = command.split(' ').find(|word| !word.contains('='))?.trim_end_matches('`');
        // With `--verbose`, compilers are told of in the same words.
        let (directory, name) = program.rsplit_once('/')?;
        return directory.ends_with("/deps").then(|| unhashed(name))?.map(str::to_owned);
    }
    let (_, program) = running.rsplit_once('(')?;
    let program = program.strip_suffix(')')?;
    let name = program.rsplit_once('/').map_or(program, |(_, name)| name);
    Some(unhashed(name).unwrap_or(name).to_owned())
}

/// The name in `demo-0123456789abcdef`.
fn unhashed(name: &str) -> Option<&str> {
    let is_hash =
        |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map(|(name, _)| name)
}

struct Reader<'a> {
    suites: &'a mut Suites,
    workspace: &'a Workspace,
    report: Report,
    suite: String,
    /// The test that is named on a line on which it does not end.
    interrupted: String,
    /// The test whose output is being printed.
    failing: Option<(String, Gathered)>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(headline) {
            self.finish_failure();
            self.failing = Some((name.to_owned(), Gathered::default()));
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.finish_failure();
            self.report.heard(Tool::Libtest);
            self.report.said(tally(result));
        } else if line == "failures:" {
            self.finish_failure();
        } else if let Some((_, printed)) = &mut self.failing {
            printed.line(line);
        } else if is_start(line) {
            self.suite = self.suites.next();
            self.report.heard(Tool::Libtest);
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|line| line.split_once(" ... "))
        {
            self.test(name, outcome);
        } else if ["ok", "FAILED"].contains(&line) {
            // With `--nocapture`, what a test prints stands between its name and how it ended.
            let name = std::mem::take(&mut self.interrupted);
            self.test(&name, line);
        } else if let Some(name) = line.strip_suffix(" --- FAILED") {
            self.test(name, "FAILED");
        }
    }

    fn test(&mut self, name: &str, said: &str) {
        let (said, took) = match said
            .rsplit_once(" <")
            .and_then(|(said, took)| Some((said, took.strip_suffix("s>")?)))
        {
            Some((said, took)) => {
                (said, took.parse().ok().and_then(|took| Duration::try_from_secs_f64(took).ok()))
            }
            None => (said, None),
        };
        let (outcome, reason) = match said {
            "ok" => (Outcome::Passed, ""),
            "FAILED" => (Outcome::Failed, ""),
            _ if said.starts_with("FAILED (time limit exceeded)") => (Outcome::TimedOut, ""),
            _ if said.starts_with("bench:") => (Outcome::Passed, ""),
            _ => match said.strip_prefix("ignored") {
                Some(reason) => (Outcome::Skipped, reason.trim_start_matches([',', ' '])),
                None => return name.clone_into(&mut self.interrupted),
            },
        };
        if name.is_empty() {
            return;
        }
        let (name, place) = self.name(name);
        self.report.ran(TestCase::new(name, outcome).at(place).message(reason).took(took));
    }

    fn name(&self, name: &str) -> (TestName, crate::location::Location) {
        panic::name(&self.suite, name, self.workspace)
    }

    fn finish_failure(&mut self) {
        let Some((name, printed)) = self.failing.take() else { return };
        let (name, place) = self.name(&name);
        let known = self.report.test(&name);
        let outcome = known.map_or(Outcome::Failed, |test| test.outcome.max(Outcome::Failed));
        let took = known.and_then(|test| test.duration);
        let test = TestCase::new(name, outcome).at(place).took(took);
        let (test, finding) = panic::failed(&Tool::Libtest, test, printed.as_str(), self.workspace);
        self.report.explain(test);
        self.report.find(finding);
    }
}

/// The name in `---- tests::adds stdout ----`.
fn headline(rest: &str) -> Option<&str> {
    let rest = rest.strip_suffix(" ----")?;
    rest.strip_suffix(" stdout").or_else(|| rest.strip_suffix(" stderr"))
}

/// `running 4 tests`
fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, after)| count.parse::<u64>().is_ok() && ["", "s"].contains(&after))
}

/// The numbers in `FAILED. 2 passed; 1 failed; 1 ignored; ...`.
fn tally(result: &str) -> Tally {
    let mut tally = Tally::default();
    for part in result.split(['.', ';']) {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse() else { continue };
        match word {
            "passed" => tally.passed = number,
            "failed" => tally.failed = number,
            "ignored" => tally.skipped = number,
            _ => {}
        }
    }
    tally
}
