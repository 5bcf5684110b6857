//! Lists of tasks, one of them, the inbox and the queue.
#![expect(unused_qualifications, reason = "written by the macro of paths")]

use axum::{
    Json,
    extract::{Path, State},
};
use domain::{
    id::TaskId,
    task::{Event, Standing},
};
use engine::record::Dismissal;
use serde::Deserialize;
use store::{Filter, History, Page, TaskView};
use utoipa::IntoParams;
use wire::{
    error::{Code, Problem},
    task::shown::{Places, Queue, QueuedTask, Task, TaskList, TaskQuery},
};

use super::{super::named::repository, TaskPath};
use crate::{
    extract::{NoWords, Words, bad},
    problem::Answer,
    task_door::Behind,
    task_shapes::{self, Told},
};

/// The most tasks of one answer.
const MOST: u32 = 500;

/// Where a task can stand, as [`domain::task::Stage::name`] says it.
const STATES: [&str; 16] = [
    "queued",
    "preparing",
    "researching",
    "planning",
    "implementing",
    "verifying",
    "reviewing",
    "delivering",
    "waiting for an answer",
    "awaiting approval",
    "paused",
    "pull request open",
    "waking for a follow-up",
    "done",
    "failed",
    "cancelled",
];

/// Lists tasks, the newest first
#[utoipa::path(
    get,
    path = "/v1/tasks",
    tag = "tasks",
    params(TaskQuery),
    responses((status = 200, description = "A page of tasks", body = TaskList))
)]
pub(crate) async fn list(
    State(behind): State<Behind>,
    Words(query): Words<TaskQuery>,
) -> Answer<Json<TaskList>> {
    let filter = Filter {
        repository: query.repository.as_deref().map(repository).transpose()?,
        person: None,
        stage: query.state.as_deref().map(state).transpose()?,
    };
    let size = size(query.limit)?;
    let page = page(query.after.as_deref(), size)?;
    let views = behind.store().tasks(&filter, page).await?;
    Ok(Json(shown(&behind, &views, size)))
}

/// Which part of the inbox.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct InboxQuery {
    /// At most 500; 50 when it is left out.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next` of the page before.
    #[param(pattern = "^t_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
}

/// Lists the plans that wait for a decision, those that wait longest first
#[utoipa::path(
    get,
    path = "/v1/inbox",
    tag = "tasks",
    params(InboxQuery),
    responses((status = 200, description = "A page of tasks", body = TaskList))
)]
pub(crate) async fn inbox(
    State(behind): State<Behind>,
    Words(query): Words<InboxQuery>,
) -> Answer<Json<TaskList>> {
    let size = size(query.limit)?;
    let page = page(query.after.as_deref(), size)?;
    let views = behind.store().inbox(page).await?;
    Ok(Json(shown(&behind, &views, size)))
}

/// Shows the queue: who is next, and why each still waits
#[utoipa::path(
    get,
    path = "/v1/queue",
    tag = "tasks",
    responses((status = 200, description = "The first 500 places", body = Queue))
)]
pub(crate) async fn queue(
    State(behind): State<Behind>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<Queue>> {
    let (store, places) = (behind.store(), behind.front().places());
    let mut waiting = Vec::new();
    for position in store.queue(places, 500).await? {
        // One that got its place meanwhile is no longer here.
        let Some(view) = store.task(position.task).await? else { continue };
        waiting.push(QueuedTask {
            task: task_shapes::summary(&view, &|id| behind.person(id)),
            place: u64::try_from(position.place).unwrap_or(u64::MAX),
            reason: position.reason.to_string(),
        });
    }
    let number = |places: usize| u64::try_from(places).unwrap_or(u64::MAX);
    let places = Places {
        total: number(places.total),
        per_repository: number(places.per_repository),
        per_person: number(places.per_person),
    };
    Ok(Json(Queue { waiting, places }))
}

/// Shows one task, with what people can do about it now
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The task as it stands", body = Task))
)]
pub(crate) async fn one(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    Ok(Json(page_of(&behind, &view).await?))
}

/// All that a task's page shows.
pub(crate) async fn page_of(behind: &Behind, view: &TaskView) -> Answer<Task> {
    let store = behind.store();
    let history = store.history(view.task).await?;
    let (task, request) = begun(&history, view.task)?;
    let position = if task.stage.standing() == Standing::NeedsPlace {
        let queue = store.queue(behind.front().places(), 500).await?;
        queue.into_iter().find(|at| at.task == view.task)
    } else {
        None
    };
    let siblings = behind.siblings(view).await?;
    let told = Told {
        view,
        branch: engine::delivered_branch(&history, store.blobs())
            .or_else(|| behind.front().branch(view.task, request))
            .map(|branch| branch.to_string()),
        history: &history,
        documents: store.blobs(),
        task: &task,
        request,
        dismissals: Dismissal::all(&history, store.blobs()),
        position,
        siblings: &siblings,
    };
    Ok(task_shapes::detail(told, &|id| behind.person(id)))
}

/// The task that a history tells of, and what was asked for.
pub(super) fn begun(
    history: &History,
    id: TaskId,
) -> Answer<(domain::task::Task, &domain::request::Request)> {
    let first = history.events.first().map(|first| &first.event);
    match (history.task(), first) {
        (Some(task), Some(Event::Requested { request, .. })) => Ok((task, request)),
        (Some(_) | None, Some(_) | None) => {
            Err(Problem::new(Code::NotFound, format!("there is no task {id}")).into())
        }
    }
}

fn shown(behind: &Behind, views: &[TaskView], size: u32) -> TaskList {
    let is_full = views.len() >= usize::try_from(size).unwrap_or(usize::MAX);
    TaskList {
        tasks: views
            .iter()
            .map(|view| task_shapes::summary(view, &|id| behind.person(id)))
            .collect(),
        next: views.last().filter(|_| is_full).map(|last| last.task.to_string()),
    }
}

fn size(limit: Option<u32>) -> Answer<u32> {
    match limit {
        None => Ok(Page::default().size),
        Some(limit @ 1..=MOST) => Ok(limit),
        Some(other) => Err(bad(format!("`limit` is between 1 and {MOST}, not {other}"))),
    }
}

fn page(after: Option<&str>, size: u32) -> Answer<Page> {
    let before: Option<TaskId> = after
        .map(str::parse)
        .transpose()
        .map_err(|_| bad("`after` is the `next` of the page before"))?;
    Ok(Page { before, size })
}

fn state(name: &str) -> Answer<String> {
    let wanted = name.replace('_', " ");
    if STATES.contains(&wanted.as_str()) {
        return Ok(wanted);
    }
    let name: String = name.chars().take(60).collect();
    Err(bad(format!("there is no state `{name}`; those that there are: {}", STATES.join(", "))))
}
