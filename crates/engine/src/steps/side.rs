//! A clean sandbox besides the workspace, for one step: opened on an exact commit, gone after it.

use contracts::sandbox::{Owner, Sandboxes as _};
use domain::{code::CommitId, id::SandboxId, task::Purpose};

use super::{Scene, Trouble, open as workspace};
use crate::Hands;

/// Opens `sandbox`, after removing what an attempt that crashed has left.
pub(super) async fn open<H: Hands>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    purpose: Purpose,
    commit: &CommitId,
) -> Result<(), Trouble> {
    remove_leftovers(scene, &[sandbox]).await?;
    let spec = workspace::spec(scene, sandbox, purpose, commit).await?;
    let opened = scene.hands().sandboxes().open(&spec).await;
    opened.map_err(|error| scene.sandbox_trouble(&error))
}

/// Destroys `sandbox`, whatever came out of it.
pub(super) async fn close<H: Hands, T>(
    scene: &Scene<'_, H>,
    sandbox: SandboxId,
    came_out: Result<T, Trouble>,
) -> Result<T, Trouble> {
    let gone = scene.hands().sandboxes().destroy(sandbox).await;
    let came_out = came_out?;
    gone.map_err(|error| scene.sandbox_trouble(&error))?;
    Ok(came_out)
}

/// Destroys every sandbox of the task but its workspace and those to `keep`.
pub(super) async fn remove_leftovers<H: Hands>(
    scene: &Scene<'_, H>,
    keep: &[SandboxId],
) -> Result<(), Trouble> {
    let sandboxes = scene.hands().sandboxes();
    let listed = sandboxes.list().await.map_err(|error| scene.sandbox_trouble(&error))?;
    let workspace = scene.task.workspace.as_ref().map(|workspace| workspace.sandbox);
    let ours = Owner::Task(scene.lease.task);
    let left = listed
        .iter()
        .filter(|one| one.owner == ours && !keep.contains(&one.id) && Some(one.id) != workspace);
    for one in left {
        let gone = sandboxes.destroy(one.id).await;
        gone.map_err(|error| scene.sandbox_trouble(&error))?;
    }
    Ok(())
}
