//! Pushes the branch and opens the pull request, or updates the one that is open.
//!
//! The branch is named after the task, so a repeat finds what the first call made.

use contracts::forge::{Delivery, Forges as _};
use domain::{
    code::BranchName,
    failure::FailureKind,
    id::TaskId,
    task::{Report, Work},
};

use super::{Done, Outcome, Scene, open::forge_trouble};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let Some(Work::Deliver { mandate, commit }) = scene.task.stage.work() else {
        return Err(scene.failed(FailureKind::Internal, "there is no commit to deliver"));
    };
    let branch = branch(scene.lease.task);
    let branch = branch.map_err(|reason| scene.failed(FailureKind::Internal, reason))?;
    let approval = mandate.approval();
    let title = scene.request.text.lines().next().unwrap_or_default().trim();
    let delivery = Delivery {
        repository: scene.repository()?.clone(),
        branch,
        commit: commit.clone(),
        title: title.chars().take(120).collect(),
        body: format!(
            "{}\n\nPlan {} was approved by {}.\nTask {}.",
            scene.request.text, approval.plan, approval.by, scene.lease.task
        ),
    };
    let delivered = scene.hands().forges().deliver(scene.key("pull request"), &delivery).await;
    let pull_request = delivered.map_err(|error| forge_trouble(scene, &error))?;
    Ok(Done::Reports(vec![Report::Delivered { number: pull_request.number }]))
}

fn branch(task: TaskId) -> Result<BranchName, String> {
    let name = format!("{}{task}", BranchName::PREFIX);
    name.parse().map_err(|error: domain::code::CodeNameError| error.to_string())
}
