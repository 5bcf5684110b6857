//! The agent changes code; we take its work out as git objects and look at what it touched.
//!
//! Paths outside the approval's conditions are plan drift (GA4): the task pauses and asks.

use contracts::{
    agent::{Answer, Mode},
    forge::{Change, Forges as _},
};
use domain::{failure::FailureKind, task::Report};

use super::{
    Done, Outcome, Scene, Trouble,
    agent::{self, Memory},
    open::forge_trouble,
};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let sandbox = scene.workspace()?;
    let outcome = agent::run(scene, Mode::Implement, sandbox, Memory::Continued).await?;
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            Ok(Done::Reports(vec![agent::asked(scene, text, choices, session)]))
        }
        Answer::Change => {
            let forges = scene.hands().forges();
            let taken = forges.take_change(scene.key("change"), sandbox, scene.repository()?).await;
            let change = taken.map_err(|error| forge_trouble(scene, &error))?;
            stays_within_conditions(scene, &change)?;
            let Change { commit, difference, .. } = change;
            let report = Report::Implemented { commit, difference, session };
            Ok(Done::Reports(vec![report]))
        }
        other @ (Answer::Notes(_) | Answer::Plan(_) | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}

fn stays_within_conditions<H: Hands>(scene: &Scene<'_, H>, change: &Change) -> Result<(), Trouble> {
    let allowed = scene.task.stage.mandate().and_then(|it| it.approval().conditions.paths.as_ref());
    let Some(allowed) = allowed else { return Ok(()) };
    let covers = |allowed: &str, path: &str| {
        path == allowed || path.strip_prefix(allowed).is_some_and(|rest| rest.starts_with('/'))
    };
    let outside =
        change.paths.iter().find(|path| !allowed.iter().any(|allowed| covers(allowed, path)));
    match outside {
        None => Ok(()),
        Some(path) => {
            let message = format!("the change touches `{path}`, which the approval does not allow");
            Err(scene.failed(FailureKind::PlanDrift, message))
        }
    }
}
