//! How the checks stand: before the change, and with it.

use domain::code::CommitId;
use feedback::{
    checks::LeftOut,
    finding::Finding,
    location::Location,
    verdict::{
        Conclusion, Outcome, Side, Verdict,
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
    pub conclusion: ConclusionRecord,
    pub checks: Vec<CheckRecord>,
    pub weakened: Vec<WeakenedRecord>,
    /// Weakened tests beyond those that are named.
    pub weakened_left_off: u64,
    pub coverage: Option<CoverageRecord>,
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
    /// The outcome as a sentence.
    pub sentence: String,
    pub blocks: bool,
    pub base: Option<SideRecord>,
    pub head: Option<SideRecord>,
    /// Tests of which there is something to tell.
    pub tests: Vec<TestRecord>,
    pub findings: Vec<FindingRecord>,
    /// The end of what it printed on head.
    pub log: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeRecord {
    Passed,
    Fixed,
    Flaky,
    KnownFailure,
    Regressed,
    NotRun,
    Unjudged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideRecord {
    pub ended: String,
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
    pub tool: String,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub rule: Option<String>,
    pub test: Option<String>,
    pub message: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
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
            checks: checks.map(|((it, before), after)| check(it, before, after)).collect(),
            weakened: touched.weakened.weakened.iter().map(weakened).collect(),
            weakened_left_off: number(touched.weakened.left_off),
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

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn check(
    verdict: &feedback::verdict::CheckVerdict,
    before: &[Captured],
    after: &[Captured],
) -> CheckRecord {
    let side = |side: &Option<Side>, runs: &[Captured]| {
        side.as_ref().map(|side| SideRecord {
            ended: side.ended.to_string(),
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
    let findings = verdict.new_errors.iter().chain(&verdict.failures);
    CheckRecord {
        name: verdict.check.name.clone(),
        kind: verdict.check.kind.as_str().to_owned(),
        command: verdict.check.command.as_str().to_owned(),
        directory: verdict.check.directory.as_str().to_owned(),
        file: verdict.check.why.file.clone(),
        why: verdict.check.why.to_string(),
        outcome: outcome(verdict.outcome),
        sentence: verdict.outcome.to_string(),
        blocks: verdict.blocks(),
        base: side(&verdict.base, before),
        head: side(&verdict.head, after),
        tests: tests.collect(),
        findings: findings.take(FINDINGS).map(finding).collect(),
        log: after.first().map(Captured::log).unwrap_or_default(),
    }
}

const fn outcome(outcome: Outcome) -> OutcomeRecord {
    match outcome {
        Outcome::Passed => OutcomeRecord::Passed,
        Outcome::Fixed => OutcomeRecord::Fixed,
        Outcome::Flaky => OutcomeRecord::Flaky,
        Outcome::KnownFailure => OutcomeRecord::KnownFailure,
        Outcome::Regressed(_) => OutcomeRecord::Regressed,
        // What the change judges itself by is, for whoever reads, as if there had been no check; the sentence says why.
        Outcome::NotRun | Outcome::Brought => OutcomeRecord::NotRun,
        Outcome::Unjudged => OutcomeRecord::Unjudged,
    }
}

fn finding(finding: &Finding) -> FindingRecord {
    let (path, line) = match &finding.place {
        Location::Inside { file, line, .. } => (Some(file.to_string()), *line),
        Location::Outside(place) => (Some(place.to_string()), None),
        Location::Unsaid => (None, None),
    };
    FindingRecord {
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
