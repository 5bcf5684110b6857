//! One build per key at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use contracts::sandbox::ImageKey;
use tokio::sync::OwnedMutexGuard;

type Locks = HashMap<ImageKey, Weak<tokio::sync::Mutex<()>>>;

#[derive(Debug, Default)]
pub(super) struct Builds {
    locks: Mutex<Locks>,
}

/// Held by the one who builds. Whoever waited for it looks for the image again before building.
#[derive(Debug)]
pub struct BuildLock {
    _held: OwnedMutexGuard<()>,
}

impl Builds {
    pub(super) async fn lock(&self, key: &ImageKey) -> BuildLock {
        let lock = self.of(key);
        BuildLock { _held: lock.lock_owned().await }
    }

    fn of(&self, key: &ImageKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        locks.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }
}
