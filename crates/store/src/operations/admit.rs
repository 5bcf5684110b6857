//! Giving places to waiting tasks.
//!
//! Who is next is decided by [`domain::queue`]; here the facts are read, and the places given, in one
//! transaction that nobody else can be in. So two servers together never give more than there are.

use domain::{
    id::TaskId,
    queue::{Begun, Places, Running, WaitReason, Waiting, order},
    task::{Command, Report, decide},
    time::Timestamp,
};

use super::append::Append;
use crate::{
    StoreError,
    database::{Connection, Operation, Row, Sql, Value},
    queries::history,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Admit {
    pub(crate) places: Places,
    pub(crate) at: Timestamp,
}

/// PostgreSQL has many writers: this number stands for the queue. SQLite has one anyway.
const TURN: Sql = Sql {
    sqlite: "SELECT 1",
    postgres: "SELECT 1 FROM (SELECT pg_advisory_xact_lock(7180)) AS turn",
};

pub(crate) const RUNNING: &str =
    "SELECT repository, person FROM tasks WHERE standing = 'holds_place'";

/// Of each person in each repository no more than could get a place: a long queue stays cheap.
pub(crate) const WAITING: &str = "SELECT task, repository, person, since, begun FROM ( \
         SELECT task, repository, person, since, begun, ROW_NUMBER() OVER \
             (PARTITION BY repository, person ORDER BY begun DESC, since, task) AS place \
         FROM tasks WHERE standing = 'needs_place') AS line \
     WHERE place <= $1";

impl Operation for Admit {
    type Output = Vec<(TaskId, u64)>;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<Self::Output, StoreError> {
        connection.rows(connection.choose(TURN), &[]).await?;
        let running = connection.rows(RUNNING, &[]).await?;
        let running = running.iter().map(read_running).collect::<Result<Vec<_>, _>>()?;
        if running.len() >= self.places.total {
            return Ok(Vec::new());
        }
        let most = i64::try_from(self.places.total).unwrap_or(i64::MAX);
        let waiting = connection.rows(WAITING, &[Value::Number(most)]).await?;
        let waiting = waiting.iter().map(read_waiting).collect::<Result<Vec<_>, _>>()?;
        let starting: Vec<TaskId> = order(&waiting, &running, self.places)
            .take_while(|position| position.reason == WaitReason::StartsNow)
            .map(|position| position.task)
            .collect();
        let mut admitted = Vec::with_capacity(starting.len());
        for task in starting {
            if let Some(seq) = self.admit(connection, task).await? {
                admitted.push((task, seq));
            }
        }
        Ok(admitted)
    }
}

impl Admit {
    async fn admit(
        &self,
        connection: &mut Connection<'_>,
        task: TaskId,
    ) -> Result<Option<u64>, StoreError> {
        // The turn comes before the reading: whoever cancels it right now is before or after us.
        let sql = "UPDATE tasks SET seq = seq WHERE task = $1";
        connection.execute(sql, &[Value::Owned(task.to_string())]).await?;
        let history = history::read(connection, task).await?;
        let (Some(before), Some(newest)) = (history.task(), history.events.last()) else {
            return Ok(None);
        };
        let Ok(event) = decide(&before, Command::Report(Report::Admitted)) else {
            return Ok(None);
        };
        let append = Append {
            task,
            seq: newest.seq,
            before: Some(before),
            events: vec![event],
            at: self.at,
            settles: None,
        };
        Ok(Some(append.run(connection).await?.seq))
    }
}

pub(crate) fn read_running(row: &Row) -> Result<Running, StoreError> {
    Ok(Running { repository: row.parsed("repository")?, person: row.parsed("person")? })
}

pub(crate) fn read_waiting(row: &Row) -> Result<Waiting, StoreError> {
    Ok(Waiting {
        task: row.parsed("task")?,
        repository: row.parsed("repository")?,
        person: row.parsed("person")?,
        since: Timestamp::from_millis(row.number("since")?),
        begun: if row.number("begun")? == 0 { Begun::No } else { Begun::Yes },
    })
}
