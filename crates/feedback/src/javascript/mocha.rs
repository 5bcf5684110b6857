//! What mocha prints for people (`spec`). Its TAP and its XML are read as everybody's.
//!
//! ```text
//!   calc
//!     ✔ subtracts
//!     1) adds
//!     - later
//!
//!   1 passing (5ms)
//!   1 pending
//!   1 failing
//!
//!   1) calc
//!        adds:
//!      AssertionError: 2 == 3
//! ```

use std::collections::BTreeMap;

use super::thrown::{Thrown, name};
use crate::{
    finding::Tool,
    located,
    location::Workspace,
    output::{Gathered, lines},
    report::{MOST_FINDINGS, Report, Tally},
    test::{Outcome, TestCase, TestName, Times},
};

/// Groups within groups that are followed.
const DEEPEST: usize = 64;

pub(crate) fn speaks(text: &str) -> bool {
    lines(text).any(|line| count(line).is_some_and(|(_, word)| word.starts_with("passing (")))
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader {
        workspace,
        report: Report::new(),
        groups: Vec::new(),
        failed: BTreeMap::new(),
        is_listing: true,
        tally: Tally::default(),
        times: Times::default(),
        open: None,
    };
    reader.report.heard(Tool::Mocha);
    for line in lines(text) {
        reader.line(line);
    }
    reader.close();
    reader.report.said(reader.tally);
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    groups: Vec<(usize, String)>,
    /// Failures by their numbers: below the list they are told with why.
    failed: BTreeMap<u32, TestName>,
    is_listing: bool,
    tally: Tally,
    times: Times,
    open: Option<(TestCase, Gathered)>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if let Some((number, word)) = count(line) {
            self.is_listing = false;
            let slot = match word.split(' ').next().unwrap_or_default() {
                "passing" => &mut self.tally.passed,
                "pending" => &mut self.tally.skipped,
                _ => &mut self.tally.failed,
            };
            *slot = slot.saturating_add(number);
            return;
        }
        if self.is_listing { self.listed(line) } else { self.explained(line) }
    }

    fn listed(&mut self, line: &str) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if bare.is_empty() || indent < 2 {
            return;
        }
        self.groups.retain(|(outer, _)| *outer < indent);
        let numbered = located::leading_number(bare)
            .and_then(|(number, rest)| Some((number, rest.strip_prefix(") ")?)));
        let (outcome, title) = match (bare.split_once(' '), numbered) {
            (_, Some((_, title))) => (Outcome::Failed, title),
            (Some(("✔" | "✓" | "√", title)), None) => (Outcome::Passed, title),
            (Some(("-", title)), None) => (Outcome::Skipped, title),
            (Some(_) | None, None) => {
                if self.groups.len() < DEEPEST {
                    self.groups.push((indent, bare.to_owned()));
                }
                return;
            }
        };
        let groups = self.groups.iter().map(|(_, group)| group.as_str());
        let name = self.times.numbered(&name("", groups, untimed(title)));
        if let Some((number, _)) = numbered.filter(|_| self.failed.len() < MOST_FINDINGS) {
            self.failed.insert(number, name.clone());
        }
        self.report.ran(TestCase::new(name, outcome));
    }

    /// `  1) calc`, and below it the other groups, the test, and why.
    fn explained(&mut self, line: &str) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let number = located::leading_number(bare).filter(|(_, rest)| rest.starts_with(") "));
        if indent == 2
            && let Some((number, _)) = number
            && let Some(name) = self.failed.remove(&number)
        {
            self.close();
            self.open = Some((TestCase::new(name, Outcome::Failed), Gathered::default()));
        } else if let Some((_, printed)) = &mut self.open {
            printed.line(line);
        }
    }

    fn close(&mut self) {
        let Some((test, printed)) = self.open.take() else { return };
        // The title ends with a colon; what follows was thrown.
        let printed = printed.as_str();
        let thrown = printed.split_once(":\n").map_or(printed, |(_, thrown)| thrown);
        let thrown = Thrown::new(thrown.trim_start_matches('\n'), self.workspace);
        let (test, finding) = thrown.failed(&Tool::Mocha, test);
        self.report.explain(test);
        self.report.find(finding);
    }
}

/// `  2 passing (5ms)`, `  1 failing`
fn count(line: &str) -> Option<(u64, &str)> {
    let (number, word) = line.strip_prefix("  ")?.split_once(' ')?;
    let is_count = word.starts_with("passing (") || ["pending", "failing"].contains(&word);
    number.parse().ok().filter(|_| is_count).map(|number| (number, word))
}

/// `slow (52ms)` without the time.
fn untimed(title: &str) -> &str {
    let timed = title.strip_suffix("ms)").and_then(|title| title.rsplit_once(" ("));
    timed.filter(|(_, took)| took.parse::<u64>().is_ok()).map_or(title, |(title, _)| title)
}
