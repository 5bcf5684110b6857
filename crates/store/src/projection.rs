//! The view of each task that lists and queues read. Kept in the transaction of its events, and
//! nothing but a summary of them: it can be thrown away and made again.

use domain::{
    id::TaskId,
    request::Request,
    task::{Event, PauseReason, Stage, Standing, Task},
    time::Timestamp,
};

use crate::{
    StoreError,
    database::{Connection, Value, number},
    text,
};

/// How many letters of the request's first line a list shows.
const TITLE: usize = 120;

/// Enters a new task.
pub(crate) async fn begin(
    connection: &mut Connection<'_>,
    id: TaskId,
    event: &Event,
    task: &Task,
    at: Timestamp,
) -> Result<(), StoreError> {
    let Event::Requested { request, .. } = event else {
        return Err(StoreError::NoTask { task: id });
    };
    let Some(repository) = request.repositories.first() else {
        return Err(StoreError::NoRepository { task: id });
    };
    let values = [
        Value::Owned(id.to_string()),
        Value::Text(task.stage.name()),
        Value::Text(standing(task.stage.standing())),
        Value::Number(at.as_millis()),
        Value::Owned(repository.name.to_string()),
        Value::Owned(request.author.to_string()),
        Value::Text(request.agent.as_str()),
        Value::Text(request.source.channel.name()),
        Value::Owned(title(request)),
        Value::MaybeText(request.parent.map(|parent| parent.to_string())),
    ];
    let sql = "INSERT INTO tasks (task, seq, stage, standing, begun, since, repository, person, \
                   agent, channel, title, parent, spent, created_at, changed_at) \
               VALUES ($1, 0, $2, $3, 0, $4, $5, $6, $7, $8, $9, $10, 0, $4, $4) \
               ON CONFLICT (task) DO NOTHING";
    match connection.execute(sql, &values).await? {
        0 => Err(StoreError::Exists { task: id }),
        _one => Ok(()),
    }
}

/// Brings the view up to `seq`.
pub(crate) fn update(
    connection: &mut Connection<'_>,
    id: TaskId,
    seq: u64,
    before: Option<&Task>,
    after: &Task,
    at: Timestamp,
) {
    let moved = before.is_none_or(|before| before.stage != after.stage);
    if !moved && before.is_some_and(|before| begun(before) == begun(after)) {
        count(connection, id, seq, after, at);
        return;
    }
    let asked = moved && matches!(after.stage, Stage::AwaitingApproval { .. });
    let values = vec![
        Value::Owned(id.to_string()),
        number(seq),
        Value::Text(after.stage.name()),
        Value::Text(standing(after.stage.standing())),
        Value::Number(i64::from(begun(after))),
        Value::MaybeNumber(moved.then_some(at.as_millis())),
        Value::MaybeText(after.stage.waiting_plan().map(|plan| plan.to_string())),
        Value::MaybeText(failure(&after.stage).map(str::to_owned)),
        Value::MaybeNumber(pull_request(after)),
        number(after.spent.money.as_micros()),
        Value::Number(at.as_millis()),
        Value::MaybeNumber(asked.then_some(at.as_millis())),
    ];
    let sql = "UPDATE tasks SET seq = $2, stage = $3, standing = $4, begun = $5, \
                   since = COALESCE($6, since), plan = $7, failure = $8, \
                   pull_request = COALESCE($9, pull_request), spent = $10, changed_at = $11, \
                   asked_at = COALESCE($12, asked_at) \
               WHERE task = $1";
    connection.later(sql, values);
}

/// The same, for an event after which the task stands where it stood: no index has to be touched.
fn count(connection: &mut Connection<'_>, id: TaskId, seq: u64, after: &Task, at: Timestamp) {
    let values = vec![
        Value::Owned(id.to_string()),
        number(seq),
        number(after.spent.money.as_micros()),
        Value::Number(at.as_millis()),
    ];
    let sql = "UPDATE tasks SET seq = $2, spent = $3, changed_at = $4 WHERE task = $1";
    connection.later(sql, values);
}

/// Whether the task has had a place before.
const fn begun(task: &Task) -> bool {
    task.workspace.is_some() || task.stage.mandate().is_some()
}

pub(crate) const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::NeedsPlace => "needs_place",
        Standing::HoldsPlace => "holds_place",
        Standing::Rests => "rests",
        Standing::Over => "over",
    }
}

fn title(request: &Request) -> String {
    let first = request.text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = text::one_line(first.unwrap_or_default());
    match line.char_indices().nth(TITLE) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

fn failure(stage: &Stage) -> Option<&'static str> {
    match stage {
        Stage::Failed { failure, .. }
        | Stage::Paused { why: PauseReason::Failure(failure), .. } => Some(failure.kind.name()),
        Stage::Queued { .. }
        | Stage::Preparing { .. }
        | Stage::Working(_)
        | Stage::AwaitingAnswer { .. }
        | Stage::AwaitingApproval { .. }
        | Stage::Paused { .. }
        | Stage::PullRequestOpen { .. }
        | Stage::Waking { .. }
        | Stage::Done { .. }
        | Stage::Cancelled { .. } => None,
    }
}

fn pull_request(task: &Task) -> Option<i64> {
    i64::try_from(task.pull_request?.0).ok()
}
