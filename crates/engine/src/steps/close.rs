//! Ends what a task had: its sandboxes are destroyed, its credentials withdrawn, its meters read for the
//! last time.
//!
//! Never given up. A repeat finds nothing left to do.
//!
//! The order is what makes the last reading the last. Another engine may have been cut off in the middle of
//! an earlier step and still go on with it. Once the credentials are withdrawn it spends nothing more, and
//! gets no others. What it opens even now, [`crate::keeper`] finds.

use contracts::{
    sandbox::{Owner, Sandboxes as _},
    secret::SecretSource as _,
};

use super::{Done, Outcome, Scene, Trouble};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let busy = |reason: String| Trouble::Busy(reason);
    let revoked = scene.hands().secrets().revoke(scene.key("credentials")).await;
    revoked.map_err(|error| busy(error.to_string()))?;
    let sandboxes = scene.hands().sandboxes();
    let listed = sandboxes.list().await.map_err(|error| busy(error.to_string()))?;
    let ours = Owner::Task(scene.lease.task);
    for one in listed.iter().filter(|one| one.owner == ours) {
        sandboxes.destroy(one.id).await.map_err(|error| busy(error.to_string()))?;
    }
    Ok(Done::Nothing)
}
