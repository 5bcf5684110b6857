//! Puts the task's sandbox to sleep while a person thinks, so that waiting costs nothing (PL5).
//!
//! What an interrupted step left behind besides the workspace is destroyed.

use contracts::sandbox::{SandboxError, Sandboxes as _};

use super::{Done, Outcome, Scene, side};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let workspace = scene.task.workspace.map(|workspace| workspace.sandbox);
    side::remove_leftovers(scene, &[]).await?;
    let Some(workspace) = workspace else { return Ok(Done::Nothing) };
    match scene.hands().sandboxes().rest(workspace).await {
        Ok(()) | Err(SandboxError::NotFound { .. } | SandboxError::Destroyed { .. }) => {
            Ok(Done::Nothing)
        }
        Err(error) => Err(scene.sandbox_trouble(&error)),
    }
}
