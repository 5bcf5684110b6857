//! Whose turn it is: calls that change one sandbox wait for each other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::id::SandboxId;
use tokio::sync::OwnedMutexGuard;

#[derive(Debug, Default)]
pub(crate) struct Turns {
    queues: Mutex<BTreeMap<SandboxId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    /// Returns when nobody else changes `id`; they wait until the guard is dropped.
    pub(crate) async fn take(&self, id: SandboxId) -> OwnedMutexGuard<()> {
        self.queue(id).lock_owned().await
    }

    /// The turn, if nobody else has it.
    pub(crate) fn take_now(&self, id: SandboxId) -> Option<OwnedMutexGuard<()>> {
        self.queue(id).try_lock_owned().ok()
    }

    fn queue(&self, id: SandboxId) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        // Queues that nobody stands in are forgotten.
        if queues.len() > FORGET_ABOVE {
            queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        }
        Arc::clone(queues.entry(id).or_default())
    }
}

const FORGET_ABOVE: usize = 256;
