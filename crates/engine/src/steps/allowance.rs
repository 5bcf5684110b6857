//! The time that an approver allows (GA4): what all work behind the gate takes together, until somebody allows anew.
//!
//! Work is what agents and checks do, over every round. Waiting for a person, for a place or for a sandbox is none.

use std::time::Duration;

use domain::{
    failure::{Failure, FailureKind},
    task::{Event, Mandate, Stage},
};
use store::{History, Recorded};

use super::Scene;
use crate::{Hands, stretches};

/// What is left of it for this step; none where nobody set a condition. That nothing is left is a failure.
pub(super) fn left<H: Hands>(scene: &Scene<'_, H>) -> Result<Option<Duration>, Failure> {
    let Some(allowed) = allowed(scene) else { return Ok(None) };
    let before = worked(&scene.history, scene.lease.seq);
    let worked = before + scene.engine.now().since(scene.asked_at());
    match allowed.checked_sub(worked) {
        Some(left) if !left.is_zero() => Ok(Some(left)),
        Some(_) | None => Err(used_up(scene, allowed)),
    }
}

fn allowed<H: Hands>(scene: &Scene<'_, H>) -> Option<Duration> {
    scene.task.stage.mandate().map(Mandate::approval)?.conditions.time
}

fn used_up<H: Hands>(scene: &Scene<'_, H>, allowed: Duration) -> Failure {
    let seconds = allowed.as_secs();
    let message = format!(
        "all work took the {seconds} seconds that the approval allows; `lamp amend --time` allows more"
    );
    Failure::new(FailureKind::TimeLimit, scene.phase(), message)
}

/// What was worked before the step of event `seq` began, since a person last said how long it may take.
fn worked(history: &History, seq: u64) -> Duration {
    let says = |it: &&Recorded| matches!(it.event, Event::Approved { .. } | Event::Amended { .. });
    let said = history.events.iter().rev().find(says).map_or(0, |it| it.seq);
    let is_work = |stage: &Stage| matches!(stage, Stage::Working(work) if work.mandate().is_some());
    let stretches = stretches::of(history);
    let counted = stretches.iter().filter(|it| {
        let is_work = it.before.as_ref().is_some_and(|task| is_work(&task.stage));
        (said + 1..=seq).contains(&it.recorded.seq) && is_work
    });
    counted.map(|it| it.lasted).sum()
}
