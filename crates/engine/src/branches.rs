//! The branch that a task's pull request is on. A template names branches, but only until they are pushed: one that people know keeps its name.

use domain::{code::BranchName, task::Event};
use evidence::{envelope::Envelope, receipt::Statement};
use store::{Blobs, History};

/// The branch of the task's pull request, as its newest receipt tells it. None before there is one.
pub fn delivered_branch(history: &History, blobs: &Blobs) -> Option<BranchName> {
    let receipt = history.events.iter().rev().find_map(|recorded| {
        let Event::PullRequestOpened { receipt, .. } = &recorded.event else { return None };
        Some(*receipt)
    });
    let bytes = blobs.get(receipt?).ok()?;
    let statement = Statement::read(Envelope::read(&bytes).ok()?.payload()).ok()?;
    statement.receipt.branch.as_str().parse().ok()
}
