//! What came of it: checks, review, flags, cost and time.

use domain::{cost::Cost, digest::Digest, money::Money, time::Timestamp};
use serde::{Deserialize, Serialize};

use super::{TEXT_LIMIT, Who, spelling};
use crate::visible::line;

/// One check, as the platform itself ran it on the base and on the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    pub name: String,
    pub command: String,
    /// Nothing, where it was not run on the base.
    pub base: Option<Counts>,
    pub head: Counts,
    pub verdict: Verdict,
}

impl Check {
    /// Name and command are put on one line each, and cut where they are too long.
    pub fn new(
        name: &str,
        command: &str,
        base: Option<Counts>,
        head: Counts,
        verdict: Verdict,
    ) -> Self {
        Self {
            name: line(name, TEXT_LIMIT),
            command: line(command, TEXT_LIMIT),
            base,
            head,
            verdict,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub millis: u64,
}

/// What a check says about the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed,
    /// Failed on the base, passes now.
    Fixed,
    /// Failed on the base and passes now, because what failed is not run any more.
    Gone,
    /// Passed on the base, fails now.
    Regression,
    /// Failed before, and still does.
    KnownFailure,
    /// Fails now and then, on the same commit.
    Flaky,
    /// Fails, and nobody knows how it was before.
    Failed,
    NotRun,
}

impl Verdict {
    /// Whether a change with this verdict is worse than its base.
    pub const fn is_worse(self) -> bool {
        match self {
            Self::Regression | Self::Failed => true,
            Self::Passed
            | Self::Fixed
            | Self::Gone
            | Self::KnownFailure
            | Self::Flaky
            | Self::NotRun => false,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Fixed => "fixed",
            Self::Gone => "what failed is gone",
            Self::Regression => "regression",
            Self::KnownFailure => "known failure",
            Self::Flaky => "flaky",
            Self::Failed => "failed",
            Self::NotRun => "not run",
        }
    }
}

/// How the review ended. Findings themselves are texts of an agent, and stand in the pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Review {
    pub outcome: ReviewOutcome,
    pub rounds: u64,
    pub fixed: u64,
    pub open: u64,
    pub dismissed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOutcome {
    Passed,
    FindingsLeft,
    NotReviewed,
}

impl ReviewOutcome {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::FindingsLeft => "findings left",
            Self::NotReviewed => "not reviewed",
        }
    }
}

/// A finding of the reviewer that a person said does not count (RV1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dismissed {
    /// The hash of what it says and of which file: [`domain::finding::FindingId`].
    #[serde(with = "spelling::plain")]
    pub finding: Digest,
    pub by: Who,
    #[serde(with = "spelling::instant")]
    pub at: Timestamp,
    /// In their words, if they gave a reason.
    pub why: Option<String>,
}

/// Something in the change that deserves a second look (FB4, RV6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flag {
    pub kind: FlagKind,
    pub path: String,
}

impl Flag {
    /// Paths come from an agent's tree: letters that nobody sees are taken out.
    pub fn new(kind: FlagKind, path: &str) -> Self {
        Self { kind, path: line(path, TEXT_LIMIT) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    /// Runs when the repository is opened or used: hooks, editor tasks, settings of tools.
    RunsWhenOpened,
    WorkflowFile,
    TestDeleted,
    TestSkipped,
    TestWeakened,
    Submodule,
    /// A link, a mode, an attribute, characters that hide, or what may be a secret: the text of the pull request says which.
    Odd,
}

impl FlagKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunsWhenOpened => "runs when opened",
            Self::WorkflowFile => "workflow file",
            Self::TestDeleted => "test deleted",
            Self::TestSkipped => "test skipped",
            Self::TestWeakened => "test weakened",
            Self::Submodule => "submodule",
            Self::Odd => "odd",
        }
    }
}

/// What the task used, as metered outside its sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spent {
    #[serde(rename = "moneyMicros", with = "spelling::micros")]
    pub money: Money,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cpu_millis: u64,
    pub memory_mib_seconds: u64,
    pub network_bytes: u64,
}

impl From<Cost> for Spent {
    fn from(cost: Cost) -> Self {
        let Cost {
            money,
            input_tokens,
            output_tokens,
            cpu_millis,
            memory_mib_seconds,
            network_bytes,
        } = cost;
        Self { money, input_tokens, output_tokens, cpu_millis, memory_mib_seconds, network_bytes }
    }
}

/// From the asking to the pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Times {
    #[serde(with = "spelling::instant")]
    pub requested: Timestamp,
    #[serde(with = "spelling::instant")]
    pub delivered: Timestamp,
    /// How long somebody worked on it: without the time in which it waited for people.
    pub worked_millis: u64,
}
