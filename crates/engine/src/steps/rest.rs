//! Puts the task's sandbox to sleep while a person thinks, so that waiting costs nothing (PL5).
//!
//! What an interrupted step left behind besides the workspace is destroyed.

use contracts::{
    sandbox::{SandboxError, Sandboxes as _},
    secret::SecretSource as _,
};

use super::{Done, Outcome, Scene, Trouble, side};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let workspace = scene.task.workspace.as_ref().map(|workspace| workspace.sandbox);
    // A sleeping sandbox needs no credentials; waking it grants them anew.
    let revoked = scene.hands().secrets().revoke(scene.key("credentials")).await;
    revoked.map_err(|error| Trouble::Busy(error.to_string()))?;
    side::remove_leftovers(scene, &[]).await?;
    let Some(workspace) = workspace else { return Ok(Done::Nothing) };
    match scene.hands().sandboxes().rest(workspace).await {
        Ok(()) | Err(SandboxError::NotFound { .. } | SandboxError::Destroyed { .. }) => {
            Ok(Done::Nothing)
        }
        Err(error) => Err(scene.sandbox_trouble(&error)),
    }
}
