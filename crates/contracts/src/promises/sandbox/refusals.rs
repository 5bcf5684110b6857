//! What is refused, by its right name, with nothing left behind.

use std::time::Duration;

use super::{
    super::{Kept, keep, succeed},
    stage::Stage,
};
use crate::sandbox::{Compute, SandboxError, Sandboxes, Spec};

pub(super) async fn wrong_limits_are_refused(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let right = Compute::default();
    let wrong = [
        Compute { cpu_millis: 0, ..right },
        Compute { memory_mib: 0, ..right },
        Compute { disk_mib: 0, ..right },
        Compute { processes: 0, ..right },
        Compute { lifetime: Duration::ZERO, ..right },
        Compute { memory_mib: u32::MAX, ..right },
    ];
    let id = stage.new_id();
    for compute in wrong {
        let answer = stage.sandboxes.open(&Spec { compute, ..stage.spec(id) }).await;
        keep("a limit out of range is refused", matches!(answer, Err(SandboxError::Limit { .. })))?;
    }
    keep("and nothing is left of it", stage.state(id).await?.is_empty())
}

pub(super) async fn unknown_images_are_refused(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.new_id();
    let key = format!("image:{}", "0".repeat(64));
    for image in ["", "no-such-base", "dir:/no/such/directory", &key] {
        let spec = Spec { image: image.to_owned(), ..stage.spec(id) };
        let answer = stage.sandboxes.open(&spec).await;
        keep("an unknown image is refused", matches!(answer, Err(SandboxError::Image { .. })))?;
    }
    keep("and nothing is left of it", stage.state(id).await?.is_empty())
}

pub(super) async fn missing_tiers_are_refused(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.new_id();
    let capabilities = stage.sandboxes.capabilities();
    for tier in capabilities.missing.keys() {
        let answer = stage.sandboxes.open(&Spec { tier: *tier, ..stage.spec(id) }).await;
        keep(
            "a tier that the host cannot give is refused",
            matches!(answer, Err(SandboxError::TierMissing { tier: told, .. }) if told == *tier),
        )?;
        keep("no tier is both there and missing", !capabilities.tiers.contains(tier))?;
    }
    keep("and nothing is left of it", stage.state(id).await?.is_empty())
}

pub(super) async fn strangers_are_refused(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let stranger = stage.new_id();
    let is_unknown = |error: SandboxError| matches!(error, SandboxError::NotFound { .. });
    let answer = stage.run(stranger, "true").await;
    keep("a command in a sandbox that does not exist is refused", answer.is_err_and(is_unknown))?;
    let sandboxes = stage.sandboxes;
    keep("a stranger is not frozen", sandboxes.freeze(stranger).await.is_err_and(is_unknown))?;
    keep("nor thawed", sandboxes.thaw(stranger).await.is_err_and(is_unknown))?;
    keep("nor put to rest", sandboxes.rest(stranger).await.is_err_and(is_unknown))?;
    keep("nor measured", sandboxes.stats(stranger).await.is_err_and(is_unknown))?;
    succeed("destroying a stranger succeeds", sandboxes.destroy(stranger).await)
}
