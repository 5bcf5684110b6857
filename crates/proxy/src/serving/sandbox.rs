//! What the gateway keeps of one sandbox: its limits, its certificates, its names, its connections to hosts.
//!
//! **Invariant:** nothing here is shared with another sandbox, but the roots that everybody believes.

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    limits,
    names::Names,
    pool::Pool,
    reach::Reach,
    tls::{Faces, FacesError, Trust},
};
use crate::{
    ask::{Answer, Authority, Exchange, Question, Refusal, RefusalCode, Way, Whose},
    link::BrokerLink,
};

/// One sandbox that has joined.
pub(super) struct Sandbox {
    whose: Whose,
    broker: BrokerLink,
    pub(super) reach: Arc<Reach>,
    /// Our certificates, as programs inside see them.
    pub(super) faces: Faces,
    /// Whom we believe outside.
    pub(super) trust: Trust,
    pub(super) pool: Pool,
    names: Mutex<Names>,
    generation: watch::Sender<u64>,
    pub(super) connections: Arc<Semaphore>,
    questions: Semaphore,
    pub(super) lookups: Semaphore,
    pub(super) name_questions: Arc<Semaphore>,
    /// Whose question about a name is before the broker.
    pub(super) name_turn: Semaphore,
    /// Memory for bodies that are held until they were judged, in KiB.
    pub(super) bodies: Arc<Semaphore>,
    pub(super) over: CancellationToken,
    pub(super) tasks: TaskTracker,
}

/// How a program came, and from where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) way: Way,
    pub(super) peer: Option<SocketAddr>,
}

impl Sandbox {
    pub(super) fn new(
        whose: Whose,
        broker: BrokerLink,
        reach: Arc<Reach>,
        authority: &Authority,
        tasks: TaskTracker,
    ) -> Result<Arc<Self>, FacesError> {
        Ok(Arc::new(Self {
            whose,
            broker,
            faces: Faces::new(authority)?,
            trust: Trust::new(reach.roots()),
            reach,
            pool: Pool::default(),
            names: Mutex::default(),
            generation: watch::Sender::new(0),
            connections: Arc::new(Semaphore::new(limits::CONNECTIONS)),
            questions: Semaphore::new(limits::QUESTIONS),
            lookups: Semaphore::new(limits::LOOKUPS),
            name_questions: Arc::new(Semaphore::new(limits::NAME_QUESTIONS)),
            name_turn: Semaphore::new(1),
            bodies: Arc::new(Semaphore::new(limits::BODIES_KIB)),
            over: CancellationToken::new(),
            tasks,
        }))
    }

    pub(super) fn whose(&self) -> Whose {
        self.whose
    }

    pub(super) fn broker(&self) -> &BrokerLink {
        &self.broker
    }

    /// Asks the broker, when it is this sandbox's turn.
    pub(super) async fn ask(&self, exchange: Exchange, question: Question) -> Answer {
        match self.questions.acquire().await {
            Ok(_turn) => self.broker.ask(exchange, self.whose, question).await,
            Err(_closed) => Answer::Refused(unfit()),
        }
    }

    pub(super) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The generation of the rules, as far as it was told.
    pub(super) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Tells when the rules change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// The rules are others now.
    pub(super) fn change(&self, generation: u64) {
        self.generation.send_replace(generation);
        self.names().forget_before(generation);
        self.pool.clear();
    }

    /// Ends everything that came through its doors.
    pub(super) fn leave(&self) {
        self.over.cancel();
        self.pool.clear();
    }
}

/// An answer that does not go with its question.
pub(super) fn unfit() -> Refusal {
    Refusal {
        status: 503,
        code: RefusalCode::Closed,
        host: String::new(),
        port: 0,
        phase: String::new(),
        rule: None,
        reason: "the broker's answer does not fit the question".to_owned(),
        remedy: String::new(),
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("whose", &self.whose).finish_non_exhaustive()
    }
}
