//! Giving places to waiting tasks.
//!
//! Who is next is decided by [`domain::queue`]; here the facts are read, and the places given, in one
//! transaction that nobody else can be in. So two servers together never give more than there are.

use domain::{
    id::TaskId,
    queue::{Places, Position, Running, WaitReason, Waiting, order},
    task::{Command, Report, decide},
    time::Timestamp,
};

use super::append::{Append, take_turn};
use crate::{
    StoreError,
    changes::{Change, Heard},
    database::{Connection, Operation, Sql, Value},
    queries::{
        history,
        places::{RUNNING, WAITING, read_running, read_waiting},
    },
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

impl Operation for Admit {
    type Output = Vec<(TaskId, u64)>;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<Self::Output, StoreError> {
        connection.rows(connection.choose(TURN), &[]).await?;
        let running = connection.rows(RUNNING, &[]).await?;
        let running = running.iter().map(read_running).collect::<Result<Vec<_>, _>>()?;
        let free = self.places.total.saturating_sub(running.len());
        if free == 0 {
            return Ok(Vec::new());
        }
        let most = free.min(self.places.per_repository).min(self.places.per_person);
        let most = Value::Number(i64::try_from(most).unwrap_or(i64::MAX));
        let waiting = connection.rows(connection.choose(WAITING), &[most]).await?;
        let waiting = waiting.iter().map(read_waiting).collect::<Result<Vec<_>, _>>()?;
        self.admit_in_order(connection, waiting, running).await
    }

    fn changes(&self, admitted: &Self::Output) -> Vec<Heard> {
        let change = |(task, seq): &(TaskId, u64)| Heard::Change(Change { task: *task, seq: *seq });
        admitted.iter().map(change).collect()
    }
}

impl Admit {
    /// Gives each place to the next in the order. One that cannot take it (a newer lamp wrote its
    /// history) does not keep it from the others.
    async fn admit_in_order(
        &self,
        connection: &mut Connection<'_>,
        mut waiting: Vec<Waiting>,
        mut running: Vec<Running>,
    ) -> Result<Vec<(TaskId, u64)>, StoreError> {
        let mut admitted = Vec::new();
        loop {
            let next = order(&waiting, &running, self.places).next();
            let Some(Position { task, reason: WaitReason::StartsNow, .. }) = next else {
                return Ok(admitted);
            };
            let Some(index) = waiting.iter().position(|it| it.task == task) else {
                return Ok(admitted);
            };
            let Waiting { repository, person, .. } = waiting.swap_remove(index);
            match self.admit(connection, task).await {
                Ok(Some(seq)) => {
                    admitted.push((task, seq));
                    running.push(Running { repository, person });
                }
                Ok(None) => {}
                Err(StoreError::Unreadable { what }) => {
                    tracing::warn!(%task, what, "cannot give a place");
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn admit(
        &self,
        connection: &mut Connection<'_>,
        task: TaskId,
    ) -> Result<Option<u64>, StoreError> {
        // The turn comes before the reading: whoever cancels it right now is before or after us.
        take_turn(connection, task).await?;
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
