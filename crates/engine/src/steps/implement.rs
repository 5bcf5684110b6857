//! The agent changes code; we take its work out as git objects and look at what it touched.
//!
//! Leaving the approval's conditions is plan drift (GA4): the task pauses and asks.

use contracts::{
    agent::{Answer, Mode},
    forge::{Change, Forges as _, Taking, Workflows},
};
use domain::{
    failure::FailureKind,
    id::SandboxId,
    task::{Mandate, Report},
};
use evidence::commit::{Message, Trailers};

use super::{
    Done, Outcome, Scene, Trouble,
    agent::{self, Memory},
    drift,
    open::forge_trouble,
};
use crate::{Hands, record::ChangeRecord};

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let sandbox = scene.workspace()?;
    // An earlier run may have ended in the middle. What it did is still in the sandbox, and nothing is built on it unseen.
    drift::commands(scene).await?;
    let outcome = match agent::run(scene, Mode::Implement, sandbox, Memory::Continued).await {
        Ok(outcome) => outcome,
        Err(trouble) => return Err(drift::behind(scene, trouble).await),
    };
    drift::conduct(scene).await?;
    let session = outcome.session;
    match outcome.answer {
        Answer::Question { text, choices } => {
            Ok(Done::Reports(vec![agent::asked(scene, text, choices, session)]))
        }
        Answer::Change => {
            let taking = taking(scene, sandbox)?;
            let taken = scene.hands().forges().take_change(scene.key("change"), &taking).await;
            let change = taken.map_err(|error| forge_trouble(scene, &error))?;
            let record = ChangeRecord::of(&change);
            drift::change(scene, &record)?;
            let record = scene.keep(&record.to_text())?;
            let Change { commit, difference, .. } = change;
            let report =
                Report::Implemented { base: taking.base, commit, difference, record, session };
            Ok(Done::Reports(vec![report]))
        }
        other @ (Answer::Notes(_) | Answer::Plan(_) | Answer::Review(_)) => {
            Err(agent::unexpected(scene, &other))
        }
    }
}

/// What is taken, and what the commit says. All of it from the history, so that a repeat takes the same.
fn taking<H: Hands>(scene: &Scene<'_, H>, sandbox: SandboxId) -> Result<Taking, Trouble> {
    let workspace = scene.task.workspace.as_ref().map(|workspace| &workspace.commit);
    let missing = || scene.failed(FailureKind::SandboxLost, "the task has no sandbox");
    let began = workspace.ok_or_else(missing)?;
    let (base, parent) =
        scene.newest_change().map_or((began, began), |(base, commit, _)| (base, commit));
    Ok(Taking {
        sandbox,
        repository: scene.repository()?.clone(),
        directory: scene.checkout()?,
        base: base.clone(),
        parent: parent.clone(),
        at: scene.asked_at(),
        message: message(scene)?,
        workflows: drift::conditions(scene).map_or(Workflows::NeedApproval, drift::workflows),
    })
}

/// What was asked for as the subject, what the approved plan says as the text, and the way back to both as trailers (RV3).
fn message<H: Hands>(scene: &Scene<'_, H>) -> Result<String, Trouble> {
    let missing = || scene.failed(FailureKind::Internal, "there is no approved plan");
    let approval = scene.task.stage.mandate().map(Mandate::approval).ok_or_else(missing)?;
    let summary = scene.approved_plan().map_or("", |plan| plan.summary.as_str());
    let trailers = Trailers { task: scene.lease.task, plan: approval.plan };
    let co_authors = &scene.engine.settings.co_authors;
    Ok(Message::new(&scene.request.text, summary, co_authors, trailers).to_string())
}
