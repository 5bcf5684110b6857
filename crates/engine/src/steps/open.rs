//! Opens the sandbox for the work that comes next, or wakes the one that rests.
//!
//! Research and implementation never share a sandbox: when a plan was approved, a new one is opened
//! and the one that the plan was made in is destroyed. A repeat opens the same one.

use contracts::{
    forge::{ForgeError, Forges as _},
    outfit::{Outfit, OutfitError, Wanted},
    sandbox::{Checkout, Owner, SandboxError, Sandboxes as _, Spec, Use, WorkspaceAccess},
    secret::SecretSource as _,
};
use domain::{
    code::{Access, CommitId, RepositoryName},
    failure::FailureKind,
    id::SandboxId,
    task::{Event, Leftovers, Purpose, Report, Work, Workspace},
};
use store::Recorded;

use super::{Done, Outcome, Scene, Trouble, setup};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let purpose = scene.task.stage.work().map_or(Purpose::Research, Work::purpose);
    let sandboxes = scene.hands().sandboxes();
    let commit = starting_point(scene, purpose).await?;
    let (opened, commit) = match &scene.task.workspace {
        Some(rests) if rests.purpose == purpose => {
            let again = spec(scene, rests.sandbox, purpose, &commit).await?;
            match sandboxes.open(&again).await {
                // Waking changes nothing inside.
                Ok(()) => (rests.sandbox, rests.commit.clone()),
                // It did not survive its rest. A fresh one takes its place.
                Err(SandboxError::Destroyed { .. } | SandboxError::Lost { .. }) => {
                    (open_new(scene, purpose, &commit).await?, commit)
                }
                Err(error) => return Err(scene.sandbox_trouble(&error)),
            }
        }
        Some(_) | None => (open_new(scene, purpose, &commit).await?, commit),
    };
    let former = scene.task.workspace.as_ref().filter(|it| it.sandbox != opened);
    if let Some(Workspace { sandbox, .. }) = former {
        let gone = sandboxes.destroy(*sandbox).await;
        gone.map_err(|error| scene.sandbox_trouble(&error))?;
    }
    let secrets = scene.hands().secrets();
    let revoked = secrets.revoke(scene.key("credentials")).await;
    revoked.map_err(|error| Trouble::Busy(error.to_string()))?;
    grant(scene, opened).await?;
    let left = leftovers(scene, opened, purpose)?;
    Ok(Done::Reports(vec![Report::Prepared { sandbox: opened, commit, left }]))
}

/// What a setup or a hook had done to the checkout. Told where it matters, which is where a change is made.
fn leftovers<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    purpose: Purpose,
) -> Result<Leftovers, Trouble> {
    match purpose {
        Purpose::Implement => {}
        Purpose::Research | Purpose::Verify | Purpose::Review => return Ok(Leftovers::default()),
    }
    let handed = scene.hands().sandboxes().handed_over(sandbox, scene.repository()?);
    let handed = handed.map_err(|error| scene.sandbox_trouble(&error))?;
    let restored = handed.restored.iter().map(String::as_str);
    let left = handed.touched.iter().map(|one| one.path.as_str());
    Ok(Leftovers::told(restored, left, handed.left_off))
}

/// Lets credentials be handed out for `sandbox`.
pub(super) async fn grant<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
) -> Result<(), Trouble> {
    let granted = scene.hands().secrets().grant(scene.key("credentials"), sandbox).await;
    granted.map_err(|error| Trouble::Busy(error.to_string()))
}

async fn open_new<H: Hands>(
    scene: &Scene<'_, H>,
    purpose: Purpose,
    commit: &CommitId,
) -> Result<SandboxId, Trouble> {
    let id = scene.new_workspace();
    let spec = spec(scene, id, purpose, commit).await?;
    let opened = scene.hands().sandboxes().open(&spec).await;
    opened.map_err(|error| scene.sandbox_trouble(&error))?;
    Ok(id)
}

/// Where work begins: on the task's own newest change, if it has made one under this plan or in its pull request, which is also what is
/// looked at for another plan; otherwise on the newest commit of the default branch.
async fn starting_point<H: Hands>(
    scene: &Scene<'_, H>,
    purpose: Purpose,
) -> Result<CommitId, Trouble> {
    let own = match purpose {
        Purpose::Implement => scene.newest_change(),
        Purpose::Research | Purpose::Verify | Purpose::Review => scene.delivered_change(),
    };
    match own {
        Some((_, commit, _)) => Ok(commit.clone()),
        None => head(scene, scene.repository()?).await,
    }
}

