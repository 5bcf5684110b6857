//! The gateway's end: questions with their answers, reports, and what the broker orders.

use std::{
    collections::HashMap,
    fmt,
    os::fd::OwnedFd,
    os::unix::net,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{net::UnixStream, sync::oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LinkError,
    frames::{Descriptors, Frame, Reader},
    outbox::Outbox,
};
use crate::ask::{
    Answer, Authority, DoorNumber, Exchange, Question, Refusal, RefusalCode, Report, ToBroker,
    ToGateway, Whose,
    bounds::{self, OutOfBounds},
};

/// An answer that has not come by then will not. A busy machine, whose disk is busy too, takes seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// Speaks to the broker. Cheap to clone.
#[derive(Clone)]
pub struct BrokerLink {
    outbox: Outbox,
    shared: Arc<Shared>,
}

struct Shared {
    /// Who waits for an answer. `None` when the broker has gone: then nobody starts to wait.
    asked: Mutex<Option<HashMap<Exchange, oneshot::Sender<Answer>>>>,
    next: AtomicU64,
    over: CancellationToken,
}

/// What the broker orders, in order. Answers are given to whoever asked while this is read. Dropping it closes the connection.
pub struct Orders {
    reader: Reader,
    shared: Arc<Shared>,
}

/// Something to do about a sandbox.
#[derive(Debug)]
pub enum Order {
    Join { whose: Whose, doors: Vec<(DoorNumber, OwnedFd)>, authority: Authority },
    Leave { whose: Whose },
    Changed { whose: Whose, generation: u64 },
}

impl BrokerLink {
    /// Takes the socket that the server gave. The task that writes belongs to `tracker`.
    pub fn open(
        stream: net::UnixStream,
        tracker: &TaskTracker,
    ) -> Result<(Self, Orders), LinkError> {
        stream.set_nonblocking(true)?;
        let stream = Arc::new(UnixStream::from_std(stream)?);
        let over = CancellationToken::new();
        let outbox = Outbox::open(Arc::clone(&stream), tracker, over.clone());
        let shared = Arc::new(Shared {
            asked: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            over,
        });
        let orders =
            Orders { reader: Reader::new(stream, Descriptors::Taken), shared: Arc::clone(&shared) };
        Ok((Self { outbox, shared }, orders))
    }

    /// Says that the gateway serves.
    pub fn ready(&self) -> Result<(), LinkError> {
        self.outbox.push(Frame::new(&ToBroker::Ready, Vec::new())?)
    }

    /// A number that was never used.
    pub fn number(&self) -> Exchange {
        Exchange(self.shared.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks, and waits for the answer. A broker that is gone or does not answer refuses.
    pub async fn ask(&self, exchange: Exchange, whose: Whose, question: Question) -> Answer {
        let (host, port) = match &question {
            Question::Connect(connect) => (connect.host.clone(), connect.port),
            Question::Request(request) => (request.host.clone(), request.port),
            Question::Name { host } => (host.clone(), 0),
        };
        let refused = |reason: &str| Answer::Refused(closed(host.clone(), port, reason));
        let (answered, answer) = oneshot::channel();
        match self.shared.asked().as_mut() {
            Some(asked) => {
                asked.insert(exchange, answered);
            }
            None => return refused("the broker is gone"),
        }
        let _forget = Forget { shared: &self.shared, exchange };
        let asking = async {
            let message = ToBroker::Ask { exchange, whose, question };
            self.outbox.send(Frame::new(&message, Vec::new())?).await?;
            answer.await.map_err(|_gone| LinkError::Closed)
        };
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(LinkError::OutOfBounds(what))) => Answer::Refused(too_much(host, port, what)),
            Ok(Err(LinkError::TooLong { .. })) => refused("the question is too long"),
            Ok(Err(_closed)) => refused("the broker is gone"),
            Err(_late) => refused("the broker does not answer"),
        }
    }

    /// Waits until the broker has caught up with what it was told. With the broker gone there is nothing to wait for.
    pub(crate) async fn room(&self) {
        self.outbox.room().await;
    }

    /// Tells how an exchange went, without waiting, so that a destructor can.
    pub(crate) fn report(&self, exchange: Exchange, whose: Whose, mut report: Report) {
        bounds::fit(&mut report);
        let message = ToBroker::Ended { exchange, whose, report: Box::new(report) };
        if let Ok(frame) = Frame::new(&message, Vec::new()) {
            // With the broker gone there is nobody to tell.
            let _ = self.outbox.push(frame);
        }
    }

    /// Comes back when the connection is over.
    pub async fn closed(&self) {
        self.shared.over.cancelled().await;
    }
}

/// How the gateway refuses when the broker does not answer.
pub(crate) fn closed(host: String, port: u16, reason: &str) -> Refusal {
    Refusal {
        status: 503,
        code: RefusalCode::Closed,
        host,
        port,
        phase: String::new(),
        rule: None,
        reason: format!("nothing leaves the sandbox now: {reason}"),
        remedy: "Try again when the server is back.".to_owned(),
    }
}

/// How a request is refused that says more than the broker hears.
fn too_much(host: String, port: u16, what: OutOfBounds) -> Refusal {
    Refusal {
        status: 431,
        code: RefusalCode::Limit,
        reason: format!("the request cannot be judged: {what}"),
        remedy: "Send a shorter one.".to_owned(),
        ..closed(host, port, "")
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct Forget<'a> {
    shared: &'a Shared,
    exchange: Exchange,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(asked) = self.shared.asked().as_mut() {
            asked.remove(&self.exchange);
        }
    }
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Option<HashMap<Exchange, oneshot::Sender<Answer>>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.over.cancel();
        self.asked().take();
    }
}

impl Orders {
    /// The next order; answers are passed on meanwhile. `None` when the broker has gone. Losing the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Order>, LinkError> {
        let order = self.read().await;
        if !matches!(order, Ok(Some(_))) {
            self.shared.close();
        }
        order
    }

    async fn read(&mut self) -> Result<Option<Order>, LinkError> {
        loop {
            let over = self.shared.over.clone();
            let heard = tokio::select! {
                heard = self.reader.next() => heard?,
                () = over.cancelled() => None,
            };
            let Some(heard) = heard else { return Ok(None) };
            match heard {
                ToGateway::Join { whose, doors, authority } => {
                    let descriptors = self.reader.take_descriptors(doors.len())?;
                    let doors = doors.into_iter().zip(descriptors).collect();
                    return Ok(Some(Order::Join { whose, doors, authority }));
                }
                ToGateway::Leave { whose } => return Ok(Some(Order::Leave { whose })),
                ToGateway::Changed { whose, generation } => {
                    return Ok(Some(Order::Changed { whose, generation }));
                }
                ToGateway::Answer { exchange, answer } => {
                    let waiting =
                        self.shared.asked().as_mut().and_then(|asked| asked.remove(&exchange));
                    if let Some(waiting) = waiting {
                        // Whoever asked may have gone.
                        let _ = waiting.send(*answer);
                    }
                }
            }
        }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl fmt::Debug for BrokerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrokerLink")
    }
}

impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Orders")
    }
}
