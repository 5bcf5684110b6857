//! Adding to a transcript: the events that are new, their numbers, and what the task has used of its limit.

use domain::{id::TaskId, time::Timestamp};

use crate::database::number;
use crate::{
    Growth, StoreError,
    changes::Heard,
    database::{Connection, Operation, Row, Sql, Value},
    stored::{self, Stored},
    transcript::{ROW, Saying, Worth, full},
};

/// Rows that go out together. Every count of them is a statement that SQLite keeps prepared.
const TOGETHER: usize = 16;

/// A [`Saying`], written out before anybody has to wait for its transaction.
#[derive(Debug, Clone)]
pub(crate) struct Tell {
    task: TaskId,
    run: u64,
    speaker: String,
    before: u64,
    lines: Vec<Line>,
    /// Bytes that the task may keep.
    limit: u64,
}

#[derive(Debug, Clone)]
struct Line {
    at: Timestamp,
    worth: Worth,
    stored: Stored,
}

impl Tell {
    /// What comes from elsewhere may be too long, whatever its sender says: each event is bounded once more.
    pub(crate) fn new(saying: Saying, limit: u64) -> Self {
        let line = |(at, event): (Timestamp, domain::transcript::AgentEvent)| {
            let event = event.bounded();
            Line { at, worth: Worth::of(&event), stored: stored::transcript::encode(&event) }
        };
        Self {
            task: saying.task,
            run: saying.run,
            speaker: format!("{:032x}", saying.speaker),
            before: saying.before,
            lines: saying.events.into_iter().map(line).collect(),
            limit,
        }
    }
}

/// The transcript as it is afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    number: u64,
    added: u64,
}

impl Told {
    pub(crate) const fn number(self) -> u64 {
        self.number
    }
}

/// How long the transcript is while it is being added to.
struct Head {
    number: u64,
    bytes: u64,
    attempts: u64,
    is_full: bool,
}

/// SQLite has one writer, so its turn is taken already.
const TURN: Sql = Sql {
    sqlite: "SELECT number, bytes, attempts, is_full FROM transcripts WHERE task = $1",
    postgres: "SELECT number, bytes, attempts, is_full FROM transcripts WHERE task = $1 FOR UPDATE",
};

impl Operation for Tell {
    type Output = Told;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<Told, StoreError> {
        let mut head = self.take_turn(connection).await?;
        let begun = head.number;
        let (attempt, taken) = self.attempt(connection, &mut head).await?;
        // Something between the two was never handed over.
        let Some(known) = taken.checked_sub(self.before) else {
            return Err(StoreError::Conflict { task: self.task });
        };
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let new = self.lines.get(known..).unwrap_or_default();
        if new.is_empty() {
            return Ok(Told { number: head.number, added: 0 });
        }
        for lines in new.chunks(TOGETHER) {
            for line in lines {
                self.add(connection, &mut head, attempt, line);
            }
            connection.flush().await?;
        }
        self.keep_head(connection, &head);
        self.keep_speaker(connection, attempt, taken + new.len() as u64);
        let added = head.number - begun;
        if added > 0 {
            connection.notify(Growth { task: self.task, number: head.number }.message());
        }
        Ok(Told { number: head.number, added })
    }

    fn changes(&self, told: &Told) -> Vec<Heard> {
        let growth = Growth { task: self.task, number: told.number };
        if told.added == 0 { Vec::new() } else { vec![Heard::Transcript(growth)] }
    }
}

impl Tell {
    /// Makes sure that nobody else adds to this transcript until the transaction ends.
    async fn take_turn(&self, connection: &mut Connection<'_>) -> Result<Head, StoreError> {
        let task = [Value::Owned(self.task.to_string())];
        let turn = connection.choose(TURN);
        if let Some(row) = connection.row(turn, &task).await? {
            return Head::read(&row);
        }
        let sql = "INSERT INTO transcripts (task, number, bytes, attempts, is_full) \
                   SELECT task, 0, 0, 0, 0 FROM tasks WHERE task = $1 ON CONFLICT (task) DO NOTHING";
        connection.execute(sql, &task).await?;
        match connection.row(turn, &task).await? {
            Some(row) => Head::read(&row),
            None => Err(StoreError::NoTask { task: self.task }),
        }
    }

    /// The number of the speaker's attempt, and how many of its events were taken before.
    async fn attempt(
        &self,
        connection: &mut Connection<'_>,
        head: &mut Head,
    ) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT attempt, taken FROM transcript_speakers WHERE task = $1 AND speaker = $2";
        let values = [Value::Owned(self.task.to_string()), Value::Text(&self.speaker)];
        if let Some(row) = connection.row(sql, &values).await? {
            return Ok((count(&row, "attempt")?, count(&row, "taken")?));
        }
        head.attempts += 1;
        Ok((head.attempts, 0))
    }

    /// Adds one event, or says, once, that there is no room for it.
    fn add(&self, connection: &mut Connection<'_>, head: &mut Head, attempt: u64, line: &Line) {
        let after = head.bytes.saturating_add(size(&line.stored));
        let is_ordinary = line.worth == Worth::Ordinary;
        if after <= line.worth.most(self.limit) && !(head.is_full && is_ordinary) {
            self.insert(connection, head, attempt, (line.at, line.stored.clone()));
        } else if !head.is_full {
            head.is_full = true;
            let note = stored::transcript::encode(&full(self.limit));
            self.insert(connection, head, attempt, (line.at, note));
        }
    }

    fn insert(
        &self,
        connection: &mut Connection<'_>,
        head: &mut Head,
        attempt: u64,
        (at, stored): (Timestamp, Stored),
    ) {
        head.number += 1;
        head.bytes = head.bytes.saturating_add(size(&stored));
        let values = vec![
            Value::Owned(self.task.to_string()),
            number(head.number),
            number(self.run),
            number(attempt),
            Value::Number(at.as_millis()),
            Value::Text(stored.kind),
            Value::Number(stored.version),
            Value::Owned(stored.body),
        ];
        let sql = "INSERT INTO transcript (task, number, run, attempt, at, kind, version, body) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        connection.later(sql, values);
    }

    fn keep_head(&self, connection: &mut Connection<'_>, head: &Head) {
        let values = vec![
            Value::Owned(self.task.to_string()),
            number(head.number),
            number(head.bytes),
            number(head.attempts),
            Value::Number(i64::from(head.is_full)),
        ];
        let sql = "UPDATE transcripts SET number = $2, bytes = $3, attempts = $4, is_full = $5 \
                   WHERE task = $1";
        connection.later(sql, values);
    }

    fn keep_speaker(&self, connection: &mut Connection<'_>, attempt: u64, taken: u64) {
        let values = vec![
            Value::Owned(self.task.to_string()),
            Value::Owned(self.speaker.clone()),
            number(attempt),
            number(taken),
        ];
        let sql = "INSERT INTO transcript_speakers (task, speaker, attempt, taken) \
                   VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (task, speaker) DO UPDATE SET taken = excluded.taken";
        connection.later(sql, values);
    }
}

impl Head {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            number: count(row, "number")?,
            bytes: count(row, "bytes")?,
            attempts: count(row, "attempts")?,
            is_full: row.number("is_full")? != 0,
        })
    }
}

/// What an event takes of its task's limit.
const fn size(stored: &Stored) -> u64 {
    (stored.body.len() as u64).saturating_add(ROW)
}

fn count(row: &Row, column: &'static str) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.number(column)?).unwrap_or_default())
}
