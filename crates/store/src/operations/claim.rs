//! Claiming steps that are due.
//!
//! Steps of one task and one lane run one after the other, in the order of their events; timers run
//! whenever they are due. Rows that were told to stop and whose holder has gone are swept out here.

use std::time::Duration;

use domain::time::Timestamp;

use crate::{
    StoreError,
    database::{Connection, Operation, Row, Sql, Value},
    outbox::Lease,
    stored,
};

#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) holder: String,
    pub(crate) now: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) most: u32,
}

/// What was told to stop, and whose holder has gone. Another claimer that is at it may go on.
pub(crate) const SWEEP: Sql = Sql {
    sqlite: "DELETE FROM outbox WHERE superseded = 1 AND lease_until <= $1",
    postgres: "DELETE FROM outbox WHERE (task, seq, step) IN (SELECT task, seq, step FROM outbox \
               WHERE superseded = 1 AND lease_until <= $1 FOR UPDATE SKIP LOCKED)",
};

pub(crate) const DUE: Sql = Sql {
    sqlite: "SELECT task, seq, step, attempts FROM outbox o \
             WHERE ready_at <= $1 AND superseded = 0 \
               AND (lane = 'timer' OR NOT EXISTS (SELECT 1 FROM outbox e \
                    WHERE e.task = o.task AND e.seq < o.seq AND e.lane = o.lane)) \
             ORDER BY ready_at LIMIT $2",
    postgres: "SELECT task, seq, step, attempts FROM outbox o \
               WHERE ready_at <= $1 AND superseded = 0 \
                 AND (lane = 'timer' OR NOT EXISTS (SELECT 1 FROM outbox e \
                      WHERE e.task = o.task AND e.seq < o.seq AND e.lane = o.lane)) \
               ORDER BY ready_at LIMIT $2 FOR UPDATE SKIP LOCKED",
};

/// How long a step that we cannot read is out of the way.
const UNKNOWN_WAITS: Duration = Duration::from_secs(10);

impl Operation for Claim {
    type Output = Vec<Lease>;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<Vec<Lease>, StoreError> {
        let now = Value::Number(self.now.as_millis());
        let sweep = connection.choose(SWEEP);
        connection.execute(sweep, std::slice::from_ref(&now)).await?;
        let values = [now, Value::Number(i64::from(self.most))];
        let rows = connection.rows(connection.choose(DUE), &values).await?;
        let mut leases = Vec::with_capacity(rows.len());
        for row in rows {
            match self.lease(&row) {
                Ok(lease) => {
                    self.take(connection, &lease).await?;
                    leases.push(lease);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot claim a step");
                    self.postpone(connection, &row).await?;
                }
            }
        }
        Ok(leases)
    }
}

impl Claim {
    fn lease(&self, row: &Row) -> Result<Lease, StoreError> {
        Ok(Lease {
            task: row.parsed("task")?,
            seq: u64::try_from(row.number("seq")?).unwrap_or_default(),
            step: stored::step::decode(&row.text("step")?)?,
            holder: self.holder.clone(),
            attempt: u32::try_from(row.number("attempts")?).unwrap_or(u32::MAX).saturating_add(1),
        })
    }

    /// A step that a newer lamp wrote is left to it, and must not stand first in line for ever.
    async fn postpone(&self, connection: &mut Connection<'_>, row: &Row) -> Result<(), StoreError> {
        let values = [
            Value::Owned(row.text("task")?),
            Value::Number(row.number("seq")?),
            Value::Owned(row.text("step")?),
            Value::Number((self.now + UNKNOWN_WAITS).as_millis()),
        ];
        let sql = "UPDATE outbox SET due_at = $4 WHERE task = $1 AND seq = $2 AND step = $3";
        connection.execute(sql, &values).await.map(|_one| ())
    }

    async fn take(&self, connection: &mut Connection<'_>, lease: &Lease) -> Result<(), StoreError> {
        let values = [
            Value::Owned(lease.task.to_string()),
            crate::database::number(lease.seq),
            Value::Text(stored::step::encode(lease.step)),
            Value::Number(self.until.as_millis()),
            Value::Text(&self.holder),
            Value::Number(i64::from(lease.attempt)),
        ];
        let sql = "UPDATE outbox SET lease_until = $4, holder = $5, attempts = $6 \
                   WHERE task = $1 AND seq = $2 AND step = $3";
        connection.execute(sql, &values).await.map(|_one| ())
    }
}
