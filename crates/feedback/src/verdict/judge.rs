//! From runs to a verdict: first each check, then all together.

use std::{collections::BTreeMap, fmt};

use super::{
    change::{Change, TestVerdict},
    compare::{self, Comparison, HasNewErrors, Lost},
    errors::new_errors,
    run::{Ended, Run, State},
};
use crate::{
    checks::{Check, Confidence},
    finding::Finding,
    naming::{Names, Reach},
    report::Counts,
    test::TestName,
};

/// All runs of one check. The first of each side is the run itself, the others are reruns of the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub check: Check,
    pub base: Vec<Run>,
    pub head: Vec<Run>,
}

/// What a check says about the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// Failed on base, passes on head, and each test that failed is named as one that passes.
    Fixed,
    /// Failed on base, passes on head, and does not name what became of the tests that failed.
    NoLongerFails,
    /// Failed on base, passes on head, and tests that failed are not there any more.
    Gone,
    /// Failed on base, passes on head, and tests that failed are skipped.
    Skipped,
    /// Failed on head once, but not each time, or only by tests that are flaky.
    Flaky,
    /// Fails on both, and no worse than before.
    KnownFailure,
    Regressed(Reason),
    /// It could not be run on head.
    NotRun,
    /// It fails on head, and what it did on base is not known.
    Unjudged,
    /// It does not fail, and is of the change's own making: whoever wrote the change wrote what it would be judged by.
    Brought,
}

/// Why a check is worse than on base. In words by [`fmt::Display`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Tests that passed, or were not there, fail.
    Tests,
    /// Errors that were not there.
    NewErrors,
    /// It ran tests on base, and ended on head before any.
    NoTestReached,
    /// It ran tests on base, runs none on head, and calls that a success.
    NoTestLeft,
    /// It calls itself a success, and ended before tests that base had.
    CutShort,
    /// It was stopped from outside, which it was not on base.
    Stopped,
    /// It failed, and said nothing that tells why.
    Unexplained,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckVerdict {
    pub check: Check,
    pub outcome: Outcome,
    /// Tests of which there is something to tell; the steady ones are only counted.
    pub tests: Vec<TestVerdict>,
    pub counts: BTreeMap<Change, usize>,
    pub new_errors: Vec<Finding>,
    pub base: Option<Side>,
    pub head: Option<Side>,
    /// What head's first run found about the tests that are at fault, or all that it said where no test is.
    pub failures: Vec<Finding>,
    reruns: usize,
    /// How far head's runs got.
    reach: Reach,
}

/// How the first run of one side ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    pub ended: Ended,
    pub counts: Counts,
    /// Whether its report names all tests that are counted.
    pub names: Names,
    /// How far it got, as its runner tells.
    pub reach: Reach,
}

/// All checks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    Passes,
    Fails,
    /// Nothing failed, because nothing that could have failed was run.
    Unproven,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub checks: Vec<CheckVerdict>,
    pub conclusion: Conclusion,
}

pub fn judge(evidence: Vec<Evidence>) -> Verdict {
    let checks: Vec<CheckVerdict> = evidence.into_iter().map(judge_check).collect();
    let conclusion = if checks.iter().any(CheckVerdict::blocks) {
        Conclusion::Fails
    } else if checks.iter().any(CheckVerdict::is_cut_short) {
        Conclusion::Unproven
    } else if checks.iter().any(CheckVerdict::proves) {
        Conclusion::Passes
    } else {
        Conclusion::Unproven
    };
    Verdict { checks, conclusion }
}

impl Verdict {
    pub fn passes(&self) -> bool {
        self.conclusion == Conclusion::Passes
    }

    /// The same verdict, where the repository had no check and all of these came with the change. They can speak against it: what fails,
    /// fails. They cannot speak for it.
    #[must_use]
    pub fn of_checks_that_the_change_brings(mut self) -> Self {
        for check in &mut self.checks {
            check.outcome = match check.outcome {
                Outcome::Passed
                | Outcome::Fixed
                | Outcome::NoLongerFails
                | Outcome::Gone
                | Outcome::Skipped
                | Outcome::Flaky
                | Outcome::Brought => Outcome::Brought,
                stays @ (Outcome::KnownFailure
                | Outcome::Regressed(_)
                | Outcome::NotRun
                | Outcome::Unjudged) => stays,
            };
        }
        self.conclusion = match self.conclusion {
            Conclusion::Passes | Conclusion::Unproven => Conclusion::Unproven,
            Conclusion::Fails => Conclusion::Fails,
        };
        self
    }

    /// The checks that should be run again on head before this is believed: a single failure may be chance.
    pub fn wanted_reruns(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|verdict| verdict.wants_rerun()).map(|verdict| &verdict.check)
    }

    /// What fails, for telling whether an attempt got further than the last one.
    pub fn failing(&self) -> Vec<String> {
        let failing = self.checks.iter().filter(|verdict| verdict.blocks());
        let names = failing.flat_map(|verdict| {
            let name = &verdict.check.name;
            let faults = verdict.tests.iter().filter(|test| test.change.is_fault());
            let tests = faults.map(move |test| format!("{name}: {}", test.name));
            let errors = verdict
                .new_errors
                .iter()
                .map(move |error| format!("{name}: {}: {}", error.place, error.message));
            std::iter::once(name.clone()).chain(tests).chain(errors)
        });
        names.collect()
    }
}

