//! What a person asks of a task. The answer is the task as it stands then; a refusal is a sentence.

use axum::{
    Json,
    extract::{Path, State},
};
use domain::{
    approval::Conditions,
    finding::FindingId,
    money::Money,
    phase::Phase,
    plan::PlanHash,
    task::{Ask, Refusal, Resting, Stage},
};
use engine::SubmitError;
use store::TaskView;
use wire::{
    error::{Code, Problem},
    task::{
        ask::{
            Amend, AnswerQuestion, Approve, DismissFinding, RaiseBudget, Reject, Retry, SendMessage,
        },
        plan,
        shown::Task,
    },
};

use super::{TaskPath, look};
use crate::{
    extract::{Asked, Bare, NoWords, Words, bad},
    problem::Answer,
    task_door::Behind,
    task_ids, task_problem, task_shapes,
};

/// What a body with the longest text may have: each of its bytes may be written as six.
const LONGEST: usize = 512 * 1024;

/// What a body without a text of a person may have.
const SMALL: usize = 128 * 1024;

/// The most entries of one condition.
const CONDITIONS: usize = 256;

/// Approves the plan that waits, on conditions or without
#[utoipa::path(
    post, path = "/v1/tasks/{task}/approve", tag = "tasks", params(TaskPath), request_body = Approve,
    responses((status = 200, description = "The task, on its way", body = Task))
)]
pub(crate) async fn approve(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<Approve, SMALL>,
) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    within(&behind, &view, &wish.conditions).await?;
    let plan = hash(&view, &wish.plan)?;
    settled(&behind, &view, Ask::Approve { plan, conditions: conditions(wish.conditions)? }).await
}

/// Rejects the plan that waits; the comment reaches the agent
#[utoipa::path(
    post, path = "/v1/tasks/{task}/reject", tag = "tasks", params(TaskPath), request_body = Reject,
    responses((status = 200, description = "The task, back in research", body = Task))
)]
pub(crate) async fn reject(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<Reject, LONGEST>,
) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    let plan = hash(&view, &wish.plan)?;
    settled(&behind, &view, Ask::Reject { plan, comment: wish.comment }).await
}

/// Answers the agent's question
#[utoipa::path(
    post, path = "/v1/tasks/{task}/answer", tag = "tasks", params(TaskPath), request_body = AnswerQuestion,
    responses((status = 200, description = "The task, going on", body = Task))
)]
pub(crate) async fn answer(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<AnswerQuestion, LONGEST>,
) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    let question = if let Some(question) = wish.question {
        question.parse().map_err(|error: domain::id::IdError| bad(error.to_string()))?
    } else {
        let stage = stage(&behind, &view).await?;
        let (Stage::AwaitingAnswer { question, .. }
        | Stage::Paused { at: Resting::Question { question, .. }, .. }) = stage
        else {
            let refusal = Refusal::NotNow { stage: stage.name(), command: "take an answer" };
            return Err(explained(&behind, &view, &refusal).await.into());
        };
        question
    };
    settled(&behind, &view, Ask::Answer { question, text: wish.text }).await
}

/// Says something to the agent. On an open pull request it wakes the task
#[utoipa::path(
    post, path = "/v1/tasks/{task}/message", tag = "tasks", params(TaskPath), request_body = SendMessage,
    responses((status = 200, description = "The task, with the message among its events", body = Task))
)]
pub(crate) async fn message(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<SendMessage, LONGEST>,
) -> Answer<Json<Task>> {
    done(&behind, &at, Ask::Message { text: wish.text }).await
}

/// Pauses a task; its sandbox rests and costs nothing
#[utoipa::path(
    post, path = "/v1/tasks/{task}/pause", tag = "tasks", params(TaskPath),
    responses((status = 200, description = "The task, paused", body = Task))
)]
pub(crate) async fn pause(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(_): Bare,
) -> Answer<Json<Task>> {
    done(&behind, &at, Ask::Pause).await
}

