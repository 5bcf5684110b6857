//! What is written down about a task: events, transcript, plan, what the agent was told, what it cost.

use axum::{
    Json,
    extract::{Path, State},
};
use domain::{cost::Cost, id::TaskId, phase::Phase, task::Event};
use wire::{
    error::{Code, Problem},
    task::{
        event::EventPage,
        plan::TaskPlan,
        shown::Context,
        transcript::{PageQuery, TranscriptPage},
        usage::{PhaseUsage, TaskUsage},
    },
};

use super::{TaskPath, look::begun};
use crate::{
    extract::{NoWords, Words, bad},
    problem::{Answer, Trouble},
    task_door::Behind,
    task_ids,
    task_shapes::{self, time},
};

/// The most of one answer, and the usual.
const MOST: u32 = 500;
const USUAL: u32 = 100;

/// Lists what happened to a task, the oldest first
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/events",
    tag = "tasks",
    params(TaskPath, PageQuery),
    responses((status = 200, description = "A part of its events", body = EventPage))
)]
pub(crate) async fn events(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(query): Words<PageQuery>,
) -> Answer<Json<EventPage>> {
    let (after, most) = part(query)?;
    let view = behind.find(&at.task).await?;
    let mut found = behind.store().events_after(view.task, after, i64::from(most) + 1).await?;
    let more = found.len() > usize::try_from(most).unwrap_or(usize::MAX);
    found.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let next = found.last().map_or(after, |last| last.seq);
    let documents = behind.store().blobs();
    let told = |it| task_shapes::recorded(it, &|id| behind.person(id), documents);
    let events = found.iter().map(told).collect();
    Ok(Json(EventPage { events, next, more }))
}

/// Lists what a task's agents said and did, the oldest first
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/transcript",
    tag = "tasks",
    params(TaskPath, PageQuery),
    responses((status = 200, description = "A part of its transcript", body = TranscriptPage))
)]
pub(crate) async fn transcript(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(query): Words<PageQuery>,
) -> Answer<Json<TranscriptPage>> {
    let (after, most) = part(query)?;
    let view = behind.find(&at.task).await?;
    let mut found = behind.store().transcript_after(view.task, after, i64::from(most) + 1).await?;
    let more = found.len() > usize::try_from(most).unwrap_or(usize::MAX);
    found.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let next = found.last().map_or(after, |last| last.number);
    let items = found.into_iter().map(task_shapes::said).collect();
    Ok(Json(TranscriptPage { items, next, more }))
}

/// Shows what the agent was told, word for word, in its newest run
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/context",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "Each text that it was given", body = Context))
)]
pub(crate) async fn context(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<Context>> {
    let view = behind.find(&at.task).await?;
    let briefing = behind.store().briefing(view.task).await?;
    let briefing =
        briefing.ok_or_else(|| not_yet(view.task, "no agent has been told anything yet"))?;
    Ok(Json(Context {
        run: briefing.run,
        attempt: briefing.attempt,
        at: time(briefing.at),
        texts: briefing.texts,
    }))
}

/// Shows what a task used, in each phase
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/usage",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "As metered outside its sandboxes", body = TaskUsage))
)]
pub(crate) async fn usage(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<TaskUsage>> {
    let view = behind.find(&at.task).await?;
    let history = behind.store().history(view.task).await?;
    let (task, _request) = begun(&history, view.task)?;
    let spent = |phase: Phase| {
        let charges = history.events.iter().filter_map(|recorded| {
            let Event::Charged { phase: charged, cost, .. } = &recorded.event else { return None };
            (*charged == phase).then_some(*cost)
        });
        charges.fold(Cost::ZERO, |sum, cost| sum + cost)
    };
    let phases = Phase::ALL
        .into_iter()
        .map(|phase| (phase, spent(phase)))
        .filter(|(_, spent)| *spent != Cost::ZERO)
        .map(|(phase, spent)| PhaseUsage {
            phase: phase.name().to_owned(),
            spent: task_shapes::spent(spent),
        })
        .collect();
    Ok(Json(TaskUsage {
        task: view.task.to_string(),
        total: task_shapes::spent(task.spent),
        budget: task_shapes::money(task.budget()),
        phases,
    }))
}

/// Shows a task's newest plan, and what became of it
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/plan",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The plan, with the hash that an approval names", body = TaskPlan))
)]
pub(crate) async fn plan(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
) -> Answer<Json<TaskPlan>> {
    let view = behind.find(&at.task).await?;
    let history = behind.store().history(view.task).await?;
    let (task, _request) = begun(&history, view.task)?;
    let plan = task_shapes::task_plan(&history, &task, &|id| behind.person(id));
    plan.map(Json).ok_or_else(|| not_yet(view.task, "there is no plan yet"))
}

/// What a task does not have where it stands now.
pub(super) fn not_yet(task: TaskId, message: &str) -> Trouble {
    let short = task_ids::short(task);
    let help = format!("`lamp get {short}` says how far it is; `lamp log -f {short}` follows it");
    Problem::new(Code::NotFound, format!("task {short}: {message}")).with_help(help).into()
}

fn part(query: PageQuery) -> Answer<(u64, u32)> {
    let most = match query.limit {
        None => USUAL,
        Some(limit @ 1..=MOST) => limit,
        Some(other) => {
            return Err(bad(format!("`limit` is between 1 and {MOST}, not {other}")));
        }
    };
    let after = query.after.unwrap_or_default();
    if i64::try_from(after).is_err() {
        return Err(bad("`after` is the number of the last one that you saw"));
    }
    Ok((after, most))
}
