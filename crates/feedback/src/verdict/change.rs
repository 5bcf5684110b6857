//! One test, on base and on head.

use crate::{
    naming::Names,
    test::{Outcome, TestName},
};

/// What happened to a test between base and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Passed on base, fails on head each time.
    Regression,
    /// Was not there, or was skipped, and fails.
    NewFailing,
    /// Fails, and did not on base, where it passed without being named, or was not there.
    NowFailing,
    /// Fails, and the run on base ended before it, or does not name all that failed.
    FirstFailing,
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
    /// Failed on base, and is not among those that fail on head, where only those are named and no fewer are counted.
    NoLongerFails,
    NewPassing,
    /// Passes, and the run on base ended before it.
    FirstPassing,
    NewSkipped,
    /// Was there on base, but the run on head ended before all had their turn.
    NotReached,
    /// One of both runs does not name it, and does not name all: nothing is known.
    Unnamed,
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
pub(super) enum Seen {
    Skipped,
    Passed,
    Failed,
    Mixed,
}

/// Whether a run got to where a test is, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Yes,
    No,
}

impl Change {
    pub const ALL: [Self; 17] = [
        Self::Regression,
        Self::NewFailing,
        Self::NowFailing,
        Self::FirstFailing,
        Self::Flaky,
        Self::NewlySkipped,
        Self::Removed,
        Self::KnownFailure,
        Self::Fixed,
        Self::NoLongerFails,
        Self::NewPassing,
        Self::FirstPassing,
        Self::NewSkipped,
        Self::NotReached,
        Self::Unnamed,
        Self::StillSkipped,
        Self::Steady,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NewFailing => "new, failing",
            Self::NowFailing => "fails now",
            Self::FirstFailing => "fails, not reached on base",
            Self::Flaky => "flaky",
            Self::NewlySkipped => "newly skipped",
            Self::Removed => "removed",
            Self::KnownFailure => "known failure",
            Self::Fixed => "fixed",
            Self::NoLongerFails => "no longer fails",
            Self::NewPassing => "new, passing",
            Self::FirstPassing => "passes, not reached on base",
            Self::NewSkipped => "new, skipped",
            Self::NotReached => "not reached",
            Self::Unnamed => "not named",
            Self::StillSkipped => "still skipped",
            Self::Steady => "steady",
        }
    }

    /// Whether this alone makes a check fail.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Regression | Self::NewFailing | Self::NowFailing | Self::FirstFailing => true,
            Self::Flaky
            | Self::NewlySkipped
            | Self::Removed
            | Self::KnownFailure
            | Self::Fixed
            | Self::NoLongerFails
            | Self::NewPassing
            | Self::FirstPassing
            | Self::NewSkipped
            | Self::NotReached
            | Self::Unnamed
            | Self::StillSkipped
            | Self::Steady => false,
        }
    }

    /// Whether there is something to tell of the test, and not only to count.
    pub(super) const fn is_told(self) -> bool {
        !matches!(self, Self::Steady | Self::StillSkipped | Self::Unnamed)
    }

    /// Of a test that both sides name.
    pub(super) const fn between(base: Seen, head: Seen) -> Self {
        match (base, head) {
            (Seen::Mixed, Seen::Passed | Seen::Failed | Seen::Mixed) | (_, Seen::Mixed) => {
                Self::Flaky
            }
            (Seen::Passed, Seen::Passed) => Self::Steady,
            (Seen::Passed, Seen::Failed) => Self::Regression,
            (Seen::Failed, Seen::Passed) => Self::Fixed,
            (Seen::Failed, Seen::Failed) => Self::KnownFailure,
            (Seen::Skipped, Seen::Skipped) => Self::StillSkipped,
            (Seen::Passed | Seen::Failed | Seen::Mixed, Seen::Skipped) => Self::NewlySkipped,
            (Seen::Skipped, Seen::Passed) => Self::NewPassing,
            (Seen::Skipped, Seen::Failed) => Self::NewFailing,
        }
    }

    /// Of a test that only head names.
    pub(super) const fn since(base: Names, reached: Reached, head: Seen) -> Self {
        match (head, reached, base) {
            (Seen::Mixed, ..) => Self::Flaky,
            (Seen::Passed, Reached::No, _) => Self::FirstPassing,
            (Seen::Passed, Reached::Yes, Names::All) => Self::NewPassing,
            (Seen::Failed, Reached::Yes, Names::All) => Self::NewFailing,
            (Seen::Failed, Reached::Yes, Names::Failures) => Self::NowFailing,
            (Seen::Failed, Reached::No, _) | (Seen::Failed, Reached::Yes, Names::Some) => {
                Self::FirstFailing
            }
            (Seen::Skipped, Reached::Yes, Names::All) => Self::NewSkipped,
            (Seen::Skipped | Seen::Passed, _, _) => Self::Unnamed,
        }
    }
}

impl Seen {
    pub(super) fn once(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Skipped => Self::Skipped,
            Outcome::Passed => Self::Passed,
            Outcome::Failed | Outcome::TimedOut => Self::Failed,
            Outcome::Flaky => Self::Mixed,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
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
