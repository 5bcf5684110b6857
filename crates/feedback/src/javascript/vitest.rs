//! What vitest prints.
//!
//! ```text
//!  ✓ v.spec.mjs > v > ok 1ms            with --reporter=verbose
//!  FAIL  v.spec.mjs > v > fails
//! AssertionError: expected +0 to be 2
//!  ❯ v.spec.mjs:3:33
//! ⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/2]⎯
//!       Tests  4 failed | 1 passed | 1 skipped | 1 todo (7)
//! ```
//!
//! The default list of tests leaves out the names of groups, so that only failures are known by their whole names.

use super::thrown::{Thrown, name, suite};
use crate::{
    finding::{Kind, Tool},
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines},
    report::{Report, Tally},
    test::{Outcome, TestCase, TestName},
};

pub(crate) fn speaks(text: &str) -> bool {
    text.contains(" Test Files  ") || text.contains("⎯⎯⎯") && text.contains(" FAIL  ")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader { workspace, report: Report::new(), open: None };
    for line in lines(text) {
        reader.line(line);
    }
    reader.close();
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    open: Option<(String, Gathered)>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        let bare = line.trim_start();
        if let Some(title) = line.strip_prefix(" FAIL  ") {
            self.close();
            self.open = Some((title.trim().to_owned(), Gathered::default()));
        } else if bare.starts_with("⎯⎯⎯") {
            self.close();
        } else if let Some(counts) = bare.strip_prefix("Tests  ").filter(|_| line.starts_with("  "))
        {
            self.close();
            self.report.heard(Tool::Vitest);
            self.report.said(tally(counts));
            self.report.reached(Reach::Whole);
        } else if let Some((_, printed)) = &mut self.open {
            printed.line(line);
        } else if let Some((outcome, title)) = mark(bare)
            && is_whole(title)
        {
            let title = without_time(title);
            let (name, place) = self.name(title);
            self.report.ran(TestCase::new(name, outcome).at(place));
        }
    }

    fn name(&self, title: &str) -> (TestName, Location) {
        let mut parts = title.split(" > ");
        let path = parts.next().unwrap_or_default();
        // Projects of a workspace stand before the file: `|unit| a.test.ts`.
        let path = path.rsplit_once("| ").map_or(path, |(_, path)| path).trim();
        let mut parts: Vec<&str> = parts.take(64).collect();
        let last = parts.pop().unwrap_or_default();
        let name = name(&suite(path, self.workspace), parts.into_iter(), last);
        (name, self.workspace.place(path, None, None))
    }

    fn close(&mut self) {
        let Some((title, printed)) = self.open.take() else { return };
        let thrown = Thrown::new(printed.as_str(), self.workspace);
        if let Some((path, _)) = title.split_once(" [ ") {
            // A file that could not be read: it has no tests.
            let place = if thrown.place == Location::Unsaid {
                self.workspace.place(path, None, None)
            } else {
                thrown.place.clone()
            };
            return self.report.find(thrown.finding(&Tool::Vitest, Kind::Error).at(place));
        }
        let (name, place) = self.name(&title);
        let (test, finding) =
            thrown.failed(&Tool::Vitest, TestCase::new(name, Outcome::Failed).at(place));
        self.report.ran(test.clone());
        self.report.explain(test);
        self.report.find_once(finding);
    }
}

/// Whether a title begins with its file. Below the line of a file, newer versions list its tests without it, and tell them again.
fn is_whole(title: &str) -> bool {
    title.split_once(" > ").is_some_and(|(path, _)| {
        let path = path.rsplit_once("| ").map_or(path, |(_, path)| path);
        crate::located::extension(path).is_some()
    })
}

fn mark(line: &str) -> Option<(Outcome, &str)> {
    let (mark, title) = line.split_once(' ')?;
    let outcome = match mark {
        "✓" | "√" => Outcome::Passed,
        "×" | "✗" => Outcome::Failed,
        "↓" | "□" => Outcome::Skipped,
        _ => return None,
    };
    Some((outcome, title.trim()))
}

/// `v.spec.mjs > v > ok 1ms` without the time.
fn without_time(title: &str) -> &str {
    let timed = |(_, took): &(&str, &str)| {
        let number = took.strip_suffix("ms").or_else(|| took.strip_suffix('s'));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    title.rsplit_once(' ').filter(timed).map_or(title, |(title, _)| title.trim_end())
}

/// The numbers in `4 failed | 1 passed | 1 skipped | 1 todo (7)`.
fn tally(counts: &str) -> Tally {
    let mut tally = Tally::default();
    for part in counts.split('|') {
        let mut words = part.split_whitespace();
        let (Some(number), Some(word)) =
            (words.next().and_then(|number| number.parse::<u64>().ok()), words.next())
        else {
            continue;
        };
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
