//! What goes on around a task, as far as the platform knows it (CX1): who else is at work in the repository and where, and how the checks
//! stand that they all begin from.

use contracts::agent::{InFlight, Surroundings};
use domain::{
    id::TaskId,
    task::{Event, Standing},
};
use store::{Filter, History, Page, StoreError};

use super::{Scene, base_checks::BaseChecks};
use crate::{Hands, delivered::delivered_branch};

/// Tasks that are looked at, the newest first.
const LOOKED_AT: u32 = 50;
/// Tasks that are told of.
const TOLD: usize = 10;
/// Tasks whose whole history is read for nothing but their checks.
const LOOKED_BACK: usize = 8;
/// Where a task stands when it is over, as a view has it. Whether one is at work is asked of its history.
const OVER: [&str; 3] = ["done", "failed", "cancelled"];

pub(super) async fn look<H: Hands>(scene: &Scene<'_, H>) -> Result<Surroundings, StoreError> {
    let repository = scene.request.repositories.first().map(|used| used.name.clone());
    let filter = Filter { repository, ..Filter::default() };
    let page = Page { before: None, size: LOOKED_AT };
    let mut in_flight = Vec::new();
    let mut base_checks = BaseChecks::default();
    base_checks.learn(scene, &scene.history);
    // Of tasks that are over only the checks are wanted, and only while nobody has seen those of this very commit.
    let mut looked_back = 0;
    for view in scene.engine.store.tasks(&filter, page).await? {
        let wants_work = in_flight.len() < TOLD && !OVER.contains(&view.stage.as_str());
        let wants_checks = !base_checks.is_known() && looked_back < LOOKED_BACK;
        if view.task == scene.lease.task || !(wants_work || wants_checks) {
            continue;
        }
        looked_back += usize::from(!wants_work);
        let history = scene.engine.store.history(view.task).await?;
        base_checks.learn(scene, &history);
        if wants_work {
            in_flight.extend(at_work(scene, view.task, &history));
        }
    }
    let base_checks = base_checks.into_text();
    Ok(Surroundings { base_checks, in_flight, ..Surroundings::default() })
}

/// A task that was approved and is not over: it changes what its plan says.
fn at_work<H: Hands>(scene: &Scene<'_, H>, id: TaskId, history: &History) -> Option<InFlight> {
    let task = history.task()?;
    let mandate = task.stage.mandate()?;
    if task.stage.standing() == Standing::Over {
        return None;
    }
    let approved = mandate.approval().plan;
    let mut in_flight = None;
    for recorded in &history.events {
        if let Event::Requested { request, .. } = &recorded.event {
            let delivered = delivered_branch(history, scene.engine.store.blobs());
            let named = scene.engine.settings.branches.name(id, &request.text);
            in_flight = Some(InFlight {
                title: evidence::commit::title(&request.text),
                branch: match (delivered, named) {
                    (Some(branch), _) => branch.to_string(),
                    (None, Ok(branch)) => branch.to_string(),
                    (None, Err(_)) => String::new(),
                },
                paths: Vec::new(),
            });
        }
        if let (Event::PlanSubmitted { plan, .. }, Some(in_flight)) =
            (&recorded.event, &mut in_flight)
            && plan.hash() == approved
        {
            in_flight.paths = plan.files.iter().map(|file| file.path.clone()).collect();
        }
    }
    in_flight
}
