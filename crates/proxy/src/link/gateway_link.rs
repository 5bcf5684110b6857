//! The broker's end: what it is asked, and what it orders.

use std::{os::fd::OwnedFd, os::unix::net, sync::Arc};

use tokio::net::UnixStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LinkError,
    frames::{Descriptors, Frame, Reader},
    outbox::Outbox,
};
use crate::ask::{Answer, Authority, DoorNumber, Exchange, ToBroker, ToGateway, Whose};

/// Speaks to one gateway process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GatewayLink {
    outbox: Outbox,
    over: CancellationToken,
}

/// What one gateway process says, in order. Dropping it closes the connection.
#[derive(Debug)]
pub struct Questions {
    reader: Reader,
    over: CancellationToken,
}

impl GatewayLink {
    /// Takes one end of a socket pair, whose other end the gateway process has. The task that writes belongs to `tracker`.
    pub fn open(
        stream: net::UnixStream,
        tracker: &TaskTracker,
    ) -> Result<(Self, Questions), LinkError> {
        stream.set_nonblocking(true)?;
        let stream = Arc::new(UnixStream::from_std(stream)?);
        let over = CancellationToken::new();
        let outbox = Outbox::open(Arc::clone(&stream), tracker, over.clone());
        let reader = Reader::new(stream, Descriptors::Refused);
        Ok((Self { outbox, over: over.clone() }, Questions { reader, over }))
    }

    /// Hands over the doors of a sandbox, in place of any that it had. The gateway checks each of them; if one is not what it is
    /// said to be, none is served, and the gateway's log says so.
    pub async fn join(
        &self,
        whose: Whose,
        doors: Vec<(DoorNumber, OwnedFd)>,
        authority: Authority,
    ) -> Result<(), LinkError> {
        let (doors, descriptors) = doors.into_iter().unzip();
        self.send(&ToGateway::Join { whose, doors, authority }, descriptors).await
    }

    /// Closes the doors of a sandbox, and all that came through them. Reports of what was open follow.
    pub async fn leave(&self, whose: Whose) -> Result<(), LinkError> {
        self.send(&ToGateway::Leave { whose }, Vec::new()).await
    }

    /// Has every open tunnel of a sandbox asked about again, and forgets the addresses that its names were given.
    pub async fn changed(&self, whose: Whose, generation: u64) -> Result<(), LinkError> {
        self.send(&ToGateway::Changed { whose, generation }, Vec::new()).await
    }

    /// Answers a question. An answer to an exchange that has ended meanwhile is dropped by the gateway.
    pub async fn answer(&self, exchange: Exchange, answer: Answer) -> Result<(), LinkError> {
        self.send(&ToGateway::Answer { exchange, answer: Box::new(answer) }, Vec::new()).await
    }

    /// Closes the connection: the gateway refuses everything, and ends.
    pub fn close(&self) {
        self.over.cancel();
    }

    /// Comes back when the connection is over, whoever ended it.
    pub async fn closed(&self) {
        self.over.cancelled().await;
    }

    async fn send(&self, message: &ToGateway, descriptors: Vec<OwnedFd>) -> Result<(), LinkError> {
        self.outbox.send(Frame::new(message, descriptors)?).await
    }
}

impl Questions {
    /// What the gateway says next. `None` when it has gone, or the connection was closed from this side. Losing the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<ToBroker>, LinkError> {
        let heard = tokio::select! {
            heard = self.reader.next() => heard,
            () = self.over.cancelled() => Ok(None),
        };
        if !matches!(heard, Ok(Some(_))) {
            self.over.cancel();
        }
        heard
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
