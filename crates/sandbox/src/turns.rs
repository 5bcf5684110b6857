//! Whose turn it is: calls that change one thing wait for each other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OwnedMutexGuard;

#[derive(Debug)]
pub(crate) struct Turns<K> {
    queues: Mutex<BTreeMap<K, Arc<tokio::sync::Mutex<()>>>>,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { queues: Mutex::default() }
    }
}

impl<K: Ord> Turns<K> {
    /// Returns when nobody else changes `id`; they wait until the guard is dropped.
    pub(crate) async fn take(&self, id: K) -> OwnedMutexGuard<()> {
        self.queue(id).lock_owned().await
    }

    /// The turn, if nobody else has it.
    pub(crate) fn take_now(&self, id: K) -> Option<OwnedMutexGuard<()>> {
        self.queue(id).try_lock_owned().ok()
    }

    fn queue(&self, id: K) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        // Queues that nobody stands in are forgotten.
        if queues.len() > FORGET_ABOVE {
            queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        }
        Arc::clone(queues.entry(id).or_default())
    }
}

const FORGET_ABOVE: usize = 256;
