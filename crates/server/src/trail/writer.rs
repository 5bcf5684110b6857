//! Writes rows to the audit log, one after the other, for as long as the server runs.

use std::{sync::Arc, time::Duration};

use contracts::clock::{Clock as _, SystemClock};
use futures::future::join_all;
use store::{AuditEntry, Store};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Shared, window::Sum};

/// How often minutes that are over are looked for.
const LOOK: Duration = Duration::from_secs(5);
/// How many rows are written at one time.
const TOGETHER: usize = 64;
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
        let mut rows = Vec::with_capacity(TOGETHER);
        loop {
            tokio::select! {
                count = self.rows.recv_many(&mut rows, TOGETHER) => match count {
                    0 => break,
                    _ => self.append(std::mem::take(&mut rows), &stop).await,
                },
                _ = look.tick() => {
                    let sums = self.shared.windows().over(SystemClock.now());
                    self.append(sums.into_iter().map(Sum::entry).collect(), &stop).await;
                }
                () = stop.cancelled() => break,
            }
        }
        self.rows.close();
        while self.rows.recv_many(&mut rows, TOGETHER).await > 0 {
            self.append(std::mem::take(&mut rows), &stop).await;
        }
        let sums = self.shared.windows().all(SystemClock.now());
        self.append(sums.into_iter().map(Sum::entry).collect(), &stop).await;
    }

    /// Tries until all are written, or the server ends. Meanwhile no credential is handed out. The store commits what waits at the same time
    /// together.
    async fn append(&self, mut rows: Vec<AuditEntry>, stop: &CancellationToken) {
        while !rows.is_empty() {
            let written = join_all(rows.iter().map(|row| self.store.audit(row.clone()))).await;
            let failed = rows.into_iter().zip(written);
            let failed: Vec<_> =
                failed.filter_map(|(row, written)| Some((row, written.err()?))).collect();
            let Some((_, error)) = failed.first() else {
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
                for (row, _) in &failed {
                    tracing::error!(row.action, row.subject, "a row is lost");
                }
                return;
            }
            rows = failed.into_iter().map(|(row, _)| row).collect();
            let _again = tokio::time::timeout(AGAIN, stop.cancelled()).await;
        }
    }
}
