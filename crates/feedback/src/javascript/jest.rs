//! What jest prints.
//!
//! ```text
//! FAIL ./a.test.js
//!   add
//!     ✕ adds (8 ms)          with --verbose, or for a single file
//!   ● add › adds
//!     expect(received).toBe(expected)
//! Tests:       1 failed, 1 passed, 2 total
//! ```

use std::time::Duration;

use super::thrown::{Thrown, name, suite};
use crate::{
    finding::{Kind, Tool},
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines},
    report::{Report, Tally},
    test::{Outcome, TestCase, TestName},
};

/// Groups within groups that are followed.
const DEEPEST: usize = 64;

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("\nTest Suites: ") || (text.contains("FAIL ") && text.contains("\n  ● "))
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader {
        workspace,
        report: Report::new(),
        file: String::new(),
        groups: Vec::new(),
        listing: false,
        open: None,
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
    /// The file whose tests are told about, as a suite.
    file: String,
    /// Groups that are open in the list of tests, with their indentation.
    groups: Vec<(usize, String)>,
    /// Whether lines are of the list of tests: from the file's name to the first empty line.
    listing: bool,
    open: Option<(String, Gathered)>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("FAIL ").or_else(|| line.strip_prefix("PASS ")) {
            self.close();
            self.report.heard(Tool::Jest);
            // A time may follow, and the name of a project may stand before.
            let path = path.split_once(" (").map_or(path, |(path, _)| path);
            let path = path.trim().rsplit_once(' ').map_or(path, |(_, path)| path);
            self.file = suite(path.trim(), self.workspace);
            self.groups.clear();
            self.listing = true;
        } else if let Some(counts) = line.strip_prefix("Tests: ") {
            self.close();
            self.report.said(tally(counts));
            self.report.reached(Reach::Whole);
        } else if let Some(suites) = line.strip_prefix("Test Suites: ") {
            self.close();
            // `1 failed, 1 of 3 total`: it was told to stop at the first.
            if suites.contains(" of ") {
                self.report.reached(Reach::Cut);
            }
        } else if line.starts_with("Summary of all failing tests") {
            self.close();
        } else if let Some(headline) = line.strip_prefix("  ● ") {
            self.close();
            self.open = Some((headline.trim().to_owned(), Gathered::default()));
        } else if let Some((_, printed)) = &mut self.open {
            printed.line(line.strip_prefix("    ").unwrap_or(line));
        } else if self.listing {
            self.listed(line);
        }
    }

    fn listed(&mut self, line: &str) {
        let bare = line.trim_start();
        if bare.is_empty() {
            self.listing = false;
            return;
        }
        let indent = line.len() - bare.len();
        self.groups.retain(|(outer, _)| *outer < indent);
        let Some((mark, title)) = bare.split_once(' ') else { return self.group(indent, bare) };
        let (outcome, title) = match mark {
            "✓" | "√" => (Outcome::Passed, title),
            "✕" | "×" => (Outcome::Failed, title),
            "○" => (Outcome::Skipped, title.strip_prefix("skipped ").unwrap_or(title)),
            "✎" => (Outcome::Skipped, title.strip_prefix("todo ").unwrap_or(title)),
            _ => return self.group(indent, bare),
        };
        let (title, took) = timed(title);
        let name = name(&self.file, self.groups.iter().map(|(_, group)| group.as_str()), title);
        let place = self.workspace.place(&self.file, None, None);
        self.report.ran(TestCase::new(name, outcome).at(place).took(took));
    }

    fn group(&mut self, indent: usize, title: &str) {
        if indent > 0 && self.groups.len() < DEEPEST {
            self.groups.push((indent, title.to_owned()));
        }
    }

    fn close(&mut self) {
        self.listing = false;
        let Some((headline, printed)) = self.open.take() else { return };
        let thrown = Thrown::new(printed.as_str().trim_start_matches('\n'), self.workspace);
        match headline.as_str() {
            "Console" => {}
            "Test suite failed to run" => {
                let place = if thrown.place == Location::Unsaid {
                    self.workspace.place(&self.file, None, None)
                } else {
                    thrown.place.clone()
                };
                self.report.find(thrown.finding(&Tool::Jest, Kind::Error).at(place));
            }
            name => {
                let test = TestCase::new(TestName::new(&self.file, name), Outcome::Failed);
                let (test, finding) = thrown.failed(&Tool::Jest, test);
                self.report.ran(test.clone());
                self.report.explain(test);
                // Many failures are told again at the end.
                self.report.find_once(finding);
            }
        }
    }
}

/// The title and the time of `adds (4 ms)`.
fn timed(title: &str) -> (&str, Option<Duration>) {
    let Some((bare, took)) = title.strip_suffix(')').and_then(|title| title.rsplit_once(" ("))
    else {
        return (title, None);
    };
    let (number, unit) = took.split_once(' ').unwrap_or((took, ""));
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return (title, None),
    };
    match number.parse::<f64>() {
        Ok(number) => (bare, Duration::try_from_secs_f64(number * scale).ok()),
        Err(_) => (title, None),
    }
}

/// The numbers in `5 failed, 1 skipped, 1 todo, 2 passed, 9 total`.
fn tally(counts: &str) -> Tally {
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        let slot = match word {
            "passed" => &mut tally.passed,
            "failed" => &mut tally.failed,
            "skipped" | "todo" => &mut tally.skipped,
            _ => continue,
        };
        *slot = slot.saturating_add(number);
    }
    tally
}
