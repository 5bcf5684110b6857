//! The leases that this engine holds, and how to stop the steps behind them.
//!
//! One loop keeps them: it renews all of them at a third of their time, and at once when a task that
//! we work on has changed. A lease that was superseded or lost stops its step. When the database
//! cannot be reached until the leases run out, every step stops: someone else may have them by now.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{id::TaskId, time::Timestamp};
use store::{Lease, Renewal, Store};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct Held {
    steps: Mutex<HashMap<u64, (Lease, CancellationToken)>>,
    next: std::sync::atomic::AtomicU64,
    kept_until: Mutex<Option<Timestamp>>,
}

/// One lease in the list; leaves it when dropped.
pub(crate) struct Holding<'h> {
    held: &'h Held,
    number: u64,
    pub(crate) stop: CancellationToken,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        lock(&self.held.steps).remove(&self.number);
    }
}

impl Held {
    pub(crate) fn hold(&self, lease: &Lease) -> Holding<'_> {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let stop = CancellationToken::new();
        lock(&self.steps).insert(number, (lease.clone(), stop.clone()));
        Holding { held: self, number, stop }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.steps).len()
    }

    pub(crate) fn works_on(&self, task: TaskId) -> bool {
        lock(&self.steps).values().any(|(lease, _)| lease.task == task)
    }

    /// Renews everything that is held. Steps whose lease is gone are told to stop.
    pub(crate) async fn renew(&self, store: &Store, now: Timestamp, lease: Duration) {
        let (leases, stops): (Vec<Lease>, Vec<CancellationToken>) =
            lock(&self.steps).values().cloned().unzip();
        if leases.is_empty() {
            *lock(&self.kept_until) = None;
            return;
        }
        let until = now + lease;
        match store.renew(leases, until).await {
            Ok(renewals) => {
                *lock(&self.kept_until) = Some(until);
                for (renewal, stop) in renewals.into_iter().zip(stops) {
                    match renewal {
                        Renewal::Held => {}
                        Renewal::Superseded | Renewal::Lost => stop.cancel(),
                    }
                }
            }
            Err(error) => {
                let ran_out = lock(&self.kept_until).is_some_and(|until| now >= until);
                tracing::warn!(%error, ran_out, "cannot renew leases");
                if ran_out {
                    stops.iter().for_each(CancellationToken::cancel);
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
