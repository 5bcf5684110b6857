//! How the checks stand: before the change, and with it.

use std::collections::BTreeMap;

use domain::code::CommitId;
use feedback::{
    checks::LeftOut,
    finding::{Finding, Kind},
    location::Location,
    missing::{Missing, missing},
    verdict::{
        CheckVerdict, Conclusion, Ended, Outcome, Side, Verdict, gone,
        weakened::{Weakened, Weakening},
    },
};
use serde::{Deserialize, Serialize};

use crate::{captured::Captured, touched::Touched};

/// Tests of one check that are named.
const TESTS: usize = 200;
/// Findings of one check.
const FINDINGS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksRecord {
    pub base: String,
    pub commit: String,
    /// What was judged. What is said of it is its [headline](Self::headline).
    pub conclusion: ConclusionRecord,
    /// What its sandboxes started from. Older documents do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    pub checks: Vec<CheckRecord>,
    pub weakened: Vec<WeakenedRecord>,
    /// Weakened tests beyond those that are named.
    pub weakened_left_off: u64,
    pub coverage: Option<CoverageRecord>,
    /// Why what the project needs was not installed, where that was to be done without anybody's word. Older documents do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unready: Option<String>,
    /// What looks like a check of the repository and was not run.
    #[serde(default)]
    pub left_out: Vec<LeftOutRecord>,
    /// What the agent is told: only what it can do something about.
    pub advice: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutRecord {
    pub command: String,
    pub file: String,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConclusionRecord {
    Passes,
    Fails,
    /// Nothing failed, because nothing that could have failed was run.
    Unproven,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    pub name: String,
    pub kind: String,
    pub command: String,
    pub directory: String,
    /// The file that names it.
    pub file: String,
    /// Why it was chosen, and what it stands for.
    #[serde(default)]
    pub why: String,
    pub outcome: OutcomeRecord,
    /// Whether it came with the change, so that it cannot speak for it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub brought: bool,
    /// The outcome as a sentence.
    pub sentence: String,
    pub blocks: bool,
    pub base: Option<SideRecord>,
    pub head: Option<SideRecord>,
    /// Tests of which there is something to tell.
    pub tests: Vec<TestRecord>,
    /// How many there are of each change. Older documents have only those that they name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, u64>,
    /// Tests that failed before the change and are not run any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone: u64,
    /// The worst first.
    pub findings: Vec<FindingRecord>,
    /// The end of what it printed on head.
    pub log: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeRecord {
    Passed,
    Fixed,
    /// It failed before and passes now, because what failed is not run any more.
    Gone,
    Flaky,
    KnownFailure,
    Regressed,
    NotRun,
    Unjudged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideRecord {
    pub ended: String,
    /// It never began: its figures say nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub not_run: bool,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub errors: u64,
    pub millis: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRecord {
    pub name: String,
    /// `regression`, `fixed`, `new, failing`, …
    pub change: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// Older documents do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<SeverityRecord>,
    pub tool: String,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub rule: Option<String>,
    pub test: Option<String>,
    pub message: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
}

/// How bad a finding is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeverityRecord {
    Error,
    Failure,
    Warning,
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeakenedRecord {
    pub class: WeakenedClass,
    /// In words.
    pub kind: String,
    pub file: String,
    pub line: Option<u32>,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeakenedClass {
    Deleted,
    Skipped,
    Weakened,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRecord {
    /// Changed lines that tests run, and that they could run and do not.
    pub covered: u64,
    pub missed: u64,
}

impl ChecksRecord {
    pub(crate) fn of(
        (base, commit): (&CommitId, &CommitId),
        verdict: &Verdict,
        (before, after): (&[Vec<Captured>], &[Vec<Captured>]),
        touched: &Touched,
        image: &str,
    ) -> Self {
        let checks = verdict.checks.iter().zip(before).zip(after);
        Self {
            base: base.to_string(),
            commit: commit.to_string(),
            conclusion: match verdict.conclusion {
                Conclusion::Passes => ConclusionRecord::Passes,
                Conclusion::Fails => ConclusionRecord::Fails,
                Conclusion::Unproven => ConclusionRecord::Unproven,
            },
            image: Some(image.to_owned()),
            checks: checks.map(|((it, before), after)| check(it, before, after)).collect(),
            weakened: touched.weakened.weakened.iter().map(weakened).collect(),
            weakened_left_off: number(touched.weakened.left_off),
            unready: None,
            coverage: touched.coverage.as_ref().map(|it| CoverageRecord {
                covered: number(it.covered),
                missed: number(it.missed),
            }),
            left_out: Vec::new(),
            advice: verdict.to_agent_text(),
        }
    }

    /// The same, with what was not run.
    pub(crate) fn with_left_out(mut self, left_out: &[LeftOut]) -> Self {
        let records = left_out.iter().map(|it| LeftOutRecord {
            command: it.command.clone(),
            file: it.file.clone(),
            reason: it.reason.clone(),
        });
        self.left_out = records.collect();
        self
    }

    pub(crate) fn to_text(&self) -> String {
        super::write(self)
    }

    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_false(it: &bool) -> bool {
    !*it
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_zero(it: &u64) -> bool {
    *it == 0
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn check(verdict: &CheckVerdict, before: &[Captured], after: &[Captured]) -> CheckRecord {
    let side = |side: &Option<Side>, runs: &[Captured]| {
        side.as_ref().map(|side| SideRecord {
            ended: side.ended.to_string(),
            not_run: is_not_run(side),
            passed: side.counts.tests.passed,
            failed: side.counts.tests.failed,
            skipped: side.counts.tests.skipped,
            errors: side.counts.errors,
            millis: runs.first().map_or(0, |run| run.millis),
        })
    };
    let tests = verdict.tests.iter().take(TESTS).map(|test| TestRecord {
        name: test.name.to_string(),
        change: test.change.word().to_owned(),
    });
    let log = after.first().map(Captured::log).unwrap_or_default();
    let (outcome, sentence) = told(verdict, &log);
    let changes = verdict.counts.iter();
    CheckRecord {
        name: verdict.check.name.clone(),
        kind: verdict.check.kind.as_str().to_owned(),
        command: verdict.check.command.as_str().to_owned(),
        directory: verdict.check.directory.as_str().to_owned(),
        file: verdict.check.why.file.clone(),
        why: verdict.check.why.to_string(),
        outcome,
        brought: verdict.outcome == Outcome::Brought,
        sentence,
        blocks: verdict.blocks(),
        base: side(&verdict.base, before),
        head: side(&verdict.head, after),
        tests: tests.collect(),
        changes: changes
            .map(|(change, count)| (change.word().to_owned(), number(*count)))
            .collect(),
        gone: gone(verdict),
        findings: findings(verdict),
        log,
    }
}

fn is_not_run(side: &Side) -> bool {
    match side.ended {
        Ended::NotRun(_) | Ended::Exited(126 | 127) => !ran_tests(side),
        Ended::Exited(_) | Ended::Killed(_) | Ended::TimedOut | Ended::OutOfMemory => false,
    }
}

const fn ran_tests(side: &Side) -> bool {
    let tests = side.counts.tests;
    tests.passed > 0 || tests.failed > 0 || tests.skipped > 0
}

/// How it ended, and the same as a sentence.
fn told(verdict: &CheckVerdict, log: &str) -> (OutcomeRecord, String) {
    let told = |outcome| (outcome, verdict.outcome.to_string());
    let absent = || match missing(log)? {
        Missing::Program(name) => Some(format!("not run: `{name}` was not found")),
        Missing::Module(name) => Some(format!("not run: Python has no module `{name}`")),
    };
    match verdict.outcome {
        Outcome::Passed | Outcome::NoLongerFails => told(OutcomeRecord::Passed),
        Outcome::Fixed => told(OutcomeRecord::Fixed),
        // Deleting or skipping what failed mends nothing; the sentence says which of the two.
        Outcome::Gone | Outcome::Skipped => told(OutcomeRecord::Gone),
        Outcome::Flaky => told(OutcomeRecord::Flaky),
        // A tool that is not there fails in the same way each time, and has checked nothing.
        Outcome::KnownFailure => match absent() {
            Some(absent) if !verdict.head.as_ref().is_some_and(ran_tests) => {
                (OutcomeRecord::NotRun, absent)
            }
            Some(_) | None => told(OutcomeRecord::KnownFailure),
        },
        Outcome::Regressed(_) => told(OutcomeRecord::Regressed),
        Outcome::NotRun => {
            let sentence = absent().unwrap_or_else(|| verdict.outcome.to_string());
            (OutcomeRecord::NotRun, sentence)
        }
        // What the change judges itself by is, for whoever reads, as if there had been no check; the sentence says why.
        Outcome::Brought => told(OutcomeRecord::NotRun),
        Outcome::Unjudged => told(OutcomeRecord::Unjudged),
    }
}

/// Each once, the worst first: a list is cut at its end, and a compiler's error explains what comes after it.
fn findings(verdict: &CheckVerdict) -> Vec<FindingRecord> {
    let is_new = |finding: &&Finding| verdict.new_errors.contains(finding);
    let others = verdict.failures.iter().filter(|finding| !is_new(finding));
    let mut all: Vec<&Finding> = verdict.new_errors.iter().chain(others).collect();
    all.sort_by_key(|finding| finding.kind);
    all.into_iter().take(FINDINGS).map(finding).collect()
}

const fn severity(kind: Kind) -> SeverityRecord {
    match kind {
        Kind::Error => SeverityRecord::Error,
        Kind::Failure => SeverityRecord::Failure,
        Kind::Warning => SeverityRecord::Warning,
        Kind::Note => SeverityRecord::Note,
    }
}

fn finding(finding: &Finding) -> FindingRecord {
    let (path, line) = match &finding.place {
        Location::Inside { file, line, .. } => (Some(file.to_string()), *line),
        Location::Outside(place) => (Some(place.to_string()), None),
        Location::Unsaid => (None, None),
    };
    FindingRecord {
        severity: Some(severity(finding.kind)),
        tool: finding.tool.name().to_owned(),
        path,
        line,
        rule: finding.rule.as_ref().map(ToString::to_string),
        test: finding.test.as_ref().map(ToString::to_string),
        message: finding.message.to_string(),
        expected: finding.expected.as_ref().map(ToString::to_string),
        actual: finding.actual.as_ref().map(ToString::to_string),
    }
}

const fn class(kind: Weakening) -> WeakenedClass {
    match kind {
        Weakening::FileDeleted
        | Weakening::TestDeleted
        | Weakening::CheckRemoved
        | Weakening::GoneFromRun => WeakenedClass::Deleted,
        Weakening::TestSkipped
        | Weakening::OthersSkipped
        | Weakening::ExpectedToFail
        | Weakening::SkippedInRun => WeakenedClass::Skipped,
        Weakening::AssertionsRemoved
        | Weakening::AlwaysTrue
        | Weakening::Loosened
        | Weakening::CommandTolerant
        | Weakening::CheckChanged
        | Weakening::RunnerTouched
        | Weakening::NotSource
        | Weakening::ThresholdLowered
        | Weakening::SnapshotRewritten
        | Weakening::Unread => WeakenedClass::Weakened,
    }
}

fn weakened(weakened: &Weakened) -> WeakenedRecord {
    WeakenedRecord {
        class: class(weakened.kind),
        kind: weakened.kind.word().to_owned(),
        file: weakened.file.to_string(),
        line: weakened.line,
        what: weakened.what.to_string(),
    }
}
