//! The client's side of a command: say and hear, with input that never runs ahead of what is taken.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::sync::{Mutex, Semaphore};
use tokio_tungstenite::tungstenite::Message;

use super::{
    ClientError, Endpoint,
    socket::{self, Socket},
};
use crate::exec::{ClientSays, Finished, ServerSays, Size, StartExec, Tag, WINDOW};

/// What is said to a command. Clones say to the same one.
#[derive(Debug, Clone)]
pub struct ExecTalking {
    sink: Arc<Mutex<SplitSink<Socket, Message>>>,
    room: Arc<Semaphore>,
}

/// What is heard from it.
#[derive(Debug)]
pub struct ExecHearing {
    stream: SplitStream<Socket>,
    room: Arc<Semaphore>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecEvent {
    Out(Bytes),
    Error(Bytes),
    /// The last.
    Finished(Finished),
}

pub(super) async fn start(
    endpoint: &Endpoint,
    path: &str,
    start: &StartExec,
) -> Result<(ExecTalking, ExecHearing), ClientError> {
    let (sink, stream) = socket::open(endpoint, path).await?.split();
    let room = Arc::new(Semaphore::new(WINDOW));
    let talking = ExecTalking { sink: Arc::new(Mutex::new(sink)), room: room.clone() };
    let begin = serde_json::to_string(start).map_err(|error| ClientError::strange(&error))?;
    talking.send(Message::text(begin)).await?;
    Ok((talking, ExecHearing { stream, room }))
}

impl ExecTalking {
    /// Sends input, once there is room for it.
    pub async fn input(&self, bytes: &[u8]) -> Result<(), ClientError> {
        for chunk in bytes.chunks(32 * 1024) {
            let wanted = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
            let room = self.room.acquire_many(wanted).await;
            // Given back when the server says that it took them.
            room.map_err(|_| ClientError::broken(&"the command has ended"))?.forget();
            self.send(Message::binary(Tag::Input.message(chunk))).await?;
        }
        Ok(())
    }

    pub async fn end_input(&self) -> Result<(), ClientError> {
        self.say(&ClientSays::EndInput).await
    }

    pub async fn signal(&self, signal: i32) -> Result<(), ClientError> {
        self.say(&ClientSays::Signal { signal }).await
    }

    pub async fn resize(&self, size: Size) -> Result<(), ClientError> {
        self.say(&ClientSays::Resize(size)).await
    }

    /// Ends the command with all that it started.
    pub async fn close(&self) {
        // Whoever is already gone needs no goodbye.
        drop(self.send(Message::Close(None)).await);
    }

    fn say(&self, what: &ClientSays) -> impl Future<Output = Result<(), ClientError>> {
        let text = serde_json::to_string(what).map_err(|error| ClientError::strange(&error));
        async { self.send(Message::text(text?)).await }
    }

    async fn send(&self, message: Message) -> Result<(), ClientError> {
        let sent = self.sink.lock().await.send(message).await;
        sent.map_err(|error| ClientError::broken(&error))
    }
}

impl ExecHearing {
    /// The next event. After [`ExecEvent::Finished`] there is none.
    pub async fn next(&mut self) -> Result<ExecEvent, ClientError> {
        loop {
            let Some(message) = self.stream.next().await else {
                return Err(ClientError::broken(&"the server left before the command ended"));
            };
            let message = message.map_err(|error| ClientError::broken(&error))?;
            if let Some(event) = self.understand(message)? {
                return Ok(event);
            }
        }
    }

    fn understand(&self, message: Message) -> Result<Option<ExecEvent>, ClientError> {
        match message {
            Message::Binary(bytes) => match Tag::split(bytes) {
                Some((Tag::Out, bytes)) => Ok(Some(ExecEvent::Out(bytes))),
                Some((Tag::Error, bytes)) => Ok(Some(ExecEvent::Error(bytes))),
                Some((Tag::Input, _)) | None => Err(ClientError::strange(&"an unknown stream")),
            },
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(ServerSays::Taken { bytes }) => {
                    let bytes = usize::try_from(bytes).unwrap_or(WINDOW).min(WINDOW);
                    self.room.add_permits(bytes);
                    Ok(None)
                }
                Ok(ServerSays::Finished(finished)) => Ok(Some(ExecEvent::Finished(finished))),
                Ok(ServerSays::Failed { error }) => Err(ClientError::Refused(error)),
                Err(error) => Err(ClientError::strange(&error)),
            },
            Message::Close(_) => {
                Err(ClientError::broken(&"the server closed before the command ended"))
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(None),
        }
    }
}
