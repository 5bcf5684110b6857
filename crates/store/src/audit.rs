//! Who did what: append-only, and chained, so that a changed, missing or added row shows (PO4).
//!
//! ```text
//!  hash(1) = H(0…0, row 1)      hash(2) = H(hash(1), row 2)      …      audit_head = (n, hash(n))
//! ```
//!
//! The chain proves that the rows were not changed one by one. Someone who can write the whole
//! database can write a whole new chain; against that, keep the head's hash somewhere else
//! (`lamp audit verify` prints it).

use domain::{digest::Digest, time::Timestamp};
use sha2::{Digest as _, Sha256};

use crate::{
    StoreError,
    database::{Database, Row, Value},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub at: Timestamp,
    /// A person's id, or `engine`, `sandbox s_…`, `system`.
    pub actor: String,
    pub action: String,
    /// What it was done to: a task, a policy, a secret's name.
    pub subject: String,
    /// What exactly: the stored event, or a sentence.
    pub detail: String,
}

/// A row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub position: i64,
    pub entry: Entry,
    pub previous: Digest,
    pub hash: Digest,
}

/// A log whose chain holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    pub rows: i64,
    pub head: Digest,
}

#[derive(Debug, thiserror::Error)]
pub enum AuditFault {
    #[error("row {position} is missing")]
    Missing { position: i64 },
    #[error("row {position} was changed: it does not match its own hash")]
    Changed { position: i64 },
    #[error("row {position} does not follow the row before it")]
    Unlinked { position: i64 },
    #[error("row {position} was added: nobody wrote it through lamp")]
    Added { position: i64 },
    #[error("the log ends at row {found}, but {expected} rows were written")]
    Cut { found: i64, expected: i64 },
    #[error("the log ends in another hash than the one that was kept")]
    OtherHead,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The hash of one row on top of the one before it. Every field has its length before it.
pub(crate) fn chain(position: i64, entry: &Entry, previous: Digest) -> Digest {
    let mut hash = Sha256::new();
    hash.update(b"lamplighter audit 1");
    hash.update(previous.as_bytes());
    hash.update(position.to_be_bytes());
    hash.update(entry.at.as_millis().to_be_bytes());
    for field in [&entry.actor, &entry.action, &entry.subject, &entry.detail] {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field.as_bytes());
    }
    Digest::from_bytes(hash.finalize().into())
}

const PAGE: i64 = 1_000;

/// Rows after `position`, oldest first, at most a thousand.
pub(crate) async fn page(database: &Database, position: i64) -> Result<Vec<Link>, StoreError> {
    rows(database, position).await?.iter().map(read).collect()
}

async fn rows(database: &Database, position: i64) -> Result<Vec<Row>, StoreError> {
    let sql = "SELECT position, at, actor, action, subject, detail, previous, hash FROM audit \
               WHERE position > $1 ORDER BY position LIMIT $2";
    database.rows(sql, &[Value::Number(position), Value::Number(PAGE)]).await
}

/// Walks the whole chain.
pub(crate) async fn verify(database: &Database) -> Result<Verified, AuditFault> {
    let head = head(database).await?;
    if let Some(position) = head.oldest.filter(|oldest| *oldest < 1) {
        return Err(AuditFault::Added { position });
    }
    if let Some(position) = head.newest.filter(|newest| *newest > head.position) {
        return Err(AuditFault::Added { position });
    }
    let mut seen = Verified { rows: 0, head: Digest::from_bytes([0; 32]) };
    while seen.rows < head.position {
        let rows = rows(database, seen.rows).await?;
        if rows.is_empty() {
            return Err(AuditFault::Cut { found: seen.rows, expected: head.position });
        }
        for row in rows {
            // What cannot even be read was not written by us.
            let position = seen.rows + 1;
            let link = read(&row).map_err(|_unreadable| AuditFault::Changed { position })?;
            seen = follow(seen, &link)?;
            if seen.rows == head.position {
                break;
            }
        }
    }
    if seen.head != head.hash {
        return Err(AuditFault::OtherHead);
    }
    Ok(seen)
}

fn follow(before: Verified, link: &Link) -> Result<Verified, AuditFault> {
    let position = before.rows + 1;
    if link.position != position {
        return Err(AuditFault::Missing { position });
    }
    if link.previous != before.head {
        return Err(AuditFault::Unlinked { position });
    }
    if chain(position, &link.entry, link.previous) != link.hash {
        return Err(AuditFault::Changed { position });
    }
    Ok(Verified { rows: position, head: link.hash })
}

/// What was kept beside the log about its end, and where the log really begins and ends.
struct Head {
    position: i64,
    hash: Digest,
    oldest: Option<i64>,
    newest: Option<i64>,
}

/// One statement sees one moment: what is being added meanwhile is in both or in neither.
async fn head(database: &Database) -> Result<Head, StoreError> {
    let sql = "SELECT position, hash, (SELECT MIN(position) FROM audit) AS oldest, \
                   (SELECT MAX(position) FROM audit) AS newest FROM audit_head";
    let rows = database.rows(sql, &[]).await?;
    let Some(row) = rows.first() else {
        return Err(StoreError::Unreadable { what: "the audit log has lost its head".to_owned() });
    };
    Ok(Head {
        position: row.number("position")?,
        hash: row.parsed("hash")?,
        oldest: row.maybe_number("oldest")?,
        newest: row.maybe_number("newest")?,
    })
}

fn read(row: &Row) -> Result<Link, StoreError> {
    Ok(Link {
        position: row.number("position")?,
        entry: Entry {
            at: Timestamp::from_millis(row.number("at")?),
            actor: row.text("actor")?,
            action: row.text("action")?,
            subject: row.text("subject")?,
            detail: row.text("detail")?,
        },
        previous: row.parsed("previous")?,
        hash: row.parsed("hash")?,
    })
}
