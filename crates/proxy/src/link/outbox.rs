//! What waits to be sent: written by one task, in order, several messages at a time.
//!
//! Who has time waits for room, so that a reader that is slow slows its writers. A message that has to be sent from a destructor
//! does not wait; there is at most one for each thing that is open.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    net::UnixStream,
    sync::{Notify, mpsc},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LinkError,
    frames::{Frame, send_all},
};

/// How many bytes may wait before writers wait.
const BACKLOG: usize = 8 * 1024 * 1024;

/// How many bytes of small messages go in one write.
const TOGETHER: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Outbox {
    queue: mpsc::UnboundedSender<Frame>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    waiting: AtomicUsize,
    room: Notify,
    over: CancellationToken,
}

impl Outbox {
    /// Starts the writer. `over` ends it, and is cancelled when it fails.
    pub(super) fn open(
        stream: Arc<UnixStream>,
        tracker: &TaskTracker,
        over: CancellationToken,
    ) -> Self {
        let (queue, frames) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { waiting: AtomicUsize::new(0), room: Notify::new(), over });
        let outbox = Self { queue, shared: Arc::clone(&shared) };
        tracker.spawn(write(stream, frames, shared));
        outbox
    }

    /// Waits until there is room, then queues the message.
    pub(super) async fn send(&self, frame: Frame) -> Result<(), LinkError> {
        self.room().await;
        self.push(frame)
    }

    /// Waits until there is room, or nobody to send to.
    pub(super) async fn room(&self) {
        loop {
            let room = self.shared.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            let is_full = self.shared.waiting.load(Ordering::Acquire) >= BACKLOG;
            if !is_full || self.shared.over.is_cancelled() {
                return;
            }
            tokio::select! {
                () = room => {}
                () = self.shared.over.cancelled() => {}
            }
        }
    }

    /// Queues the message without waiting.
    pub(super) fn push(&self, frame: Frame) -> Result<(), LinkError> {
        if self.shared.over.is_cancelled() {
            return Err(LinkError::Closed);
        }
        self.shared.waiting.fetch_add(frame.len(), Ordering::AcqRel);
        self.queue.send(frame).map_err(|_gone| LinkError::Closed)
    }
}

async fn write(
    stream: Arc<UnixStream>,
    mut frames: mpsc::UnboundedReceiver<Frame>,
    shared: Arc<Shared>,
) {
    let writing = async {
        let mut together = Vec::new();
        while let Some(frame) = frames.recv().await {
            let mut next = Some(frame);
            while let Some(frame) = next.take() {
                let mut sent = frame.len();
                if frame.is_plain() {
                    together.clear();
                    frame.append_to(&mut together);
                    while together.len() < TOGETHER {
                        match frames.try_recv() {
                            Ok(more) if more.is_plain() => more.append_to(&mut together),
                            Ok(more) => {
                                next = Some(more);
                                break;
                            }
                            Err(_none) => break,
                        }
                    }
                    sent = together.len();
                    send_all(&stream, &together, &[]).await?;
                } else {
                    frame.send(&stream).await?;
                }
                shared.waiting.fetch_sub(sent, Ordering::AcqRel);
                shared.room.notify_waiters();
            }
        }
        Ok::<(), std::io::Error>(())
    };
    tokio::select! {
        _ended = writing => {}
        () = shared.over.cancelled() => {}
    }
    shared.over.cancel();
    // The other end learns it now, whoever else holds this one.
    let _ = rustix::net::shutdown(&*stream, rustix::net::Shutdown::Both);
}
