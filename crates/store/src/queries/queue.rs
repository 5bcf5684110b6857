//! The queue, as the people in it see it: their place, and why they wait. And what the outbox holds.

use domain::{
    id::TaskId,
    queue::{Places, Position, order},
    task::Step,
    time::Timestamp,
};

use crate::{
    StoreError,
    database::{Database, Value},
    queries::places::{RUNNING, WAITING, read_running, read_waiting},
    stored,
};

/// Nobody reads further, and each place costs a look at everyone who could have it.
const LONGEST: usize = 500;

/// The first `most` places of the queue, and never more than 500.
pub(crate) async fn positions(
    database: &Database,
    places: Places,
    most: usize,
) -> Result<Vec<Position>, StoreError> {
    let running = database.rows(RUNNING, &[]).await?;
    let running = running.iter().map(read_running).collect::<Result<Vec<_>, _>>()?;
    let most = most.min(LONGEST);
    let window = i64::try_from(most).unwrap_or(i64::MAX);
    let waiting = database.rows(database.choose(WAITING), &[Value::Number(window)]).await?;
    let waiting = waiting.iter().map(read_waiting).collect::<Result<Vec<_>, _>>()?;
    Ok(order(&waiting, &running, places).take(most).collect())
}

/// A step that is still to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub task: TaskId,
    pub seq: u64,
    pub step: Step,
    pub due_at: Timestamp,
    pub lease_until: Timestamp,
    pub attempts: u32,
    pub last_error: Option<String>,
}

/// What is still to be done for `task`, soonest first.
pub(crate) async fn pending(database: &Database, task: TaskId) -> Result<Vec<Pending>, StoreError> {
    let sql = "SELECT task, seq, step, due_at, lease_until, attempts, last_error FROM outbox \
               WHERE task = $1 ORDER BY due_at, seq";
    let rows = database.rows(sql, &[Value::Owned(task.to_string())]).await?;
    let read = |row: &crate::database::Row| {
        Ok(Pending {
            task: row.parsed("task")?,
            seq: u64::try_from(row.number("seq")?).unwrap_or_default(),
            step: stored::step::decode(&row.text("step")?)?,
            due_at: Timestamp::from_millis(row.number("due_at")?),
            lease_until: Timestamp::from_millis(row.number("lease_until")?),
            attempts: u32::try_from(row.number("attempts")?).unwrap_or(u32::MAX),
            last_error: row.maybe_text("last_error")?,
        })
    };
    rows.iter().map(read).collect()
}

/// When the next step can be claimed that waits for nothing but its time, if any.
pub(crate) const NEXT_DUE: &str = "SELECT ready_at FROM outbox o \
     WHERE lane = 'timer' OR NOT EXISTS (SELECT 1 FROM outbox e \
         WHERE e.task = o.task AND e.seq < o.seq AND e.lane = o.lane) \
     ORDER BY ready_at LIMIT 1";

pub(crate) async fn next_due(database: &Database) -> Result<Option<Timestamp>, StoreError> {
    let rows = database.rows(NEXT_DUE, &[]).await?;
    let due = rows.first().map(|row| row.number("ready_at")).transpose()?;
    Ok(due.map(Timestamp::from_millis))
}
