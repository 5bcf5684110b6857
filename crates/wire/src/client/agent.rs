//! The client's side of an agent at work.

use std::sync::Arc;

use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::Message;

use super::{
    ClientError, Endpoint,
    socket::{self, Socket},
};
use crate::agent::{AgentHears, AgentSays, StartAgent};

/// What is said to an agent. Clones say to the same one.
#[derive(Debug, Clone)]
pub struct AgentTalking {
    sink: Arc<Mutex<SplitSink<Socket, Message>>>,
}

/// What is heard from it.
#[derive(Debug)]
pub struct AgentHearing {
    stream: SplitStream<Socket>,
}

pub(super) async fn start(
    endpoint: &Endpoint,
    path: &str,
    start: &StartAgent,
) -> Result<(AgentTalking, AgentHearing), ClientError> {
    let (sink, stream) = socket::open(endpoint, path).await?.split();
    let talking = AgentTalking { sink: Arc::new(Mutex::new(sink)) };
    let begin = serde_json::to_string(start).map_err(|error| ClientError::strange(&error))?;
    talking.send(Message::text(begin)).await?;
    Ok((talking, AgentHearing { stream }))
}

impl AgentTalking {
    /// Says something to the agent while it works.
    pub async fn words(&self, text: String) -> Result<(), ClientError> {
        let words = serde_json::to_string(&AgentHears::Words { text });
        let words = words.map_err(|error| ClientError::strange(&error))?;
        self.send(Message::text(words)).await
    }

    /// Ends the agent with all that it started.
    pub async fn close(&self) {
        // Whoever is already gone needs no goodbye.
        drop(self.send(Message::Close(None)).await);
    }

    async fn send(&self, message: Message) -> Result<(), ClientError> {
        let sent = self.sink.lock().await.send(message).await;
        sent.map_err(|error| ClientError::broken(&error))
    }
}

impl AgentHearing {
    /// The next thing that is told. After [`AgentSays::Finished`] and [`AgentSays::Failed`] there is none.
    pub async fn next(&mut self) -> Result<AgentSays, ClientError> {
        loop {
            let Some(message) = self.stream.next().await else {
                return Err(ClientError::broken(&"the server left before the agent had ended"));
            };
            match message.map_err(|error| ClientError::broken(&error))? {
                Message::Text(text) => {
                    return serde_json::from_str(&text)
                        .map_err(|error| ClientError::strange(&error));
                }
                Message::Close(_) => {
                    return Err(ClientError::broken(
                        &"the server closed before the agent had ended",
                    ));
                }
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}
