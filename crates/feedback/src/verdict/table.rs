//! The verdict as a table, for a terminal and for a pull request.
//!
//! Names of checks and tests come from the repository. In a pull request they stand in code spans, cut and without what would end one, so
//! that no name can mention a person, link somewhere or draw a table of its own.

use std::fmt::Write as _;

use super::{
    change::Change,
    judge::{CheckVerdict, Conclusion, Side, Verdict},
};
use crate::text::Text;

/// Enough for a name that a person recognises.
const NAME_BYTES: usize = 160;
/// Tests of one check that are named, of each way to change.
const NAMED_LIMIT: usize = 10;
/// What a person should see by name: all that is not as it should be, and what was made better.
const NAMED: [Change; 10] = [
    Change::Regression,
    Change::NewFailing,
    Change::NowFailing,
    Change::FirstFailing,
    Change::Flaky,
    Change::NewlySkipped,
    Change::Removed,
    Change::KnownFailure,
    Change::Fixed,
    Change::NoLongerFails,
];

impl Verdict {
    /// For a terminal: a line for each check, and below it the tests that changed.
    pub fn to_text(&self) -> String {
        let rows: Vec<[String; 4]> = self.checks.iter().map(row).collect();
        let head = ["check", "base", "head", "verdict"].map(str::to_owned);
        let width = |column: usize| {
            let cells = std::iter::once(&head).chain(&rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let (check, base, here) = (width(0), width(1), width(2));
        let mut told = String::new();
        let mut line = |[a, b, c, d]: &[String; 4]| {
            let _ =
                writeln!(told, "{}", format!("{a:check$}  {b:base$}  {c:here$}  {d}").trim_end());
        };
        line(&head);
        rows.iter().for_each(&mut line);
        for (verdict, change, names) in self.named() {
            let _ = writeln!(told, "\n{} in `{}`:", change.word(), plain(&verdict.check.name));
            for name in names {
                let _ = writeln!(told, "  {name}");
            }
        }
        let _ = writeln!(told, "\n{}", self.sentence());
        told
    }

    /// For the body of a pull request.
    pub fn to_markdown(&self) -> String {
        let mut told = String::from("| check | base | head | verdict |\n|---|---|---|---|\n");
        for verdict in &self.checks {
            let [check, base, head, outcome] = row(verdict);
            let _ = writeln!(
                told,
                "| {} | {} | {} | {} |",
                code(&check),
                escaped(&base),
                escaped(&head),
                escaped(&outcome)
            );
        }
        for (verdict, change, names) in self.named() {
            let _ = writeln!(told, "\n**{}** in {}:\n", change.word(), code(&verdict.check.name));
            for name in names {
                let _ = writeln!(told, "- {}", code(&name));
            }
        }
        let _ = writeln!(told, "\n{}", self.sentence());
        told
    }

    fn sentence(&self) -> &'static str {
        match self.conclusion {
            Conclusion::Passes => "Nothing is worse than on the base commit.",
            Conclusion::Fails => "Something is worse than on the base commit.",
            Conclusion::Unproven => "Nothing was run that could have failed, so nothing is proven.",
        }
    }

    fn named(&self) -> impl Iterator<Item = (&CheckVerdict, Change, Vec<String>)> {
        self.checks.iter().flat_map(|verdict| {
            NAMED.into_iter().filter_map(move |change| {
                let tests = verdict.tests.iter().filter(|test| test.change == change);
                let mut names: Vec<String> =
                    tests.take(NAMED_LIMIT).map(|test| plain(&test.name.to_string())).collect();
                let left = verdict.count(change).saturating_sub(names.len());
                if left > 0 {
                    names.push(format!("… and {left} more"));
                }
                (!names.is_empty()).then_some((verdict, change, names))
            })
        })
    }
}

fn row(verdict: &CheckVerdict) -> [String; 4] {
    [
        plain(&verdict.check.name),
        cell(verdict.base.as_ref()),
        cell(verdict.head.as_ref()),
        outcome(verdict),
    ]
}

/// How a side ended, with its numbers where it has some.
fn cell(side: Option<&Side>) -> String {
    let Some(side) = side else { return "not run".to_owned() };
    let tests = side.counts.tests;
    let counts = [(tests.passed, "passed"), (tests.failed, "failed"), (tests.skipped, "skipped")];
    let complaints = [(side.counts.errors, "error"), (side.counts.warnings, "warning")];
    let mut words: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .chain(
            complaints
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, noun)| counted(count, noun)),
        )
        .collect();
    let ended = plain(&side.ended.to_string());
    let has_tests = tests != crate::report::Tally::default();
    // `passed` beside numbers of tests would be read as one of them.
    if !(has_tests && matches!(side.ended, super::run::Ended::Exited(0))) {
        words.insert(0, ended);
    }
    words.join(", ")
}

fn outcome(verdict: &CheckVerdict) -> String {
    let changes = Change::ALL.into_iter().filter(|change| change.is_told());
    let present =
        changes.map(|change| (verdict.count(change), change)).filter(|(count, _)| *count > 0);
    let mut words: Vec<String> = vec![verdict.outcome.to_string()];
    words.extend(
        present.map(|(count, change)| format!("{count} {}", change.word().replace(',', ""))),
    );
    if !verdict.new_errors.is_empty() {
        words.push(counted(verdict.new_errors.len(), "new error"));
    }
    words.join("; ")
}

/// A number with its noun: `1 error`, `2 errors`.
pub(super) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// One line of harmless text.
pub(super) fn plain(text: &str) -> String {
    let text = Text::<NAME_BYTES>::new(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A code span, also within a table.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'").replace('|', "\\|"))
}

/// Words of ours with numbers in them, and at most the reason why something was not run.
fn escaped(text: &str) -> String {
    let special = |c: char| "|`*_[]<>@#\\".contains(c);
    let mut out = String::new();
    for c in text.chars() {
        if special(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
