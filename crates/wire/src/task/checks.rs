//! What the platform's own checks found, on the base and on the change.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::Time;

/// The newest verdict of a task's checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checks {
    /// The commit that was checked.
    pub commit: String,
    /// What it was compared with.
    pub base: String,
    pub at: Time,
    pub conclusion: Conclusion,
    /// What all checks say together, as it is told everywhere.
    pub headline: Headline,
    pub checks: Vec<CheckVerdict>,
    /// Tests that were deleted, skipped or made weaker.
    pub weakened: Vec<WeakenedTest>,
    /// How many more were, beside those that are named.
    #[serde(default)]
    pub weakened_left_off: u64,
    /// Why what the project needs was not installed, where its setup was found out and failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unready: Option<String>,
    /// Of the lines that were changed, where a report told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<ChangedCoverage>,
    /// What looks like a check of the repository and was not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutCheck>,
}

/// Something that looks like a check and was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOutCheck {
    pub command: String,
    /// The file that names it.
    pub file: String,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Tests ran, and all is good.
    Passes,
    /// Something fails as it did before, or is gone; nothing fails that did not.
    NothingWorse,
    /// Nothing failed, because nothing that could have failed was run, or no test was.
    Unproven,
    Fails,
}

/// What all checks of a change say together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Headline {
    pub conclusion: Conclusion,
    /// Without a full stop.
    #[schema(example = "nothing got worse: 2 checks fail as before")]
    pub sentence: String,
    /// What a person should know before they merge it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// What to write so that something is proven, where nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
    /// Tests that ran on the change.
    pub tests: u64,
    /// Checks that fail as before.
    pub failing_checks: u64,
    /// Tests that fail as before.
    pub failing_tests: u64,
    /// What failed before and passes now.
    pub mended: u64,
    /// What failed before and is not run any more.
    pub gone: u64,
    /// Checks that could not be run.
    pub not_run: u64,
}

/// One check: what it is, and what it says about the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckVerdict {
    pub name: String,
    /// `build`, `lint` or `test`.
    #[schema(example = "test")]
    pub kind: String,
    pub command: String,
    /// Where it runs, inside the repository.
    pub directory: String,
    /// The file that names it.
    pub file: String,
    /// Why it was chosen, and what it stands for, as a sentence.
    #[serde(default)]
    pub why: String,
    pub outcome: CheckOutcome,
    /// The outcome as a sentence.
    pub sentence: String,
    /// Whether it keeps the change from being delivered.
    pub blocks: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CheckSide>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CheckSide>,
    /// Tests of which there is something to tell.
    pub tests: Vec<TestOfNote>,
    /// The worst first.
    pub findings: Vec<CheckFinding>,
    /// The end of what it printed with the change.
    pub log: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Passed,
    /// Failed on the base, passes now.
    Fixed,
    /// Failed on the base and passes now, because what failed is not run any more.
    Gone,
    /// Failed once, but not each time.
    Flaky,
    /// Fails on both, and no worse than before.
    KnownFailure,
    Regressed,
    /// It could not be run.
    NotRun,
    /// It fails, and what it did on the base is not known.
    Unjudged,
}

/// How it went on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckSide {
    /// `passed`, `exit code 1`, `timed out`.
    pub ended: String,
    /// It never began: its figures say nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_run: bool,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub errors: u64,
    pub millis: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestOfNote {
    pub name: String,
    /// In words: `regression`, `fixed`, `new, failing`, `flaky`.
    pub change: String,
}

/// Something that a tool said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckFinding {
    /// Older documents do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// How bad a finding is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The code cannot be built, or breaks a rule that must hold.
    Error,
    /// A test did not do what it should.
    Failure,
    /// The code breaks a rule that should hold.
    Warning,
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WeakenedTest {
    pub class: WeakenedClass,
    /// In words.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeakenedClass {
    Deleted,
    Skipped,
    Weakened,
}

/// The changed lines that tests run, and those that they could run and do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedCoverage {
    pub covered: u64,
    pub missed: u64,
}