/// Resumes a paused task where it was
#[utoipa::path(
    post, path = "/v1/tasks/{task}/resume", tag = "tasks", params(TaskPath),
    responses((status = 200, description = "The task, going on", body = Task))
)]
pub(crate) async fn resume(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(_): Bare,
) -> Answer<Json<Task>> {
    done(&behind, &at, Ask::Resume).await
}

/// Cancels a task; what it has is removed
#[utoipa::path(
    post, path = "/v1/tasks/{task}/cancel", tag = "tasks", params(TaskPath),
    responses((status = 200, description = "The task, over", body = Task))
)]
pub(crate) async fn cancel(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(_): Bare,
) -> Answer<Json<Task>> {
    done(&behind, &at, Ask::Cancel).await
}

/// Retries a task that failed or is paused, from a phase on
#[utoipa::path(
    post, path = "/v1/tasks/{task}/retry", tag = "tasks", params(TaskPath), request_body = Retry,
    responses((status = 200, description = "The task, queued again", body = Task))
)]
pub(crate) async fn retry(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<Retry, SMALL>,
) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    let from = if let Some(name) = wish.from {
        name.parse().map_err(|error: domain::phase::UnknownPhase| bad(error.to_string()))?
    } else {
        let stage = stage(&behind, &view).await?;
        stage.work().map_or(Phase::Plan, domain::task::Work::phase)
    };
    settled(&behind, &view, Ask::Retry { from }).await
}

/// Lets an approved plan go further than its conditions said
#[utoipa::path(
    post, path = "/v1/tasks/{task}/amend", tag = "tasks", params(TaskPath), request_body = Amend,
    responses((status = 200, description = "The task, going on", body = Task))
)]
pub(crate) async fn amend(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<Amend, SMALL>,
) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    within(&behind, &view, &wish.conditions).await?;
    settled(&behind, &view, Ask::Amend { conditions: conditions(wish.conditions)? }).await
}

/// Raises what a task may spend. One that stopped because of it goes on
#[utoipa::path(
    post, path = "/v1/tasks/{task}/budget", tag = "tasks", params(TaskPath), request_body = RaiseBudget,
    responses((status = 200, description = "The task, with its new budget", body = Task))
)]
pub(crate) async fn budget(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<RaiseBudget, SMALL>,
) -> Answer<Json<Task>> {
    done(&behind, &at, Ask::RaiseBudget { to: Money::from_micros(wish.to_micros) }).await
}

/// Dismisses what the reviewer found: it never counts again
#[utoipa::path(
    post, path = "/v1/tasks/{task}/review/dismiss", tag = "tasks", params(TaskPath), request_body = DismissFinding,
    responses((status = 200, description = "The task, with what was dismissed", body = Task))
)]
pub(crate) async fn dismiss(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<DismissFinding, SMALL>,
) -> Answer<Json<Task>> {
    let finding = wish.finding.parse::<FindingId>().map_err(|_| {
        Problem::new(Code::BadRequest, "`finding` is the id of a finding: 64 hexadecimal digits")
            .with_help(format!("`lamp review {}` shows what was found, each with its id", at.task))
    })?;
    done(&behind, &at, Ask::Dismiss { finding, why: wish.why }).await
}

async fn done(behind: &Behind, at: &TaskPath, ask: Ask) -> Answer<Json<Task>> {
    let view = behind.find(&at.task).await?;
    settled(behind, &view, ask).await
}

async fn settled(behind: &Behind, view: &TaskView, ask: Ask) -> Answer<Json<Task>> {
    match behind.front().ask(view.task, behind.door.person.clone(), ask).await {
        Ok(_) => {
            let view = behind.store().task(view.task).await?;
            let view = view.ok_or_else(|| bad("the task is gone"))?;
            Ok(Json(look::page_of(behind, &view).await?))
        }
        Err(SubmitError::Refused(refusal)) => Err(explained(behind, view, &refusal).await.into()),
        Err(error) => Err(error.into()),
    }
}

