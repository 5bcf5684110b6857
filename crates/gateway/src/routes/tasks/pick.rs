//! Keeping one of several attempts at the same, and cancelling the others: by a person's choice, or by what the checks say (PL12).

use axum::{
    Json,
    extract::{Path, State},
};
use domain::{
    attempts::{Merits, best},
    task::{Ask, Refusal, Stage},
};
use engine::SubmitError;
use store::TaskView;
use wire::{
    error::{Code, Problem},
    task::ask::{PickTask, Picked, PickedBy},
};

use super::{TaskPath, look};
use crate::{
    extract::{Asked, NoWords, Words},
    problem::Answer,
    task_door::Behind,
};

/// Picks one of several attempts, and cancels the others
///
/// With `"by": "checks"` it is the best of those that came to a pull request, once none of them is at work any more.
#[utoipa::path(
    post, path = "/v1/tasks/{task}/pick", tag = "tasks", params(TaskPath), request_body = PickTask,
    responses((status = 200, description = "The task, and what became of the others", body = Picked))
)]
pub(crate) async fn pick(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<PickTask, 1024>,
) -> Answer<Json<Picked>> {
    let named = behind.find(&at.task).await?;
    let attempts = behind.attempts(&named).await?;
    if attempts.len() < 2 {
        return Err(not_now("there is nothing to pick from: it has no other attempts").into());
    }
    let (kept, why) = match wish.by {
        PickedBy::Person => (by_person(named)?, None),
        PickedBy::Checks => by_checks(&behind, &attempts).await?,
    };
    let (mut cancelled, mut over) = (Vec::new(), Vec::new());
    for other in attempts.iter().filter(|it| it.task != kept.task) {
        let person = behind.door.person.clone();
        match behind.front().ask(other.task, person, Ask::Cancel).await {
            Ok(_) => cancelled.push(other.task.to_string()),
            Err(SubmitError::Refused(Refusal::NotNow { .. })) => over.push(other.task.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    let task = look::page_of(&behind, &kept).await?;
    Ok(Json(Picked { task, cancelled, over, why }))
}

fn by_person(named: TaskView) -> Answer<TaskView> {
    if ["cancelled", "failed"].contains(&named.stage.as_str()) {
        let problem = not_now(format!("a task that is {} cannot be picked", named.stage));
        return Err(problem.with_help("pick one that is not over").into());
    }
    Ok(named)
}

/// The best that came to a pull request. Nobody who may still become the best is cut off.
async fn by_checks(behind: &Behind, attempts: &[TaskView]) -> Answer<(TaskView, Option<String>)> {
    let store = behind.store();
    let (mut delivered, mut at_work) = (Vec::new(), Vec::new());
    for view in attempts {
        let history = store.history(view.task).await?;
        let (task, _request) = look::begun(&history, view.task)?;
        match may_deliver(&task.stage) {
            Chance::Delivered => {
                let merits = engine::merits(&history, store.blobs(), task.spent.money);
                delivered.extend(merits.map(|merits| (view, merits)));
            }
            Chance::Open => at_work.push(format!("{} is {}", view.task, view.stage)),
            Chance::Gone => {}
        }
    }
    if !at_work.is_empty() {
        let problem = not_now(format!("not all attempts have ended: {}", at_work.join(", ")));
        let help = "wait for them, decide about them, or pick one yourself: `lamp pick TASK`";
        return Err(problem.with_help(help).into());
    }
    let merits: Vec<Merits> = delivered.iter().map(|(_, merits)| merits.clone()).collect();
    let best = best(&merits).and_then(|best| Some((best, delivered.get(best.index)?.0)));
    match best {
        Some((best, view)) => Ok((view.clone(), Some(best.why.to_owned()))),
        None => Err(not_now("none of the attempts has a pull request that is open")
            .with_help(
                "`lamp get TASK` says why one stopped; `lamp pick TASK` keeps it all the same",
            )
            .into()),
    }
}

/// Whether an attempt can be compared.
enum Chance {
    Delivered,
    /// It may still come to a pull request by itself, or by an answer that somebody owes it.
    Open,
    /// It is over, or stands still until somebody helps it.
    Gone,
}

fn may_deliver(stage: &Stage) -> Chance {
    match stage {
        Stage::PullRequestOpen { .. } => Chance::Delivered,
        Stage::Queued { .. }
        | Stage::Waking { .. }
        | Stage::Preparing { .. }
        | Stage::Working(_)
        | Stage::AwaitingAnswer { .. }
        | Stage::AwaitingApproval { .. } => Chance::Open,
        Stage::Paused { .. }
        | Stage::Done { .. }
        | Stage::Failed { .. }
        | Stage::Cancelled { .. } => Chance::Gone,
    }
}

fn not_now(message: impl Into<String>) -> Problem {
    Problem::new(Code::NotNow, message)
}
