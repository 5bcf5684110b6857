//! Adding to the audit log, one row after the other.

use domain::digest::Digest;

use crate::{
    StoreError,
    audit::{Entry, chain},
    database::{Connection, Operation, Value},
    text,
};

/// Something worth remembering that changed no task: a refusal, a policy, a look at a secret.
#[derive(Debug, Clone)]
pub(crate) struct Note(pub(crate) Entry);

impl Operation for Note {
    type Output = ();

    async fn run(&self, connection: &mut Connection<'_>) -> Result<(), StoreError> {
        append(connection, &self.0).await
    }
}

pub(crate) async fn append(
    connection: &mut Connection<'_>,
    entry: &Entry,
) -> Result<(), StoreError> {
    let entry = storable(entry);
    // Taking the head's row makes writers queue: a chain has one end.
    let sql =
        "UPDATE audit_head SET position = position + 1 WHERE one = 1 RETURNING position, hash";
    let Some(head) = connection.row(sql, &[]).await? else {
        return Err(StoreError::Unreadable { what: "the audit log has lost its head".to_owned() });
    };
    let position = head.number("position")?;
    let previous: Digest = head.parsed("hash")?;
    let hash = chain(position, &entry, previous).to_string();
    let values = vec![
        Value::Number(position),
        Value::Number(entry.at.as_millis()),
        Value::Owned(entry.actor),
        Value::Owned(entry.action),
        Value::Owned(entry.subject),
        Value::Owned(entry.detail),
        Value::Owned(previous.to_string()),
        Value::Owned(hash.clone()),
    ];
    let sql = "INSERT INTO audit (position, at, actor, action, subject, detail, previous, hash) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    connection.later(sql, values);
    let sql = "UPDATE audit_head SET hash = $1 WHERE one = 1";
    connection.later(sql, vec![Value::Owned(hash)]);
    Ok(())
}

fn storable(entry: &Entry) -> Entry {
    Entry {
        at: entry.at,
        actor: text::without_nul(&entry.actor),
        action: text::without_nul(&entry.action),
        subject: text::without_nul(&entry.subject),
        detail: text::without_nul(&entry.detail),
    }
}
