//! One sandbox that has joined.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use contracts::sandbox::Owner;
use domain::id::SandboxId;

use super::{learn::Seen, ruling::Ruling, traffic::Traffic};
use crate::{
    ask::{Authority, Exchange},
    model::budget::{Account, Reservation},
};

#[derive(Debug)]
pub(super) struct Member {
    pub(super) sandbox: SandboxId,
    pub(super) owner: Owner,
    pub(super) authority: Authority,
    /// Whether it has doors. One that has left is known until it is forgotten: its reports may still come.
    is_present: AtomicBool,
    ruling: RwLock<Arc<Ruling>>,
    pub(super) traffic: Mutex<Traffic>,
    pub(super) seen: Mutex<Seen>,
    pub(super) accounts: Mutex<Vec<Account>>,
    /// What is to be settled when the exchange ends.
    pub(super) open: Mutex<HashMap<Exchange, Open>>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) rule: String,
    pub(super) reservation: Option<Reservation>,
}

impl Member {
    pub(super) fn new(
        sandbox: SandboxId,
        ruling: Ruling,
        authority: Authority,
        accounts: Vec<Account>,
    ) -> Self {
        Self {
            sandbox,
            owner: ruling.network.owner.clone(),
            authority,
            is_present: AtomicBool::new(true),
            ruling: RwLock::new(Arc::new(ruling)),
            traffic: Mutex::default(),
            seen: Mutex::default(),
            accounts: Mutex::new(accounts),
            open: Mutex::default(),
        }
    }

    pub(super) fn is_present(&self) -> bool {
        self.is_present.load(Ordering::SeqCst)
    }

    /// Whether it was present until now.
    pub(super) fn leave(&self) -> bool {
        self.is_present.swap(false, Ordering::SeqCst)
    }

    pub(super) fn ruling(&self) -> Arc<Ruling> {
        Arc::clone(&self.ruling.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// All at once: a question is answered by the old rules or by the new ones, never by some of each.
    pub(super) fn replace(&self, ruling: Ruling) {
        *self.ruling.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ruling);
    }
}

/// Nothing that is done under these locks can leave a thing half done, so a panic elsewhere does not spoil it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