impl CheckVerdict {
    pub fn count(&self, change: Change) -> usize {
        self.counts.get(&change).copied().unwrap_or(0)
    }

    /// Whether the change must not go on because of this check.
    pub fn blocks(&self) -> bool {
        match self.outcome {
            Outcome::Passed
            | Outcome::Fixed
            | Outcome::NoLongerFails
            | Outcome::Gone
            | Outcome::Skipped
            | Outcome::Flaky
            | Outcome::KnownFailure
            | Outcome::Brought => false,
            Outcome::Regressed(_) | Outcome::Unjudged => true,
            // A command that nobody declared and that is not there, on base neither, is no check of this repository.
            Outcome::NotRun => {
                let is_missing = |side: &Option<Side>| {
                    side.as_ref().is_some_and(|side| matches!(side.ended, Ended::Exited(126 | 127)))
                };
                let is_none = is_missing(&self.base) && is_missing(&self.head);
                !is_none || self.check.confidence == Confidence::Declared
            }
        }
    }

    /// Whether it could have failed, and did not.
    fn proves(&self) -> bool {
        match self.outcome {
            Outcome::Passed
            | Outcome::Fixed
            | Outcome::NoLongerFails
            | Outcome::Gone
            | Outcome::Skipped
            | Outcome::Flaky => true,
            // A run that ends early each time shows little, and a change could make it end earlier.
            Outcome::KnownFailure => {
                let some_passed =
                    self.head.as_ref().is_some_and(|side| side.counts.tests.passed > 0);
                some_passed && !self.is_cut_short()
            }
            Outcome::Regressed(_) | Outcome::NotRun | Outcome::Unjudged | Outcome::Brought => false,
        }
    }

    /// Whether it fails as before, and ended before all of its tests had their turn: what it did not reach may be anything.
    fn is_cut_short(&self) -> bool {
        self.outcome == Outcome::KnownFailure
            && (self.count(Change::NotReached) > 0 || self.reach == Reach::Cut)
    }

    fn wants_rerun(&self) -> bool {
        let failed_once = match self.outcome {
            Outcome::Regressed(reason) => match reason {
                // The same code has the same errors, and the same lack of tests, each time.
                Reason::NewErrors | Reason::NoTestLeft | Reason::CutShort => false,
                Reason::Tests | Reason::NoTestReached | Reason::Stopped | Reason::Unexplained => {
                    true
                }
            },
            Outcome::NotRun => self.blocks(),
            Outcome::Unjudged => self.count(Change::FirstFailing) > 0,
            Outcome::Passed
            | Outcome::Fixed
            | Outcome::NoLongerFails
            | Outcome::Gone
            | Outcome::Skipped
            | Outcome::Flaky
            | Outcome::KnownFailure
            | Outcome::Brought => false,
        };
        failed_once && self.reruns == 0
    }
}

fn judge_check(evidence: Evidence) -> CheckVerdict {
    let Evidence { check, base, head } = evidence;
    let (first_base, first_head) = (base.first().map(side), head.first().map(side));
    let reruns = head.len().saturating_sub(1);
    let (base, head) = (started(base), started(head));
    let new_errors = new_errors(&base, &head);
    let has_new_errors = if new_errors.is_empty() { HasNewErrors::No } else { HasNewErrors::Yes };
    let comparison = compare::compare(&base, &head, has_new_errors);
    let outcome = outcome(&base, &head, &comparison, has_new_errors);
    let tests = comparison.changes;
    let mut counts = BTreeMap::new();
    for change in tests.values() {
        *counts.entry(*change).or_insert(0) += 1;
    }
    let reach = head.iter().map(|run| run.report.reach()).max().unwrap_or_default();
    let failures = head.first().map_or(Vec::new(), |run| failures(run, &tests));
    let told = tests.into_iter().filter(|(_, change)| change.is_told());
    let mut tests: Vec<TestVerdict> =
        told.map(|(name, change)| TestVerdict { name, change }).collect();
    tests.sort_by(|a, b| (a.change, &a.name).cmp(&(b.change, &b.name)));
    CheckVerdict {
        check,
        outcome,
        tests,
        counts,
        new_errors,
        base: first_base,
        head: first_head,
        failures,
        reruns,
        reach,
    }
}

