//! What the gateway refused to a step, which is told where the step failed (PL8, `egress_blocked`).
//!
//! Refusals count from the moment at which the step was asked for. That moment is written down, so a step that is repeated after a crash
//! finds what its first attempt was refused.

use contracts::outfit::{OutfitError, Outfits as _, Refused};
use domain::failure::{Failure, FailureKind};

use super::{Outcome, Scene, Trouble};
use crate::Hands;

/// Hosts that a failure names. An agent can try as many as it likes.
const NAMED: usize = 5;

/// The hosts that this step asked for and was refused.
pub(super) async fn hosts<H: Hands>(scene: &Scene<'_, H>) -> Result<Vec<Refused>, OutfitError> {
    scene.hands().outfits().refused(scene.lease.task, scene.asked_at()).await
}

/// `failure`, or what stands behind it. Whoever was refused a host and then failed needs the host, or a person who says that it does not:
/// either way the task waits, and both are told.
pub(super) async fn explained<H: Hands>(scene: &Scene<'_, H>, failure: Failure) -> Failure {
    match hosts(scene).await {
        Ok(refused) if refused.is_empty() => failure,
        Ok(refused) => behind(scene, failure, &refused),
        Err(error) => {
            tracing::warn!(task = %scene.lease.task, %error, "cannot tell what was refused");
            failure
        }
    }
}

/// An opening whose setup or hook failed may have needed a host.
pub(super) async fn while_opening<H: Hands>(scene: &Scene<'_, H>, outcome: Outcome) -> Outcome {
    match outcome {
        Err(Trouble::Failed(failure)) if failure.kind == FailureKind::SetupFailed => {
            Err(Trouble::Failed(explained(scene, failure).await))
        }
        other @ (Ok(_) | Err(_)) => other,
    }
}

/// The same failure, with these hosts as its reason.
pub(super) fn behind<H: Hands>(
    scene: &Scene<'_, H>,
    failure: Failure,
    refused: &[Refused],
) -> Failure {
    let message = format!("{}; the gateway refused {}", failure.message, told(refused));
    // A host is whatever a program asked for.
    let message = scene.engine.settings.redactor.clean(&message);
    Failure { kind: FailureKind::EgressBlocked, message, ..failure }
}

/// The hosts, each with whose rule is missing.
pub(super) fn told(refused: &[Refused]) -> String {
    let one = |it: &Refused| format!("`{}` ({})", it.host, it.reason);
    let named: Vec<String> = refused.iter().take(NAMED).map(one).collect();
    match refused.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
