//! Takes back what a task brought.
//!
//! A pull request has one revert, which the forge finds again. So a call whose answer was lost is repeated as it is. That somebody asked for it
//! is written down before anything is done.

use axum::{
    Json,
    extract::{Path, State},
};
use contracts::forge::{Author, Merge, Pull, PullState, Revert};
use domain::{
    code::{CommitId, PullRequestNumber},
    people::{Action, Person},
    task::{Event, Task},
};
use engine::PullAt;
use store::{AuditEntry, TaskView};
use wire::{
    error::{Code, Problem},
    task::ask::{RevertTask, Reverted},
};

use super::{
    super::pulls::{may_merge, now},
    TaskPath,
    look::begun,
};
use crate::{
    extract::{Asked, NoWords, Words},
    problem::Answer,
    task_door::Behind,
    task_shapes,
};

const SMALL: usize = 16 * 1024;

/// Takes a merged change back: opens the pull request that reverts it, or finds the one that does
#[utoipa::path(
    post, path = "/v1/tasks/{task}/revert", tag = "tasks", params(TaskPath), request_body = RevertTask,
    responses((status = 200, description = "The pull request that takes it back", body = Reverted))
)]
pub(crate) async fn revert(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(NoWords {}): Words<NoWords>,
    Asked(wish): Asked<RevertTask, SMALL>,
) -> Answer<Json<Reverted>> {
    let view = behind.find(&at.task).await?;
    let history = behind.store().history(view.task).await?;
    let (task, _request) = begun(&history, view.task)?;
    may_revert(&behind.door.person, &task)?;
    if wish.merge {
        may_merge(&behind)?;
    }
    let began = history.events.iter().rev().find_map(|recorded| {
        let Event::Implemented { base, .. } = &recorded.event else { return None };
        Some(base.clone())
    });
    let (Some(number), Some(began)) = (task.pull_request, began) else {
        let problem = Problem::new(
            Code::NotNow,
            format!("task {} has delivered nothing that could be taken back", view.task),
        );
        let help = format!("`lamp cancel {}` ends it, if it still works", view.task);
        return Err(problem.with_help(help).into());
    };
    let front = behind.front();
    let reverted = PullAt { repository: view.repository.clone(), number };
    let pull = front.pull(&reverted).await?;
    write_down(&behind, &view, number).await?;
    let revert = words(&behind.door.owner, &view, began, &pull);
    let back = front.revert(&reverted, &revert).await?;
    let back = PullAt { number: back.number, ..reverted };
    let mut opened = front.pull(&back).await?;
    if wish.merge {
        let by = Author::Person(behind.door.owner.clone());
        let merge = Merge { head: opened.delivered.clone(), base: opened.base.clone(), by };
        front.merge(&back, &merge).await?;
        opened = front.pull(&back).await?;
    }
    Ok(Json(Reverted { reverts: number.0, pull: task_shapes::pull(opened, &back.repository) }))
}

fn may_revert(person: &Person, task: &Task) -> Answer<()> {
    if person.role.may(Action::Steer, task.relation(person.id)) {
        return Ok(());
    }
    let message = format!("a {} may not take back what this task brought", person.role);
    Err(Problem::new(Code::Forbidden, message).into())
}

async fn write_down(behind: &Behind, view: &TaskView, number: PullRequestNumber) -> Answer<()> {
    let entry = AuditEntry {
        at: now(behind.new_task()),
        actor: behind.door.person.id.to_string(),
        action: "task.revert".to_owned(),
        subject: view.task.to_string(),
        detail: format!("pull request {number} of {}", view.repository),
    };
    Ok(behind.store().audit(entry).await?)
}

/// What the revert says of itself: what is taken back, who wants it, and where it came from.
fn words(who: &str, view: &TaskView, began: CommitId, pull: &Pull) -> Revert {
    let merged = match &pull.state {
        PullState::Merged { commit, .. } => format!(", which left `{}` at {commit}", pull.base),
        PullState::Draft | PullState::Open | PullState::Closed { .. } => String::new(),
    };
    let (task, number) = (view.task, pull.number);
    let body = format!(
        "This takes back pull request {number} (\"{title}\"){merged}. {who} asked for it.\n\n\
         The change was made by task {task}: `lamp get {task}` says why it was made, and who approved it.\n\n\
         Lamp-Reverts: {number}\nLamp-Task: {task}\n",
        title = pull.title,
    );
    // Whoever keeps the tasks says what they know of it.
    Revert { began, known: None, title: format!("Revert \"{}\"", pull.title), body }
}
