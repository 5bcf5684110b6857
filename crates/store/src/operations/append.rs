//! Appending events: the one way in which anything changes.
//!
//! In one transaction: the events, the view of the task, what is due because of them, the blobs that
//! they speak of, and an audit row for what a person did. The count of events is the guard: whoever
//! read an older history is refused with [`StoreError::Conflict`].

use domain::{
    id::TaskId,
    task::{Due, Event, Task, due},
    time::Timestamp,
};

use super::{audit, lease};
use crate::{
    StoreError,
    audit::Entry,
    changes::{Change, Heard},
    database::{Connection, Operation, Sql, Value, number},
    outbox::Lease,
    projection, stored,
};

/// Events to append to a task that has `seq` events and stands as `before` says.
#[derive(Debug, Clone)]
pub struct Append {
    pub task: TaskId,
    pub seq: u64,
    /// `None` for a new task, whose first event is [`Event::Requested`].
    pub before: Option<Task>,
    pub events: Vec<Event>,
    pub at: Timestamp,
    /// The step whose outcome this is. Its row goes in the same transaction, or nothing is written.
    pub settles: Option<Lease>,
}

/// The task as it is now.
#[derive(Debug, Clone)]
pub struct Appended {
    pub seq: u64,
    pub task: Task,
}

impl Operation for Append {
    type Output = Appended;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<Appended, StoreError> {
        self.take_turn(connection).await?;
        if let Some(lease) = &self.settles {
            lease::remove(connection, lease).await?;
        }
        let mut now = Now { seq: self.seq, task: self.before.clone() };
        for event in &self.events {
            now = self.append_one(connection, now, event).await?;
        }
        let Now { seq, task: Some(task) } = now else {
            return Err(StoreError::NoTask { task: self.task });
        };
        let change = Change { task: self.task, seq };
        connection.notify(change.message());
        Ok(Appended { seq, task })
    }

    fn changes(&self, appended: &Appended) -> Vec<Heard> {
        vec![Heard::Change(Change { task: self.task, seq: appended.seq })]
    }
}

/// SQLite has one writer, so its turn is taken already.
const TURN: Sql = Sql {
    sqlite: "SELECT seq FROM tasks WHERE task = $1",
    postgres: "SELECT seq FROM tasks WHERE task = $1 FOR UPDATE",
};

/// Makes sure that nobody else appends to `task` until this transaction ends; tells how many events it
/// has.
pub(crate) async fn take_turn(
    connection: &mut Connection<'_>,
    task: TaskId,
) -> Result<Option<u64>, StoreError> {
    let row = connection.row(connection.choose(TURN), &[Value::Owned(task.to_string())]).await?;
    let seq = row.map(|row| row.number("seq")).transpose()?;
    Ok(seq.map(|seq| u64::try_from(seq).unwrap_or_default()))
}

struct Now {
    seq: u64,
    task: Option<Task>,
}

impl Append {
    /// Takes the task's turn: nobody else can append to it until this transaction ends.
    async fn take_turn(&self, connection: &mut Connection<'_>) -> Result<(), StoreError> {
        match (&self.before, self.seq) {
            (Some(_), _) => {}
            (None, 0) => return Ok(()),
            (None, _) => return Err(StoreError::Conflict { task: self.task }),
        }
        match take_turn(connection, self.task).await? {
            Some(seq) if seq == self.seq => Ok(()),
            Some(_moved_on) => Err(StoreError::Conflict { task: self.task }),
            None => Err(StoreError::NoTask { task: self.task }),
        }
    }

    async fn append_one(
        &self,
        connection: &mut Connection<'_>,
        now: Now,
        event: &Event,
    ) -> Result<Now, StoreError> {
        let seq = now.seq + 1;
        let after = match &now.task {
            Some(before) => before.clone().after(event),
            None => Task::replay([event]).ok_or(StoreError::NoTask { task: self.task })?,
        };
        if now.task.is_none() {
            projection::begin(connection, self.task, event, &after, self.at).await?;
        }
        self.insert_event(connection, seq, event);
        if now.task.as_ref().is_some_and(|before| before.stage != after.stage) {
            supersede(connection, self.task, self.at);
        }
        for due in due(now.task.as_ref(), &after) {
            self.insert_due(connection, seq, due);
        }
        projection::update(connection, self.task, seq, now.task.as_ref(), &after, self.at);
        if let Some(person) = event.person() {
            let entry = Entry {
                at: self.at,
                actor: person.to_string(),
                action: event.kind().to_owned(),
                subject: self.task.to_string(),
                detail: stored::encode(event).body,
            };
            audit::append(connection, &entry).await?;
        }
        Ok(Now { seq, task: Some(after) })
    }

    fn insert_event(&self, connection: &mut Connection<'_>, seq: u64, event: &Event) {
        let stored = stored::encode(event);
        let task = self.task.to_string();
        let values = vec![
            Value::Owned(task.clone()),
            number(seq),
            Value::Text(stored.kind),
            Value::Number(stored.version),
            Value::Owned(stored.body),
            Value::Number(self.at.as_millis()),
        ];
        let sql = "INSERT INTO events (task, seq, kind, version, body, at) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        connection.later(sql, values);
        if let Some(blob) = event.blob() {
            let values = vec![Value::Owned(blob.to_string()), Value::Owned(task), number(seq)];
            let sql = "INSERT INTO blob_uses (digest, task, seq) VALUES ($1, $2, $3)";
            connection.later(sql, values);
        }
    }

    fn insert_due(&self, connection: &mut Connection<'_>, seq: u64, due: Due) {
        let values = vec![
            Value::Owned(self.task.to_string()),
            number(seq),
            Value::Text(stored::step::encode(due.step)),
            Value::Text(stored::step::lane(due.step.lane())),
            Value::Text(stored::step::span(due.step.span())),
            Value::Number(self.due_at(due)),
        ];
        let sql = "INSERT INTO outbox (task, seq, step, lane, span, due_at) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        connection.later(sql, values);
    }

    /// What is to be done now is due whatever the clock says, also after it was set back.
    fn due_at(&self, due: Due) -> i64 {
        if due.delay.is_zero() { 0 } else { (self.at + due.delay).as_millis() }
    }
}

/// What belongs to the stage that was left: nobody has begun it, so it goes; or someone is at it, so
/// they are told to stop.
fn supersede(connection: &mut Connection<'_>, task: TaskId, now: Timestamp) {
    let values = vec![Value::Owned(task.to_string()), Value::Number(now.as_millis())];
    let sql = "DELETE FROM outbox WHERE task = $1 AND span = 'stage' AND lease_until <= $2";
    connection.later(sql, values);
    let sql = "UPDATE outbox SET superseded = 1 WHERE task = $1 AND span = 'stage'";
    connection.later(sql, vec![Value::Owned(task.to_string())]);
}