fn outcome(
    base: &[Run],
    head: &[Run],
    comparison: &Comparison,
    has_new_errors: HasNewErrors,
) -> Outcome {
    let tests = &comparison.changes;
    let passed = |run: &Run| run.state() == State::Passed;
    let stopped = |run: &Run| run.state() == State::Stopped;
    let ran_tests = |runs: &[Run]| runs.iter().any(|run| run.tests() > 0 || run.report.is_silent());
    let has = |wanted: Change| tests.values().any(|change| *change == wanted);
    let fails_always = !base.is_empty() && !base.iter().any(passed);
    if head.is_empty() {
        return Outcome::NotRun;
    }
    // Also of a run that calls itself a success: `|| true` makes no test pass.
    if tests.values().any(|change| change.is_fault()) {
        let is_known = |change: &Change| change.is_fault() && *change != Change::FirstFailing;
        let is_judged = !base.is_empty() && tests.values().any(is_known);
        return if is_judged { Outcome::Regressed(Reason::Tests) } else { Outcome::Unjudged };
    }
    if head.iter().any(passed) {
        return match () {
            () if ran_tests(base) && !ran_tests(head) => Outcome::Regressed(Reason::NoTestLeft),
            () if has(Change::NotReached) => Outcome::Regressed(Reason::CutShort),
            () if !head.iter().all(passed) => Outcome::Flaky,
            // Nor does it make one fixed that fails as it did.
            () if fails_always && has(Change::KnownFailure) => Outcome::KnownFailure,
            () if fails_always => match comparison.lost {
                Lost::Removed => Outcome::Gone,
                Lost::Skipped => Outcome::Skipped,
                Lost::Unnamed => Outcome::NoLongerFails,
                Lost::Nothing => Outcome::Fixed,
            },
            () => Outcome::Passed,
        };
    }
    if base.is_empty() {
        return Outcome::Unjudged;
    }
    if ran_tests(base) && !ran_tests(head) {
        let reason = if head.iter().all(stopped) { Reason::Stopped } else { Reason::NoTestReached };
        return Outcome::Regressed(reason);
    }
    if head.iter().all(stopped) && !base.iter().all(stopped) {
        return Outcome::Regressed(Reason::Stopped);
    }
    if has_new_errors == HasNewErrors::Yes {
        return Outcome::Regressed(Reason::NewErrors);
    }
    if fails_always && !has_more_errors(base, head) {
        return Outcome::KnownFailure;
    }
    let only_flaky_fail = |run: &Run| {
        let mut failing =
            run.report.tests().iter().filter(|test| test.outcome.is_failure()).peekable();
        let some_fail = failing.peek().is_some();
        let all_flaky = failing.all(|test| tests.get(&test.name) == Some(&Change::Flaky));
        run.state() == State::Failed && some_fail && all_flaky && run.report.left_off().tests == 0
    };
    if !fails_always && head.iter().all(only_flaky_fail) {
        return Outcome::Flaky;
    }
    Outcome::Regressed(Reason::Unexplained)
}

/// More errors than were kept, or more failing tests than are named: then only the numbers can be compared.
fn has_more_errors(base: &[Run], head: &[Run]) -> bool {
    let most = |runs: &[Run], count: fn(&Counts) -> u64| {
        runs.iter().map(|run| count(&run.report.counts())).max()
    };
    let is_cut = head.iter().any(|run| !run.report.left_off().is_nothing());
    is_cut
        && (most(head, |counts| counts.errors) > most(base, |counts| counts.errors)
            || most(head, |counts| counts.tests.failed) > most(base, |counts| counts.tests.failed))
}

fn started(runs: Vec<Run>) -> Vec<Run> {
    runs.into_iter().filter(|run| run.state() != State::NotRun).collect()
}

fn side(run: &Run) -> Side {
    let report = &run.report;
    let (counts, names, reach) = (report.counts(), report.names(), report.reach());
    Side { ended: run.ended.clone(), counts, names, reach }
}

/// What was found about the tests that are the change's fault. Where no test is, all that the run said.
fn failures(run: &Run, tests: &BTreeMap<TestName, Change>) -> Vec<Finding> {
    let is_fault = |name: &TestName| tests.get(name).is_some_and(|change| change.is_fault());
    let no_test_is = !tests.values().any(|change| change.is_fault());
    let about = |finding: &&Finding| finding.test.as_ref().map_or(no_test_is, is_fault);
    let mut found: Vec<Finding> = run.report.findings().iter().filter(about).cloned().collect();
    // The worst first, else as they were printed: whoever reads the beginning reads why it failed.
    found.sort_by_key(|finding| finding.kind);
    found
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tests => "tests fail that did not fail before",
            Self::NewErrors => "there are errors that were not there before",
            Self::NoTestReached => "it ended before its first test",
            Self::NoTestLeft => "it ran tests before, and runs none now",
            Self::CutShort => "it calls itself a success, and ended before tests that were there",
            Self::Stopped => "it had to be stopped, which it had not before",
            Self::Unexplained => "it passed before and fails now, without saying why",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Fixed => f.write_str("fixed"),
            Self::NoLongerFails => f.write_str("no longer fails"),
            Self::Gone => f.write_str("what failed is gone"),
            Self::Skipped => f.write_str("what failed is skipped"),
            Self::Flaky => f.write_str("flaky"),
            Self::KnownFailure => f.write_str("known failure"),
            Self::Regressed(reason) => write!(f, "regression: {reason}"),
            Self::NotRun => f.write_str("not run"),
            Self::Unjudged => f.write_str("fails, and base is not known"),
            Self::Brought => f.write_str("brought by the change, so it proves nothing"),
        }
    }
}
