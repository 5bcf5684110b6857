//! Ends what a task had: its sandboxes are destroyed, its credentials withdrawn, its meters settled.
//!
//! Never given up. The bill is what the meters say less what was written down before, so a repeat
//! writes it once.

use contracts::{agent::Agents as _, sandbox::Sandboxes as _, secret::SecretSource as _};
use domain::{cost::Cost, phase::Phase, task::Report};

use super::{Done, Outcome, Scene, Trouble};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let busy = |reason: String| Trouble::Busy(reason);
    let revoked = scene.hands().secrets().revoke(scene.lease.task).await;
    revoked.map_err(|error| busy(error.to_string()))?;
    let sandboxes = scene.hands().sandboxes();
    let listed = sandboxes.list().await.map_err(|error| busy(error.to_string()))?;
    for one in listed.iter().filter(|one| one.owner == scene.lease.task) {
        sandboxes.destroy(one.id).await.map_err(|error| busy(error.to_string()))?;
    }
    let used = sandboxes.bill(scene.lease.task).await.map_err(|error| busy(error.to_string()))?;
    let asked = scene.hands().agents().bill(scene.lease.task).await;
    let bill = used + asked.map_err(|error| busy(error.to_string()))?;
    let cost = bill.since(scene.task.spent);
    if cost == Cost::ZERO {
        return Ok(Done::Nothing);
    }
    Ok(Done::Reports(vec![Report::Charged { phase: Phase::Deliver, cost }]))
}
