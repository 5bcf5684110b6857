//! What came of a task: the change, what the checks and the reviewer found, and the receipt.

use axum::{
    Json,
    extract::{Path, State},
};
use domain::{digest::Digest, id::TaskId, task::Event, time::Timestamp};
use engine::record::{ChecksRecord, Dismissal, ReviewRecord};
use store::History;
use wire::{
    error::{Code, Problem},
    task::{checks::Checks, review::TaskReview, shown::Patch},
};

use super::{TaskPath, look::begun, records::not_yet};
use crate::{
    extract::{NoWords, Words},
    problem::{Answer, Trouble},
    task_door::Behind,
    task_shapes,
};

/// Shows what a task changes, as a patch
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/diff",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The difference to what it began from", body = Patch))
)]
pub(crate) async fn diff(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<Patch>> {
    let view = behind.find(&at.task).await?;
    let history = behind.store().history(view.task).await?;
    begun(&history, view.task)?;
    let change = engine::newest_change(&history);
    let change = change.ok_or_else(|| not_yet(view.task, "nothing has been changed yet"))?;
    Ok(Json(task_shapes::patch(&behind.front().diff(&view.repository, change).await?)))
}

/// Shows what the platform's checks found, on the base and on the change
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/checks",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The newest verdict", body = Checks))
)]
pub(crate) async fn checks(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<Checks>> {
    let newest = newest(&behind, &at, |event| {
        let (Event::ChecksPassed { evidence } | Event::ChecksFailed { evidence, .. }) = event
        else {
            return None;
        };
        Some(*evidence)
    });
    let newest = match newest.await? {
        Ok(newest) => newest,
        Err(task) => return Err(no_verdict(&behind, task).await?),
    };
    let record = ChecksRecord::read(&document(&behind, newest.name)?);
    let record = record.map_err(|_| unreadable("the document of the checks"))?;
    Ok(Json(task_shapes::checks(record, newest.at)))
}

/// Shows what the second agent found in the change
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/review",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The newest review", body = TaskReview))
)]
pub(crate) async fn review(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<TaskReview>> {
    let newest = newest(&behind, &at, |event| {
        let (Event::ReviewPassed { evidence } | Event::ReviewFoundFaults { evidence, .. }) = event
        else {
            return None;
        };
        Some(*evidence)
    });
    let newest =
        newest.await?.map_err(|task| not_yet(task, "nobody has reviewed the change yet"))?;
    let record = ReviewRecord::read(&document(&behind, newest.name)?);
    let record = record.map_err(|_| unreadable("the document of the review"))?;
    let dismissals = Dismissal::all(&newest.history, behind.store().blobs());
    Ok(Json(task_shapes::review(record, newest.at, &dismissals, &|id| behind.person(id))))
}

/// Gives the signed receipt of a task's pull request, to be kept or verified as it is
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/receipt",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "A DSSE envelope around an in-toto statement", body = Object))
)]
pub(crate) async fn receipt(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<serde_json::Value>> {
    let newest = newest(&behind, &at, |event| {
        let Event::PullRequestOpened { receipt, .. } = event else { return None };
        Some(*receipt)
    });
    let newest = newest.await?;
    let newest =
        newest.map_err(|task| not_yet(task, "there is no receipt before the pull request"))?;
    let envelope = serde_json::from_slice(&document(&behind, newest.name)?);
    Ok(Json(envelope.map_err(|_| unreadable("the receipt"))?))
}

/// The newest document of a kind, and the history that it is from.
struct Newest {
    name: Digest,
    at: Timestamp,
    history: History,
}

/// The task where it has none.
async fn newest(
    behind: &Behind,
    at: &TaskPath,
    names: impl Fn(&Event) -> Option<Digest>,
) -> Answer<Result<Newest, TaskId>> {
    let view = behind.find(&at.task).await?;
    let history = behind.store().history(view.task).await?;
    let found = history.events.iter().rev().find_map(|it| Some((names(&it.event)?, it.at)));
    Ok(found.map(|(name, at)| Newest { name, at, history }).ok_or(view.task))
}

/// Why there is no verdict: checks that were run and cut off have a reason, and it is not that none were run.
async fn no_verdict(behind: &Behind, task: TaskId) -> Answer<Trouble> {
    let history = behind.store().history(task).await?;
    let newest_first = history.events.iter().rev().map(|recorded| &recorded.event);
    let stopped = newest_first
        .filter_map(Event::failure)
        .find(|failure| failure.phase == domain::phase::Phase::Verify);
    let Some(failure) = stopped else {
        return Ok(not_yet(task, "no checks have been run yet"));
    };
    let printed = match failure.last_lines.as_slice() {
        [] => String::new(),
        lines => format!(". It printed last: {}", lines.join(" | ")),
    };
    let told = format!("the checks were run, and came to no verdict: {failure}{printed}");
    Ok(not_yet(task, &told))
}

/// A document of the store. It is kept as long as the event that names it.
fn document(behind: &Behind, name: Digest) -> Answer<Vec<u8>> {
    let read = behind.store().blobs().get(name);
    read.map_err(|error| {
        tracing::warn!(%error, %name, "a document is missing");
        unreadable("a document of this task")
    })
}

fn unreadable(what: &str) -> Trouble {
    let problem = Problem::new(Code::Internal, format!("{what} cannot be read"));
    problem.with_help("the server's log says more; `lamp doctor` looks at its data").into()
}
