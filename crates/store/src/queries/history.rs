//! The events of one task.

use domain::{
    id::TaskId,
    task::{Event, Task},
    time::Timestamp,
};

use crate::{
    StoreError,
    database::{Connection, Database, Row, Value, number},
    stored,
};

/// One event, with its number and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// From 1, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub event: Event,
}

/// Everything that has happened to a task, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    pub events: Vec<Recorded>,
}

impl History {
    /// The task that these events tell of.
    pub fn task(&self) -> Option<Task> {
        Task::replay(self.events.iter().map(|recorded| &recorded.event))
    }

    /// The number of the newest event; 0 for no task.
    pub fn seq(&self) -> u64 {
        self.events.last().map_or(0, |newest| newest.seq)
    }
}

const AFTER: &str = "SELECT seq, kind, version, body, at FROM events \
                     WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3";

pub(crate) async fn read(
    connection: &mut Connection<'_>,
    task: TaskId,
) -> Result<History, StoreError> {
    let rows = connection.rows(AFTER, &after(task, 0, i64::MAX)).await?;
    Ok(History { events: rows.iter().map(recorded).collect::<Result<_, _>>()? })
}

/// At most `most` events after number `seq`: a reader that comes back continues where it was.
pub(crate) async fn read_after(
    database: &Database,
    task: TaskId,
    seq: u64,
    most: i64,
) -> Result<Vec<Recorded>, StoreError> {
    let rows = database.rows(AFTER, &after(task, seq, most)).await?;
    rows.iter().map(recorded).collect()
}

fn after(task: TaskId, seq: u64, most: i64) -> [Value<'static>; 3] {
    [Value::Owned(task.to_string()), number(seq), Value::Number(most.max(0))]
}

fn recorded(row: &Row) -> Result<Recorded, StoreError> {
    let event = stored::decode(&row.text("kind")?, row.number("version")?, &row.text("body")?)?;
    Ok(Recorded {
        seq: u64::try_from(row.number("seq")?).unwrap_or_default(),
        at: Timestamp::from_millis(row.number("at")?),
        event,
    })
}
