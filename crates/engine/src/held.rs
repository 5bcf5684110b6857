//! The leases that this engine holds, and how to stop the steps behind them.
//!
//! They are renewed all together at a third of their time, and at once when a task that we work on has
//! changed. A lease that was superseded or lost stops its step. When the database cannot be reached
//! until a lease has run out, its step stops too: someone else may have it by now.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{id::TaskId, time::Timestamp};
use store::{Lease, Renewal, Store};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Steps>>);

#[derive(Debug, Default)]
struct Steps {
    next: u64,
    all: HashMap<u64, Step>,
}

#[derive(Debug, Clone)]
struct Step {
    lease: Lease,
    until: Timestamp,
    stop: CancellationToken,
}

/// One lease in the list; leaves it when dropped.
#[derive(Debug)]
pub(crate) struct Holding {
    held: Held,
    number: u64,
    pub(crate) stop: CancellationToken,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.held.lock().all.remove(&self.number);
    }
}

impl Held {
    pub(crate) fn hold(&self, lease: Lease, until: Timestamp) -> Holding {
        let stop = CancellationToken::new();
        let mut steps = self.lock();
        let number = steps.next;
        steps.next += 1;
        steps.all.insert(number, Step { lease, until, stop: stop.clone() });
        Holding { held: self.clone(), number, stop }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    pub(crate) fn works_on(&self, task: TaskId) -> bool {
        self.lock().all.values().any(|step| step.lease.task == task)
    }

    /// Renews everything that is held. Steps whose lease is gone are told to stop.
    pub(crate) async fn renew(&self, store: &Store, now: impl Fn() -> Timestamp, lease: Duration) {
        let (numbers, steps): (Vec<u64>, Vec<Step>) =
            self.lock().all.iter().map(|(number, step)| (*number, step.clone())).unzip();
        if steps.is_empty() {
            return;
        }
        let until = now() + lease;
        let leases = steps.iter().map(|step| step.lease.clone()).collect();
        match store.renew(leases, until).await {
            Ok(renewals) => {
                for ((number, step), renewal) in numbers.iter().zip(&steps).zip(renewals) {
                    match renewal {
                        Renewal::Held => self.keep(*number, until),
                        Renewal::Superseded | Renewal::Lost => step.stop.cancel(),
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot renew leases");
                // Asking may have taken long: what counts is the time after it.
                let now = now();
                let ran_out = steps.iter().filter(|step| step.until <= now);
                ran_out.for_each(|step| step.stop.cancel());
            }
        }
    }

    fn keep(&self, number: u64, until: Timestamp) {
        if let Some(step) = self.lock().all.get_mut(&number) {
            step.until = until;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Steps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