async fn head<H: Hands>(
    scene: &Scene<'_, H>,
    repository: &RepositoryName,
) -> Result<CommitId, Trouble> {
    let head = scene.hands().forges().head(repository).await;
    head.map_err(|error| forge_trouble(scene, &error))
}

/// A sandbox with the task's repositories: the first at `commit`, the others at their heads.
pub(super) async fn spec<H: Hands>(
    scene: &Scene<'_, H>,
    id: SandboxId,
    purpose: Purpose,
    commit: &CommitId,
) -> Result<Spec, Trouble> {
    let outfit = outfit(scene, purpose).await?;
    let mut sources = Vec::with_capacity(scene.request.repositories.len());
    for used in &scene.request.repositories {
        let commit =
            if sources.is_empty() { commit.clone() } else { head(scene, &used.name).await? };
        let access = match purpose {
            Purpose::Implement => used.access,
            Purpose::Research | Purpose::Verify | Purpose::Review => Access::Read,
        };
        sources.push(Checkout { repository: used.name.clone(), commit, access });
    }
    let mandate = scene.task.stage.mandate();
    Ok(Spec {
        id,
        name: None,
        owner: Owner::Task(scene.lease.task),
        purpose: Use::Phase(purpose),
        image: outfit.image,
        tier: outfit.tier,
        compute: outfit.compute,
        sources,
        hooks: outfit.hooks,
        workspace: access(purpose),
        conditions: mandate.map(|mandate| mandate.approval().conditions.clone()),
        network: outfit.network,
    })
}

/// What a sandbox for `purpose` is made of, and what it may reach. Before the gate there is no branch to push to.
pub(super) async fn outfit<H: Hands>(
    scene: &Scene<'_, H>,
    purpose: Purpose,
) -> Result<Outfit, Trouble> {
    let mandate = scene.task.stage.mandate();
    let branch = mandate.map(|_approved| scene.branch()).transpose()?;
    let wanted = Wanted {
        task: scene.lease.task,
        request: &scene.request,
        purpose,
        conditions: mandate.map(|mandate| &mandate.approval().conditions),
        budget: scene.task.budget(),
        branch: branch.as_ref(),
        taken_up: taken_up(scene),
        asked_at: scene.asked_at(),
        news: None,
    };
    let fitted = setup::told(scene, wanted).await;
    fitted.map_err(|error| outfit_trouble(scene, &error))
}

/// When a person last resumed or retried the task: whoever does has seen why it stopped, and may have mended the server's files.
fn taken_up<H: Hands>(scene: &Scene<'_, H>) -> u64 {
    let by_person =
        |it: &&Recorded| matches!(it.event, Event::Resumed { .. } | Event::Retried { .. });
    scene.history.events.iter().rev().find(by_person).map_or(0, |it| it.seq)
}

pub(super) fn outfit_trouble<H: Hands>(scene: &Scene<'_, H>, error: &OutfitError) -> Trouble {
    match error {
        OutfitError::Busy { reason } => Trouble::Busy(reason.clone()),
        OutfitError::Refused { reason } => scene.failed(FailureKind::SetupFailed, reason),
        OutfitError::Blocked { reason } => scene.failed(FailureKind::EgressBlocked, reason),
        OutfitError::Image(error) => scene.sandbox_trouble(error),
    }
}

/// Who only reads gets nothing that could be written, whatever its agent thinks of it. Checks write beside what they check.
const fn access(purpose: Purpose) -> WorkspaceAccess {
    match purpose {
        Purpose::Research | Purpose::Review => WorkspaceAccess::ReadOnly,
        Purpose::Implement | Purpose::Verify => WorkspaceAccess::Writable,
    }
}

pub(super) fn forge_trouble<H: Hands>(scene: &Scene<'_, H>, error: &ForgeError) -> Trouble {
    let reason = error.to_string();
    match error {
        ForgeError::Busy { .. } => Trouble::Busy(reason),
        ForgeError::Refused { .. } => scene.failed(FailureKind::DeliveryRefused, reason),
        ForgeError::NothingChanged => scene.failed(FailureKind::NoProgress, reason),
        ForgeError::NoRepository(_)
        | ForgeError::Rejected { .. }
        | ForgeError::TakenOver { .. } => scene.failed(FailureKind::ForgeError, reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_reads_gets_a_workspace_that_cannot_be_written() {
        for (purpose, expected) in [
            (Purpose::Research, WorkspaceAccess::ReadOnly),
            (Purpose::Review, WorkspaceAccess::ReadOnly),
            (Purpose::Implement, WorkspaceAccess::Writable),
            (Purpose::Verify, WorkspaceAccess::Writable),
        ] {
            assert_eq!(access(purpose), expected, "{purpose:?}");
        }
    }
}
