//! Writes rows to the audit log, one after the other, for as long as the server runs.

use std::{sync::Arc, time::Duration};

use contracts::clock::{Clock as _, SystemClock};
use store::{AuditEntry, Store};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Shared;

/// How often minutes that are over are looked for.
const LOOK: Duration = Duration::from_secs(5);
/// How long a row that could not be written waits.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Writer {
    store: Arc<Store>,
    rows: mpsc::Receiver<AuditEntry>,
    shared: Arc<Shared>,
}

impl Writer {
    pub(super) const fn new(
        store: Arc<Store>,
        rows: mpsc::Receiver<AuditEntry>,
        shared: Arc<Shared>,
    ) -> Self {
        Self { store, rows, shared }
    }

    /// Until `stop`, and then all that still waits.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                row = self.rows.recv() => match row {
                    Some(row) => self.append(row, &stop).await,
                    None => break,
                },
                _ = look.tick() => {
                    let sums = self.shared.windows().over(SystemClock.now());
                    for sum in sums {
                        self.append(sum.entry(), &stop).await;
                    }
                }
                () = stop.cancelled() => break,
            }
        }
        self.rows.close();
        while let Some(row) = self.rows.recv().await {
            self.append(row, &stop).await;
        }
        let sums = self.shared.windows().all(SystemClock.now());
        for sum in sums {
            self.append(sum.entry(), &stop).await;
        }
    }

    /// Tries until it is written, or the server ends. Meanwhile no credential is handed out.
    async fn append(&self, row: AuditEntry, stop: &CancellationToken) {
        loop {
            let Err(error) = self.store.audit(row.clone()).await else {
                if self.shared.trouble().is_some() {
                    tracing::info!("the audit log can be written again");
                    self.shared.set_trouble(None);
                }
                return;
            };
            if self.shared.trouble().is_none() {
                tracing::error!(%error, "the audit log cannot be written; no credential is handed out until it can");
            }
            self.shared.set_trouble(Some(error.to_string()));
            if stop.is_cancelled() {
                tracing::error!(action = row.action, subject = row.subject, "a row is lost");
                return;
            }
            let _again = tokio::time::timeout(AGAIN, stop.cancelled()).await;
        }
    }
}
