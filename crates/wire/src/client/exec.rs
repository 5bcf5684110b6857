//! The client's side of a command: say and hear, with input that never runs ahead of what is taken.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::sync::{Mutex, Semaphore};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest as _,
        http::{HeaderValue, header},
        protocol::WebSocketConfig,
    },
};

use super::{ClientError, Endpoint, endpoint::Both};
use crate::{
    VERSION,
    error::{Code, Problem, Refusal},
    exec::{ClientSays, Finished, MESSAGE_LIMIT, ServerSays, Size, StartExec, Tag, WINDOW},
};

type Socket = WebSocketStream<Box<dyn Both>>;

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
    let address = format!("ws://{}{VERSION}{path}", endpoint.host());
    let mut request =
        address.into_client_request().map_err(|error| ClientError::strange(&error))?;
    if let Some(token) = endpoint.authorization() {
        let token = HeaderValue::try_from(token).map_err(|error| ClientError::strange(&error))?;
        request.headers_mut().insert(header::AUTHORIZATION, token);
    }
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_LIMIT))
        .max_frame_size(Some(MESSAGE_LIMIT));
    let stream = endpoint.connect().await?;
    let shaken = client_async_with_config(request, stream, Some(limits)).await;
    let (socket, _) = shaken.map_err(|error| refused(&error))?;
    let (sink, stream) = socket.split();
    let room = Arc::new(Semaphore::new(WINDOW));
    let talking = ExecTalking { sink: Arc::new(Mutex::new(sink)), room: room.clone() };
    let begin = serde_json::to_string(start).map_err(|error| ClientError::strange(&error))?;
    talking.send(Message::text(begin)).await?;
    Ok((talking, ExecHearing { stream, room }))
}

fn refused(error: &tungstenite::Error) -> ClientError {
    let tungstenite::Error::Http(answer) = error else { return ClientError::broken(error) };
    let body = answer.body().as_deref().unwrap_or_default();
    let problem = serde_json::from_slice::<Refusal>(body).map(|refusal| refusal.error);
    ClientError::Refused(problem.unwrap_or_else(|_| {
        Problem::new(Code::Unknown, format!("the server answered {}", answer.status()))
    }))
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
