//! What node's test runner prints for people (`--test-reporter=spec`). Its TAP is read as everybody's.
//!
//! ```text
//! ▶ suite
//!   ✖ deep equal (6.5ms)
//! ✖ suite (8.8ms)
//! ℹ fail 1
//! ✖ failing tests:
//! test at n.test.mjs:8:3
//! ✖ deep equal (6.5ms)
//!   AssertionError [ERR_ASSERTION]: ...
//! ```

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use super::thrown::{Thrown, name};
use crate::{
    finding::{Finding, Kind, Tool},
    located,
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines},
    report::{MOST_FINDINGS, Report, Tally},
    test::{Outcome, TestCase, TestName, Times},
};

/// Groups within groups that are followed.
const DEEPEST: usize = 64;

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("ℹ tests ") && text.contains("ℹ pass ")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader {
        workspace,
        report: Report::new(),
        groups: Vec::new(),
        failed: BTreeMap::new(),
        failing: false,
        place: Location::Unsaid,
        open: None,
        tally: Tally::default(),
        times: Times::default(),
        broken: BTreeSet::new(),
    };
    for line in lines(text) {
        reader.line(line);
    }
    reader.close();
    let broken = u64::try_from(reader.broken.len()).unwrap_or(u64::MAX);
    let failed = reader.tally.failed.saturating_sub(broken);
    reader.report.said(Tally { failed, ..reader.tally });
    reader.report.reached(Reach::Whole);
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    groups: Vec<(usize, String)>,
    /// Tests that failed, by the last part of their names, which is all that is said when they are explained.
    failed: BTreeMap<String, VecDeque<TestName>>,
    /// Whether the failures are being explained.
    failing: bool,
    place: Location,
    open: Option<(TestCase, Gathered)>,
    tally: Tally,
    times: Times,
    /// Files that failed outside of their tests: they are counted as tests.
    broken: BTreeSet<String>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if line == "✖ failing tests:" {
            self.failing = true;
        } else if let Some(count) = line.strip_prefix("ℹ ") {
            self.count(count);
        } else if let Some(place) = line.strip_prefix("test at ").filter(|_| self.failing) {
            self.close();
            self.place = located::place(place, self.workspace);
        } else if self.failing {
            self.explained(line);
        } else {
            self.told(line);
        }
    }

    fn told(&mut self, line: &str) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let Some((mark, title)) = bare.split_once(' ') else { return };
        if mark == "▶" {
            self.groups.retain(|(outer, _)| *outer < indent);
            if self.groups.len() < DEEPEST {
                self.groups.push((indent, timed(title).0.to_owned()));
            }
            return;
        }
        let Some((outcome, title, took)) = marked(mark, title) else { return };
        self.groups.retain(|(outer, _)| *outer <= indent);
        // A group is named again when it ends.
        if self.groups.last().is_some_and(|(outer, group)| *outer == indent && group == title) {
            self.groups.pop();
            return;
        }
        self.groups.retain(|(outer, _)| *outer < indent);
        // A file that failed outside of its tests.
        let is_path = !title.contains(char::is_whitespace) && located::extension(title).is_some();
        if indent == 0 && outcome.is_failure() && is_path {
            let place = self.workspace.place(title, None, None);
            let message = format!("`{title}` failed outside of its tests");
            self.report.find(Finding::new(Kind::Error, Tool::NodeTest, &message).at(place));
            self.report.reached(Reach::Cut);
            self.broken.insert(title.to_owned());
            return;
        }
        let name = name("", self.groups.iter().map(|(_, group)| group.as_str()), title);
        let name = self.times.numbered(&name);
        if outcome.is_failure() {
            let same = self.failed.entry(title.to_owned()).or_default();
            if same.len() < MOST_FINDINGS {
                same.push_back(name.clone());
            }
        }
        self.report.ran(TestCase::new(name, outcome).took(took));
    }

    fn explained(&mut self, line: &str) {
        if let Some((outcome, title, took)) =
            line.split_once(' ').and_then(|(mark, title)| marked(mark, title))
        {
            if self.broken.contains(title) {
                self.open = None;
                return;
            }
            let known = self.failed.get_mut(title).and_then(VecDeque::pop_front);
            let name = known.unwrap_or_else(|| TestName::new("", title));
            let place = std::mem::take(&mut self.place);
            self.open = Some((
                TestCase::new(name, outcome.max(Outcome::Failed)).at(place).took(took),
                Gathered::default(),
            ));
        } else if let Some((_, printed)) = &mut self.open {
            printed.line(line.strip_prefix("  ").unwrap_or(line));
        }
    }

    fn close(&mut self) {
        let Some((test, printed)) = self.open.take() else { return };
        let mut thrown = Thrown::new(printed.as_str(), self.workspace);
        thrown.message = thrown.message.trim().trim_matches('\'').to_owned();
        for line in lines(printed.as_str()) {
            // Node prints the fields of what was thrown below its stack.
            let field = |key: &str| {
                line.trim()
                    .strip_prefix(key)
                    .map(|value| value.trim_end_matches(',').trim().to_owned())
            };
            if let Some(expected) = field("expected: ") {
                thrown.expected = expected;
            } else if let Some(actual) = field("actual: ") {
                thrown.actual = actual;
            }
        }
        let (test, finding) = thrown.failed(&Tool::NodeTest, test);
        self.report.ran(test.clone());
        self.report.explain(test);
        self.report.find(finding);
    }

    /// `ℹ pass 2`
    fn count(&mut self, count: &str) {
        let Some((word, number)) = count.split_once(' ') else { return };
        let Ok(number) = number.trim().parse::<u64>() else { return };
        let slot = match word {
            "pass" => &mut self.tally.passed,
            "fail" | "cancelled" => &mut self.tally.failed,
            "skipped" | "todo" => &mut self.tally.skipped,
            _ => return,
        };
        *slot = slot.saturating_add(number);
        self.report.heard(Tool::NodeTest);
    }
}

fn marked<'a>(mark: &str, title: &'a str) -> Option<(Outcome, &'a str, Option<Duration>)> {
    let (title, comment) = title.rsplit_once(" # ").unwrap_or((title, ""));
    let outcome = match (mark, comment) {
        (_, "TODO" | "SKIP") | ("﹣", _) => Outcome::Skipped,
        ("✔", _) => Outcome::Passed,
        ("✖", _) => Outcome::Failed,
        _ => return None,
    };
    let (title, took) = timed(title);
    Some((outcome, title, took))
}

/// Title and time of `deep equal (6.549152ms)`.
fn timed(title: &str) -> (&str, Option<Duration>) {
    let split = title.strip_suffix("ms)").and_then(|title| title.rsplit_once(" ("));
    let parsed = split.and_then(|(title, took)| Some((title, took.parse::<f64>().ok()?)));
    parsed.map_or((title, None), |(title, took)| {
        (title, Duration::try_from_secs_f64(took / 1000.0).ok())
    })
}
