//! What of a task is in its pull request, as its own events tell it. The record in a repository can be rewritten by whoever may push there.

use domain::{
    attempts::{Merits, Proof},
    code::{BranchName, CommitId},
    digest::Digest,
    headline::Conclusion,
    money::Money,
    task::Event,
};
use evidence::{envelope::Envelope, receipt::Statement};
use store::{Blobs, History, Recorded};

use crate::record::{ChangeRecord, ChecksRecord, OutcomeRecord};

/// The branch of the task's pull request, as its newest receipt tells it. None before there is one. A template names branches, but only
/// until they are pushed: one that people know keeps its name.
pub fn delivered_branch(history: &History, blobs: &Blobs) -> Option<BranchName> {
    newest_receipt(history, blobs)?.receipt.branch.as_str().parse().ok()
}

/// The branch that the task's pull request goes into, as its newest receipt tells it. None before there is one, and for those from before that was kept.
pub(crate) fn delivered_base(history: &History, blobs: &Blobs) -> Option<String> {
    newest_receipt(history, blobs)?.receipt.into
}

fn newest_receipt(history: &History, blobs: &Blobs) -> Option<Statement> {
    let receipt = history.events.iter().rev().find_map(|recorded| {
        let Event::PullRequestOpened { receipt, .. } = &recorded.event else { return None };
        Some(*receipt)
    });
    let bytes = blobs.get(receipt?).ok()?;
    Statement::read(Envelope::read(&bytes).ok()?.payload()).ok()
}

/// The commits that the task has made, the newest first.
pub(crate) fn own_commits(history: &History) -> Vec<CommitId> {
    let changes = history.events.iter().rev().filter_map(change);
    changes.map(|change| change.commit.clone()).collect()
}

/// A change: the commit that it began from, its own, and what was found when it was taken.
#[derive(Debug, Clone, Copy)]
pub struct TaskChange<'h> {
    pub base: &'h CommitId,
    pub commit: &'h CommitId,
    pub difference: Digest,
    pub record: Digest,
}

/// The newest change, delivered or not.
pub fn newest_change(history: &History) -> Option<TaskChange<'_>> {
    history.events.iter().rev().find_map(change)
}

/// The change that is in the pull request.
pub(crate) fn delivered_change(history: &History) -> Option<TaskChange<'_>> {
    until_delivered(history).find_map(change)
}

/// What one event says of a change.
pub(crate) fn change(recorded: &Recorded) -> Option<TaskChange<'_>> {
    let Event::Implemented { base, commit, difference, record, .. } = &recorded.event else {
        return None;
    };
    Some(TaskChange { base, commit, difference: *difference, record: *record })
}

/// What speaks for the change that is in the pull request, beside other attempts. None before there is one, and where a document is missing.
pub fn merits(history: &History, blobs: &Blobs, money: Money) -> Option<Merits> {
    let change = blobs.get(delivered_change(history)?.record).ok()?;
    let change = ChangeRecord::read(&change).ok()?;
    let evidence = until_delivered(history).find_map(|recorded| {
        let Event::ChecksPassed { evidence } = &recorded.event else { return None };
        Some(*evidence)
    });
    let checks = ChecksRecord::read(&blobs.get(evidence?).ok()?).ok()?;
    let ended = |outcome| count(checks.checks.iter().filter(|check| check.outcome == outcome));
    let headline = checks.headline();
    Some(Merits {
        proof: match headline.conclusion {
            Conclusion::Passed | Conclusion::NothingWorse => Proof::Proven,
            Conclusion::Unproven(_) | Conclusion::Failed => Proof::Unproven,
        },
        weakened: count(checks.weakened.iter()).saturating_add(checks.weakened_left_off),
        mended: headline.mended,
        failing: ended(OutcomeRecord::KnownFailure),
        flagged: count(change.flags.iter()),
        uncovered: checks.coverage.as_ref().map_or(0, |coverage| coverage.missed),
        files: count(change.paths.iter()),
        money,
    })
}

/// What happened before the newest delivery, the newest first.
fn until_delivered(history: &History) -> impl Iterator<Item = &Recorded> {
    let is_inside = |it: &&Recorded| !matches!(it.event, Event::PullRequestOpened { .. });
    history.events.iter().rev().skip_while(is_inside)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}
