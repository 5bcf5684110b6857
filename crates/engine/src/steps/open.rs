//! Opens the sandbox for the work that comes next, or wakes the one that rests.
//!
//! Research and implementation never share a sandbox: when a plan was approved, a new one is opened
//! and the one that the plan was made in is destroyed. A repeat opens the same one.

use contracts::{
    forge::{ForgeError, Forges as _},
    sandbox::{Checkout, Compute, SandboxError, Sandboxes as _, Spec},
};
use domain::{
    code::{Access, CommitId},
    failure::FailureKind,
    id::SandboxId,
    task::{Purpose, Report, Workspace},
};

use super::{Done, Outcome, Scene, Trouble};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let purpose = scene.task.stage.work().map_or(Purpose::Research, domain::task::Work::purpose);
    let sandboxes = scene.hands().sandboxes();
    let commit = head(scene).await?;
    let opened = match scene.task.workspace {
        Some(rests) if rests.purpose == purpose => {
            let again = spec(scene, rests.sandbox, purpose, &commit)?;
            match sandboxes.open(&again).await {
                Ok(()) => rests.sandbox,
                // It did not survive its rest. A fresh one takes its place.
                Err(SandboxError::Destroyed { .. } | SandboxError::Lost { .. }) => {
                    open_new(scene, purpose, &commit).await?
                }
                Err(error) => return Err(scene.sandbox_trouble(&error)),
            }
        }
        Some(_) | None => open_new(scene, purpose, &commit).await?,
    };
    if let Some(Workspace { sandbox, .. }) = scene.task.workspace.filter(|it| it.sandbox != opened)
    {
        let gone = sandboxes.destroy(sandbox).await;
        gone.map_err(|error| scene.sandbox_trouble(&error))?;
    }
    Ok(Done::Reports(vec![Report::Prepared { sandbox: opened }]))
}

async fn open_new<H: Hands>(
    scene: &Scene<'_, H>,
    purpose: Purpose,
    commit: &CommitId,
) -> Result<SandboxId, Trouble> {
    let id = scene.new_workspace();
    let spec = spec(scene, id, purpose, commit)?;
    let opened = scene.hands().sandboxes().open(&spec).await;
    opened.map_err(|error| scene.sandbox_trouble(&error))?;
    Ok(id)
}

pub(super) async fn head<H: Hands>(scene: &Scene<'_, H>) -> Result<CommitId, Trouble> {
    let head = scene.hands().forges().head(scene.repository()?).await;
    head.map_err(|error| forge_trouble(scene, &error))
}

pub(super) fn spec<H: Hands>(
    scene: &Scene<'_, H>,
    id: SandboxId,
    purpose: Purpose,
    commit: &CommitId,
) -> Result<Spec, Trouble> {
    let settings = &scene.engine.settings;
    let access = match purpose {
        Purpose::Research => Access::Read,
        Purpose::Implement => Access::Write,
    };
    Ok(Spec {
        id,
        owner: scene.lease.task,
        purpose,
        image: settings.image.clone(),
        tier: settings.tier,
        compute: Compute::default(),
        sources: vec![Checkout {
            repository: scene.repository()?.clone(),
            commit: commit.clone(),
            access,
        }],
    })
}

pub(super) fn forge_trouble<H: Hands>(scene: &Scene<'_, H>, error: &ForgeError) -> Trouble {
    let reason = error.to_string();
    match error {
        ForgeError::Busy { .. } => Trouble::Busy(reason),
        ForgeError::Refused { .. } => scene.failed(FailureKind::DeliveryRefused, reason),
        ForgeError::NothingChanged => scene.failed(FailureKind::NoProgress, reason),
        ForgeError::NoRepository(_) | ForgeError::Rejected { .. } => {
            scene.failed(FailureKind::ForgeError, reason)
        }
    }
}