/// A refusal, with what can be done where the task stands.
async fn explained(behind: &Behind, view: &TaskView, refusal: &Refusal) -> Problem {
    let mut problem = task_problem::refused(refusal);
    if let Refusal::NotNow { stage, command } = refusal {
        problem.message = not_now(&task_ids::short(view.task), stage, command);
    }
    match look::page_of(behind, view).await {
        Ok(task) if matches!(problem.code, Code::NotNow | Code::Stale) => {
            let commands: Vec<String> =
                task.next.commands.iter().map(|next| format!("`{}`", next.command)).collect();
            let sentence = task.next.sentence;
            problem.with_help(if commands.is_empty() {
                sentence
            } else {
                format!("{sentence}: {}", commands.join(", "))
            })
        }
        Ok(_) | Err(_) => problem,
    }
}

/// Which task, how it stands, and what it does not allow there.
fn not_now(short: &str, stage: &str, command: &str) -> String {
    let stands = match stage {
        "pull request open" => "has an open pull request".to_owned(),
        "failed" => "has failed".to_owned(),
        "cancelled" => "was cancelled".to_owned(),
        other => format!("is {other}"),
    };
    format!("task {short} {stands}: it cannot {command}")
}

/// The longest that an approval can allow: longer than any task works.
const LONGEST_WORK: u64 = 366 * 86_400;

/// A condition narrows. What would allow nothing, or more than the task has anyway, is a mistake, and said before anything is approved.
async fn within(behind: &Behind, view: &TaskView, told: &plan::Conditions) -> Answer<()> {
    match told.time_seconds {
        Some(0) => {
            return Err(bad("a time of nothing lets nothing be done: write it as `30m` or `2h`"));
        }
        Some(seconds) if seconds > LONGEST_WORK => {
            return Err(bad("no task works longer than a year: write the time as `30m` or `2h`"));
        }
        Some(_) | None => {}
    }
    match told.budget_micros.map(Money::from_micros) {
        Some(Money::ZERO) => Err(bad("a budget of nothing lets nothing be done")),
        Some(wished) => {
            let history = behind.store().history(view.task).await?;
            let (task, _request) = look::begun(&history, view.task)?;
            // Not what the approval that holds now allows: an amendment may allow more than that.
            let most = task.limits.budget;
            if wished <= most {
                return Ok(());
            }
            let short = task_ids::short(view.task);
            let what = format!(
                "task {short} may spend {most} in all, so an approval cannot allow {wished}"
            );
            let help = format!(
                "allow less, or nothing in particular; `lamp resume {short} --budget` raises what it may spend"
            );
            Err(Problem::new(Code::BadRequest, what).with_help(help).into())
        }
        None => Ok(()),
    }
}

async fn stage(behind: &Behind, view: &TaskView) -> Answer<Stage> {
    let history = behind.store().history(view.task).await?;
    let (task, _request) = look::begun(&history, view.task)?;
    Ok(task.stage)
}

fn hash(view: &TaskView, text: &str) -> Answer<PlanHash> {
    let parsed = text.parse::<PlanHash>();
    parsed.map_err(|_| {
        Problem::new(Code::BadRequest, "`plan` is the hash of the plan: 64 hexadecimal digits")
            .with_help(format!(
                "`lamp plan {}` shows the plan with its hash",
                task_ids::short(view.task)
            ))
            .into()
    })
}

fn conditions(told: plan::Conditions) -> Answer<Conditions> {
    for (what, list) in
        [("paths", &told.paths), ("hosts", &told.hosts), ("commands", &told.commands)]
    {
        let Some(list) = list else { continue };
        if list.len() > CONDITIONS {
            return Err(bad(format!("`{what}` has at most {CONDITIONS} entries")));
        }
        if list.iter().any(|entry| entry.trim().is_empty()) {
            return Err(bad(format!("`{what}` has an entry that is empty")));
        }
    }
    Ok(task_shapes::conditions_in(told))
}
