//! Holds the gateway process, and serves what it asks.
//!
//! A gateway that dies takes its connections with it; another is started, and whoever holds the doors is asked for fresh ones. While there is
//! none, nothing leaves.

use std::{os::unix::net::UnixStream, sync::Arc};

use futures::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Broker,
    member::{Member, lock},
};
use proxy::{
    ask::ToBroker,
    link::{GatewayLink, LinkError, Questions},
};

/// How much of what a gateway says is worked on at a time. One that was taken over asks without end, and reads no answer.
const AT_ONCE: usize = 512;

/// Starts gateway processes.
pub trait Gateways: Send + Sync + 'static {
    /// Starts one, and gives our end of its socket. One that died lately may be waited for before the next is started.
    fn start(&self) -> BoxFuture<'_, Result<UnixStream, String>>;

    /// A new gateway serves: every sandbox that has joined must join again, with fresh doors.
    fn fresh_doors(&self) -> BoxFuture<'_, ()>;
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the gateway cannot be started: {0}")]
    Start(String),
    #[error("the connection to the gateway cannot be opened")]
    Link(#[from] LinkError),
}

/// Where one thing that was said is worked on, and its turn there.
struct Serving<'a> {
    tracker: &'a TaskTracker,
    turn: OwnedSemaphorePermit,
}

impl Broker {
    /// Serves until `stop`. Comes back with an error only when no gateway can be started.
    pub async fn serve(
        self: &Arc<Self>,
        gateways: &dyn Gateways,
        stop: &CancellationToken,
    ) -> Result<(), ServeError> {
        let tracker = TaskTracker::new();
        let mut is_first = true;
        let served = loop {
            if stop.is_cancelled() {
                break Ok(());
            }
            let started = gateways.start().await.map_err(ServeError::Start);
            let opened = started.and_then(|stream| Ok(GatewayLink::open(stream, &tracker)?));
            let (link, questions) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    self.alarm(None, error.to_string());
                    break Err(error);
                }
            };
            *lock(&self.link) = Some(link.clone());
            let hearing = self.hear(&link, questions, &tracker);
            let refreshing = async {
                if !is_first {
                    gateways.fresh_doors().await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = hearing => {}
                () = refreshing => {}
                () = stop.cancelled() => {}
            }
            *lock(&self.link) = None;
            self.serving.send_replace(false);
            link.close();
            self.gateway_gone();
            if !stop.is_cancelled() {
                self.alarm(None, "the gateway ended; another is started".to_owned());
            }
            is_first = false;
        };
        tracker.close();
        tracker.wait().await;
        served
    }

    async fn hear(
        self: &Arc<Self>,
        link: &GatewayLink,
        mut questions: Questions,
        tracker: &TaskTracker,
    ) {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
            match questions.next().await {
                Ok(Some(said)) => self.serve_one(link, said, Serving { tracker, turn }),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "the gateway said something that is not understood");
                    return;
                }
            }
        }
    }

    fn serve_one(self: &Arc<Self>, link: &GatewayLink, said: ToBroker, serving: Serving<'_>) {
        let Serving { tracker, turn } = serving;
        match said {
            ToBroker::Ready => {
                self.serving.send_replace(true);
                tracing::info!("the gateway serves");
            }
            ToBroker::Ended { exchange, whose, report } => {
                let Some(member) = self.wants_a_look(whose, exchange, &report) else {
                    return self.ended(whose, exchange, &report);
                };
                let broker = Arc::clone(self);
                tracker.spawn(async move {
                    broker.look_for(&member, exchange, report.peer, report.way).await;
                    broker.ended(whose, exchange, &report);
                    drop(turn);
                });
            }
            ToBroker::Ask { exchange, whose, question } => {
                let (broker, link) = (Arc::clone(self), link.clone());
                tracker.spawn(async move {
                    let answer = broker.answer(whose, exchange, &question).await;
                    if let Err(error) = link.answer(exchange, answer).await {
                        tracing::debug!(%error, "an answer came too late");
                    }
                    drop(turn);
                });
            }
        }
    }

    /// What was under way will not be reported.
    fn gateway_gone(&self) {
        let members: Vec<Arc<Member>> = lock(&self.members).values().cloned().collect();
        for member in members {
            self.abandon(&member);
        }
    }
}
