//! One test, on base and on head.

use std::collections::BTreeMap;

use super::run::{Run, State};
use crate::test::{Outcome, TestName};

/// What happened to a test between base and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Passed on base, fails on head each time.
    Regression,
    /// Was not there, or was skipped, and fails.
    NewFailing,
    /// Differs between runs of the same commit.
    Flaky,
    /// Ran on base, is skipped on head.
    NewlySkipped,
    /// Was there on base, and the whole run on head had none of this name.
    Removed,
    /// Fails on both.
    KnownFailure,
    /// Failed on base, passes on head.
    Fixed,
    NewPassing,
    NewSkipped,
    /// Was there on base, but the run on head ended before all had their turn.
    NotReached,
    StillSkipped,
    Steady,
}

/// A test of which there is something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestVerdict {
    pub name: TestName,
    pub change: Change,
}

/// How a test ended in all runs of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Skipped,
    Passed,
    Failed,
    Mixed,
}

impl Change {
    pub const ALL: [Self; 12] = [
        Self::Regression,
        Self::NewFailing,
        Self::Flaky,
        Self::NewlySkipped,
        Self::Removed,
        Self::KnownFailure,
        Self::Fixed,
        Self::NewPassing,
        Self::NewSkipped,
        Self::NotReached,
        Self::StillSkipped,
        Self::Steady,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NewFailing => "new, failing",
            Self::Flaky => "flaky",
            Self::NewlySkipped => "newly skipped",
            Self::Removed => "removed",
            Self::KnownFailure => "known failure",
            Self::Fixed => "fixed",
            Self::NewPassing => "new, passing",
            Self::NewSkipped => "new, skipped",
            Self::NotReached => "not reached",
            Self::StillSkipped => "still skipped",
            Self::Steady => "steady",
        }
    }

    /// Whether this alone makes a check fail.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Regression | Self::NewFailing => true,
            Self::Flaky
            | Self::NewlySkipped
            | Self::Removed
            | Self::KnownFailure
            | Self::Fixed
            | Self::NewPassing
            | Self::NewSkipped
            | Self::NotReached
            | Self::StillSkipped
            | Self::Steady => false,
        }
    }

    fn between(base: Option<Seen>, head: Option<Seen>) -> Self {
        match (base, head) {
            (Some(Seen::Mixed), Some(Seen::Passed | Seen::Failed | Seen::Mixed))
            | (_, Some(Seen::Mixed)) => Self::Flaky,
            (Some(Seen::Passed), Some(Seen::Passed)) => Self::Steady,
            (Some(Seen::Passed), Some(Seen::Failed)) => Self::Regression,
            (Some(Seen::Failed), Some(Seen::Passed)) => Self::Fixed,
            (Some(Seen::Failed), Some(Seen::Failed)) => Self::KnownFailure,
            (Some(Seen::Skipped), Some(Seen::Skipped)) => Self::StillSkipped,
            (Some(Seen::Passed | Seen::Failed | Seen::Mixed), Some(Seen::Skipped)) => {
                Self::NewlySkipped
            }
            (Some(Seen::Skipped) | None, Some(Seen::Passed)) => Self::NewPassing,
            (Some(Seen::Skipped) | None, Some(Seen::Failed)) => Self::NewFailing,
            (None, Some(Seen::Skipped)) => Self::NewSkipped,
            (Some(_) | None, None) => Self::Removed,
        }
    }
}

impl Seen {
    fn once(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Skipped => Self::Skipped,
            Outcome::Passed => Self::Passed,
            Outcome::Failed | Outcome::TimedOut => Self::Failed,
            Outcome::Flaky => Self::Mixed,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Skipped, other) | (other, Self::Skipped) => other,
            (Self::Passed, Self::Passed) => Self::Passed,
            (Self::Failed, Self::Failed) => Self::Failed,
            (
                Self::Passed | Self::Failed | Self::Mixed,
                Self::Passed | Self::Failed | Self::Mixed,
            ) => Self::Mixed,
        }
    }
}

/// All tests of both sides, by name. Tests that are missing on head are called removed; whether the run got that far is looked at
/// afterwards.
pub(super) fn compare(base: &[Run], head: &[Run]) -> BTreeMap<TestName, Change> {
    let (base, head) = (seen(base), seen(head));
    let changed = head
        .iter()
        .map(|(name, seen)| (*name, Change::between(base.get(name).copied(), Some(*seen))));
    let missing =
        base.keys().filter(|name| !head.contains_key(*name)).map(|name| (*name, Change::Removed));
    changed.chain(missing).map(|(name, change)| (name.clone(), change)).collect()
}

fn seen(runs: &[Run]) -> BTreeMap<&TestName, Seen> {
    let mut all: BTreeMap<&TestName, Seen> = BTreeMap::new();
    for test in runs.iter().flat_map(|run| run.report.tests()) {
        let once = Seen::once(test.outcome);
        all.entry(&test.name).and_modify(|seen| *seen = seen.and(once)).or_insert(once);
    }
    all
}

/// Did head get to its end, so that a test which is not there is gone?
///
/// A run that passed did. One that failed may have stopped at its first failure, as `cargo test` does between programs, unless it fails
/// only as it did before.
pub(super) fn reached_all(
    head: &[Run],
    tests: &BTreeMap<TestName, Change>,
    has_new_errors: HasNewErrors,
) -> bool {
    let is_whole =
        |run: &&Run| run.report.left_off().tests == 0 && run.report.left_off().bytes == 0;
    let whole = || head.iter().filter(is_whole);
    if whole().any(|run| run.state() == State::Passed) {
        return true;
    }
    let fails_as_before = tests.values().any(|change| *change == Change::KnownFailure)
        && !tests.values().any(|change| change.is_fault() || *change == Change::Flaky);
    whole().any(|run| run.state() == State::Failed)
        && fails_as_before
        && has_new_errors == HasNewErrors::No
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasNewErrors {
    Yes,
    No,
}
