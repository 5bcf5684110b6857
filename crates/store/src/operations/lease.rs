//! Keeping, settling and giving back a lease.

use domain::time::Timestamp;

use crate::{
    StoreError,
    database::{Connection, Operation, Value},
    outbox::{Lease, Renewal},
    stored,
};

use crate::database::number;

/// Keeps the leases of steps that are still being worked on.
#[derive(Debug, Clone)]
pub(crate) struct Renew {
    pub(crate) leases: Vec<Lease>,
    pub(crate) until: Timestamp,
}

impl Operation for Renew {
    type Output = Vec<Renewal>;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<Vec<Renewal>, StoreError> {
        let mut renewals = Vec::with_capacity(self.leases.len());
        for lease in &self.leases {
            let mut values = identity(lease).to_vec();
            values.push(Value::Number(self.until.as_millis()));
            let sql = "UPDATE outbox SET lease_until = $6 WHERE task = $1 AND seq = $2 \
                       AND step = $3 AND holder = $4 AND attempts = $5 RETURNING superseded";
            let row = connection.row(sql, &values).await?;
            renewals.push(match row {
                None => Renewal::Lost,
                Some(row) if row.number("superseded")? == 0 => Renewal::Held,
                Some(_told_to_stop) => Renewal::Superseded,
            });
        }
        Ok(renewals)
    }
}

/// A step that is done, or that nobody needs any more, and that leaves no event.
#[derive(Debug, Clone)]
pub(crate) struct Finish {
    pub(crate) lease: Lease,
}

impl Operation for Finish {
    type Output = ();

    async fn run(&self, connection: &mut Connection<'_>) -> Result<(), StoreError> {
        let sql = "DELETE FROM outbox \
                   WHERE task = $1 AND seq = $2 AND step = $3 AND holder = $4 AND attempts = $5";
        match connection.execute(sql, &identity(&self.lease)).await? {
            0 => Err(StoreError::LeaseLost),
            _one => Ok(()),
        }
    }
}

/// A step that did not work out and is tried again at `due_at`.
#[derive(Debug, Clone)]
pub(crate) struct PutBack {
    pub(crate) lease: Lease,
    pub(crate) due_at: Timestamp,
    pub(crate) why: String,
}

impl Operation for PutBack {
    type Output = ();

    async fn run(&self, connection: &mut Connection<'_>) -> Result<(), StoreError> {
        let mut values = identity(&self.lease).to_vec();
        values.push(Value::Number(self.due_at.as_millis()));
        let why = crate::text::brief(&self.why);
        values.push(Value::Text(&why));
        let sql = "UPDATE outbox SET lease_until = 0, holder = '', due_at = $6, last_error = $7 \
                   WHERE task = $1 AND seq = $2 AND step = $3 AND holder = $4 AND attempts = $5";
        match connection.execute(sql, &values).await? {
            0 => Err(StoreError::LeaseLost),
            _one => Ok(()),
        }
    }
}

/// A step that was told to stop has stopped. One that nobody told to stop is left as it is: whoever
/// claims it next does it.
#[derive(Debug, Clone)]
pub(crate) struct Abandon {
    pub(crate) lease: Lease,
}

impl Operation for Abandon {
    type Output = ();

    async fn run(&self, connection: &mut Connection<'_>) -> Result<(), StoreError> {
        let sql = "DELETE FROM outbox WHERE task = $1 AND seq = $2 AND step = $3 \
                   AND holder = $4 AND attempts = $5 AND superseded = 1";
        connection.execute(sql, &identity(&self.lease)).await.map(|_one_or_none| ())
    }
}

/// A driver stops in an orderly way: the next may begin at once, and this was no failed try.
#[derive(Debug, Clone)]
pub(crate) struct HandOver {
    pub(crate) lease: Lease,
}

impl Operation for HandOver {
    type Output = ();

    async fn run(&self, connection: &mut Connection<'_>) -> Result<(), StoreError> {
        let sql = "UPDATE outbox SET lease_until = 0, holder = '', attempts = attempts - 1 \
                   WHERE task = $1 AND seq = $2 AND step = $3 AND holder = $4 AND attempts = $5";
        connection.execute(sql, &identity(&self.lease)).await.map(|_one_or_none| ())
    }
}

/// A driver starts anew under its old name: what it held before, it holds no longer.
#[derive(Debug, Clone)]
pub(crate) struct LetGo {
    pub(crate) holder: String,
}

impl Operation for LetGo {
    type Output = u64;

    async fn run(&self, connection: &mut Connection<'_>) -> Result<u64, StoreError> {
        let sql = "UPDATE outbox SET lease_until = 0 WHERE holder = $1 AND lease_until > 0";
        connection.execute(sql, &[Value::Text(&self.holder)]).await
    }
}

/// Takes the row of a step whose outcome is being written. A step that was told to stop has no say.
pub(crate) async fn remove(
    connection: &mut Connection<'_>,
    lease: &Lease,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM outbox WHERE task = $1 AND seq = $2 AND step = $3 \
               AND holder = $4 AND attempts = $5 AND superseded = 0";
    match connection.execute(sql, &identity(lease)).await? {
        0 => Err(StoreError::LeaseLost),
        _one => Ok(()),
    }
}

fn identity(lease: &Lease) -> [Value<'_>; 5] {
    [
        Value::Owned(lease.task.to_string()),
        number(lease.seq),
        Value::Text(stored::step::encode(lease.step)),
        Value::Text(&lease.holder),
        Value::Number(i64::from(lease.attempt)),
    ]
}
