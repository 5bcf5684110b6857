//! One sandbox that has joined.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use contracts::{agent::Exchanges, egress::Network, sandbox::Owner};
use domain::{id::SandboxId, money::Money, time::Timestamp};

use super::{learn::Seen, looks::Looks, ruling::Ruling, standing::Payers, traffic::Traffic};
use crate::model::budget::Reservation;
use proxy::ask::{Authority, Exchange};

#[derive(Debug)]
pub(super) struct Member {
    pub(super) sandbox: SandboxId,
    pub(super) owner: Owner,
    pub(super) authority: Authority,
    /// Whether it has doors. One that has left is known until it is forgotten: its reports may still come.
    is_present: AtomicBool,
    /// As it was given to the sandbox.
    given: Mutex<Network>,
    ruling: RwLock<Arc<Ruling>>,
    pub(super) traffic: Mutex<Traffic>,
    pub(super) seen: Mutex<Seen>,
    pub(super) looks: Mutex<Looks>,
    /// Which command wanted what was refused, until that is written down. `None`: it was looked for.
    pub(super) causes: Mutex<HashMap<Exchange, Option<String>>>,
    /// What is to be settled when the exchange ends.
    pub(super) open: Mutex<HashMap<Exchange, Open>>,
    /// What it asked models, added up.
    pub(super) asked: Mutex<Exchanges>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) rule: String,
    /// Whether a model was asked. Also true while that is being settled.
    pub(super) is_metered: bool,
    pub(super) since: Timestamp,
    pub(super) reservation: Option<Reservation>,
}

impl Member {
    pub(super) fn new(
        sandbox: SandboxId,
        given: Network,
        ruling: Ruling,
        authority: Authority,
    ) -> Self {
        Self {
            sandbox,
            owner: given.owner.clone(),
            authority,
            is_present: AtomicBool::new(true),
            given: Mutex::new(given),
            ruling: RwLock::new(Arc::new(ruling)),
            traffic: Mutex::default(),
            seen: Mutex::default(),
            looks: Mutex::default(),
            causes: Mutex::default(),
            open: Mutex::default(),
            asked: Mutex::default(),
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

    pub(super) fn given(&self) -> Network {
        lock(&self.given).clone()
    }

    /// All at once: a question is answered by the old rules or by the new ones, never by some of each.
    pub(super) fn replace(&self, given: Option<Network>, ruling: Ruling) {
        if let Some(given) = given {
            *lock(&self.given) = given;
        }
        *self.ruling.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ruling);
    }

    /// Changes what its owner may spend, and gives what holds then.
    pub(super) fn allow(&self, limit: Money) -> Network {
        let mut given = lock(&self.given);
        given.spending.limit = Some(limit);
        given.clone()
    }

    pub(super) fn payers(&self) -> Payers {
        let Network { agent, spending, .. } = self.given();
        let (task, person) = match &self.owner {
            Owner::Task(task) => (task.to_string(), spending.person),
            Owner::Person(name) => (self.sandbox.to_string(), Some(name.clone())),
        };
        let agent = agent.map(|agent| agent.as_str().to_owned());
        let repository = spending.repository.map(|name| name.to_string());
        Payers { task, agent, person, repository }
    }
}

/// Nothing that is done under these locks can leave a thing half done, so a panic elsewhere does not spoil it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
