//! Destroyed: for good.

use super::{
    super::{Kept, keep, succeed},
    stage::Stage,
};
use crate::sandbox::{SandboxError, Sandboxes};

pub(super) async fn is_destroyed_for_good(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    succeed("a sandbox is destroyed", stage.sandboxes.destroy(id).await)?;
    succeed("destroying again changes nothing", stage.sandboxes.destroy(id).await)?;
    keep("a destroyed sandbox is not listed", stage.state(id).await?.is_empty())?;
    let reopened = stage.sandboxes.open(&stage.spec(id)).await;
    keep(
        "a destroyed sandbox does not come back",
        matches!(reopened, Err(SandboxError::Destroyed { .. })),
    )?;
    let answer = stage.run(id, "true").await;
    keep(
        "a command in a destroyed sandbox is refused",
        matches!(answer, Err(SandboxError::NotFound { .. } | SandboxError::Destroyed { .. })),
    )?;
    let resting = stage.open().await?;
    succeed("a sandbox rests", stage.sandboxes.rest(resting).await)?;
    succeed("a resting sandbox is destroyed", stage.sandboxes.destroy(resting).await)?;
    keep("and is not listed", stage.state(resting).await?.is_empty())
}
