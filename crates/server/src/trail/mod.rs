//! The server's way to the audit log: what sandboxes were refused, which credentials they used, what a person should look at.
//!
//! ```text
//!  broker ── record ──▶ log.jsonl                               one line for each exchange, put aside when full
//!                  ├──▶ tasks/TASK.jsonl                        the same of each task, shorter, for its receipt
//!                  └──▶ refused, credential, finding, alarm ──▶ queue ──▶ writer ──▶ audit log of the store
//! ```
//!
//! The data path never waits for the database. While the audit log cannot be written, or is too far behind, no credential is handed out;
//! whatever else happened is counted, and becomes a row when it can be written again.
//! [Decision 12](../../../../docs/decisions/0012-what-is-audited.md) says what goes where.

pub(crate) mod books;
mod entry;
mod window;
mod writer;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::time::Timestamp;
use egress::broker::ledger::{FileLedger, Ledger, NotWritten, Record, Rotation, What};
use secrets::keeper::Keeper;
use store::{AuditEntry, Store};
use tokio::sync::mpsc;

pub(crate) use self::writer::Writer;
use self::{
    books::Books,
    entry::{Audited, audited},
    window::{Admitted, Sum, Windows},
};

/// How many rows may wait to be written.
const WAITING: usize = 4096;

/// Where records of the way out go.
#[derive(Debug)]
pub(crate) struct Trail {
    log: FileLedger,
    books: Books,
    queue: mpsc::Sender<AuditEntry>,
    shared: Arc<Shared>,
    keeper: Keeper,
}

/// What the trail and its writer share.
#[derive(Debug)]
struct Shared {
    windows: Mutex<Windows>,
    /// Why the last row could not be written; none when it could.
    trouble: Mutex<Option<String>>,
}

fn behind() -> NotWritten {
    NotWritten("the audit log is too far behind; look at the database".to_owned())
}

/// The file of exchanges in the directory of the way out.
pub(crate) fn log_file(directory: &Path) -> PathBuf {
    directory.join("log.jsonl")
}

impl Trail {
    /// The trail, and what writes it to `store`. Values of secrets are in no row.
    pub(crate) fn open(
        log: &Path,
        store: Arc<Store>,
        keeper: Keeper,
    ) -> std::io::Result<(Self, Writer)> {
        let (queue, rows) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared { windows: Mutex::default(), trouble: Mutex::default() });
        let trail = Self {
            log: FileLedger::open(log, Rotation::default())?,
            books: Books::beside(log),
            queue,
            shared: Arc::clone(&shared),
            keeper,
        };
        Ok((trail, Writer::new(store, rows, shared)))
    }

    fn queue(&self, entry: AuditEntry) -> Result<(), NotWritten> {
        let entry = AuditEntry { detail: self.clean(&entry.detail), ..entry };
        self.queue.try_send(entry).map_err(|_full| behind())
    }

    /// Whether rows are written now. A credential is handed out only then, also one that would be a number in a sum.
    fn check(&self) -> Result<(), NotWritten> {
        match self.shared.trouble() {
            Some(trouble) => Err(NotWritten(format!("the audit log cannot be written: {trouble}"))),
            None if self.queue.capacity() == 0 => Err(behind()),
            None => Ok(()),
        }
    }

    fn clean(&self, detail: &str) -> String {
        match self.keeper.redactions() {
            Ok(redactions) => redactions.text(detail).into_owned(),
            // What cannot be cleaned is not written.
            Err(_) => "{}".to_owned(),
        }
    }

    /// A row for what was done, or a number in a sum.
    fn add(&self, audited: Audited, now: Timestamp) -> Result<(), NotWritten> {
        let Audited { sandbox: Some(sandbox), entry } = audited else {
            return self.queue(audited.entry);
        };
        let key = (entry.action.clone(), entry.subject.clone());
        let kind = (key.0.as_str(), key.1.as_str());
        let (admitted, sum) = self.shared.windows().admit(&sandbox, kind, now);
        if let Some(sum) = sum {
            // A sum that does not fit is a number in the next one, of an action of its own.
            let count = sum.count;
            if self.queue(sum.entry()).is_err() {
                let kind = ("egress.more", format!("{count} earlier"));
                self.shared.windows().count(&sandbox, (kind.0, &kind.1), now);
            }
        }
        match admitted {
            Admitted::InSum => Ok(()),
            Admitted::Each => self.queue(entry).inspect_err(|_behind| {
                self.shared.windows().count(&sandbox, kind, now);
            }),
        }
    }
}

impl Ledger for Trail {
    fn write(&self, record: &Record) -> Result<(), NotWritten> {
        if let What::Credential { .. } = &record.what {
            self.check()?;
        }
        let logged = self.log.write(record).and(self.books.write(record));
        match audited(record) {
            Some(audited) => self.add(audited, Timestamp::from_millis(record.at)),
            None => logged,
        }
    }
}

impl Shared {
    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

impl Sum {
    fn entry(self) -> AuditEntry {
        let Self { sandbox, since, until, count, by, others } = self;
        let by: Vec<BTreeMap<&str, serde_json::Value>> = by
            .into_iter()
            .map(|(action, subject, count)| {
                BTreeMap::from([
                    ("action", action.into()),
                    ("subject", subject.into()),
                    ("count", count.into()),
                ])
            })
            .collect();
        let detail = serde_json::json!({
            "since_millis": since.as_millis(),
            "until_millis": until.as_millis(),
            "count": count,
            "by": by,
            "others": others,
        });
        AuditEntry {
            at: until,
            actor: format!("sandbox {sandbox}"),
            action: "egress.more".to_owned(),
            subject: sandbox,
            detail: detail.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
