//! What the checks and the reviewer found, from the documents that a task's events name.

use domain::{id::PersonId, time::Timestamp};
use engine::record::{
    CheckRecord, ChecksRecord, Dismissal, FindingRecord, LeftOutRecord, OutcomeRecord,
    ReviewFinding, ReviewRecord, SideRecord, WeakenedClass, WeakenedRecord,
};
use wire::{
    agent::AgentFinding,
    task::{
        checks as told,
        review::{self as told_review, DismissedFinding, TaskReview},
        shown::Person,
    },
};

use super::{headline, time};

/// What people are called.
type Names<'a> = &'a dyn Fn(PersonId) -> Person;

pub(crate) fn checks(record: ChecksRecord, at: Timestamp) -> told::Checks {
    let headline = headline::headline(&record);
    told::Checks {
        commit: record.commit,
        base: record.base,
        at: time(at),
        conclusion: headline.conclusion,
        headline,
        checks: record.checks.into_iter().map(check).collect(),
        weakened: record.weakened.into_iter().map(weakened).collect(),
        weakened_left_off: record.weakened_left_off,
        unready: record.unready,
        left_out: record.left_out.into_iter().map(left_out).collect(),
        coverage: record
            .coverage
            .map(|it| told::ChangedCoverage { covered: it.covered, missed: it.missed }),
    }
}

fn left_out(record: LeftOutRecord) -> told::LeftOutCheck {
    let LeftOutRecord { command, file, reason } = record;
    told::LeftOutCheck { command, file, reason }
}

fn check(record: CheckRecord) -> told::CheckVerdict {
    let tests = record.tests.into_iter();
    told::CheckVerdict {
        name: record.name,
        kind: record.kind,
        command: record.command,
        directory: record.directory,
        file: record.file,
        why: record.why,
        outcome: match record.outcome {
            OutcomeRecord::Passed => told::CheckOutcome::Passed,
            OutcomeRecord::Fixed => told::CheckOutcome::Fixed,
            OutcomeRecord::Gone => told::CheckOutcome::Gone,
            OutcomeRecord::Flaky => told::CheckOutcome::Flaky,
            OutcomeRecord::KnownFailure => told::CheckOutcome::KnownFailure,
            OutcomeRecord::Regressed => told::CheckOutcome::Regressed,
            OutcomeRecord::NotRun => told::CheckOutcome::NotRun,
            OutcomeRecord::Unjudged => told::CheckOutcome::Unjudged,
        },
        sentence: record.sentence,
        blocks: record.blocks,
        base: record.base.map(side),
        head: record.head.map(side),
        tests: tests.map(|it| told::TestOfNote { name: it.name, change: it.change }).collect(),
        findings: record.findings.into_iter().map(finding).collect(),
        log: record.log,
    }
}

fn side(record: SideRecord) -> told::CheckSide {
    let SideRecord { ended, not_run, passed, failed, skipped, errors, millis } = record;
    told::CheckSide { ended, not_run, passed, failed, skipped, errors, millis }
}

fn finding(record: FindingRecord) -> told::CheckFinding {
    let FindingRecord { severity, tool, path, line, rule, test, message, expected, actual } =
        record;
    let severity = severity.map(headline::severity);
    told::CheckFinding { severity, tool, rule, test, path, line, message, expected, actual }
}

fn weakened(record: WeakenedRecord) -> told::WeakenedTest {
    told::WeakenedTest {
        class: match record.class {
            WeakenedClass::Deleted => told::WeakenedClass::Deleted,
            WeakenedClass::Skipped => told::WeakenedClass::Skipped,
            WeakenedClass::Weakened => told::WeakenedClass::Weakened,
        },
        kind: record.kind,
        path: (!record.file.is_empty()).then_some(record.file),
        line: record.line,
        what: record.what,
    }
}

/// `dismissals` are all of the task's; who is called what says `name`.
pub(crate) fn review(
    record: ReviewRecord,
    at: Timestamp,
    dismissals: &[Dismissal],
    name: Names<'_>,
) -> TaskReview {
    let finding = |it: ReviewFinding| {
        let id = it.id();
        let dismissed = dismissals.iter().find(|dismissal| dismissal.finding == id);
        told_review::ReviewFinding {
            id: id.to_string(),
            path: it.path,
            line: it.line,
            what: it.what,
            failing_input: it.failing_input,
            dismissed: dismissed.map(|it| told_review::Dismissal {
                by: name(it.by),
                at: time(it.at),
                why: it.why.clone(),
            }),
        }
    };
    let findings: Vec<_> = record.findings.into_iter().map(finding).collect();
    TaskReview {
        commit: record.commit,
        at: time(at),
        passed: findings.iter().all(|it| it.dismissed.is_some()),
        round: record.round,
        findings,
    }
}

pub(crate) fn dismissed(dismissal: Dismissal, name: Names<'_>) -> DismissedFinding {
    let finding = dismissal.words.map(|it| AgentFinding {
        path: it.path,
        line: it.line,
        what: it.what,
        failing_input: it.failing_input,
    });
    DismissedFinding {
        id: dismissal.finding.to_string(),
        finding,
        by: name(dismissal.by),
        at: time(dismissal.at),
        why: dismissal.why,
    }
}
