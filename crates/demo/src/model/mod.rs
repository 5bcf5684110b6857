//! The model that is none: a server on the loopback with bundled answers.
//!
//! ```text
//!  request ──▶ conversation (which phase, how far) ──▶ script (what is said next) ──▶ speech (chunks, as OpenAI sends them)
//! ```
//!
//! It speaks as much of `OpenAI`'s Chat Completions as the built-in agent asks for. What it says follows from the conversation alone, so that
//! a repeated request has the same answer, and a killed agent goes on where it was.

mod conversation;
mod script;
mod speech;

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::DefaultBodyLimit,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::conversation::Conversation;

/// The name of the model in `lamp.yaml`, and in what people are shown.
pub(crate) const NAME: &str = "bundled-answers";

/// A conversation of the demo has a hundredth of this.
const LARGEST_REQUEST: usize = 4 << 20;

/// Listens, but does not answer yet.
#[derive(Debug)]
pub(crate) struct Bundled {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Bundled {
    pub(crate) async fn bind() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("the bundled model cannot listen on the loopback")?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Answers whoever asks, until it is told to stop.
    pub(crate) async fn serve(self, stop: CancellationToken) -> anyhow::Result<()> {
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .layer(DefaultBodyLimit::max(LARGEST_REQUEST));
        // A connection that is open holds nobody up: whoever serves this drops it.
        let served = axum::serve(self.listener, router).into_future();
        tokio::select! {
            served = served => served.context("the bundled model has stopped"),
            () = stop.cancelled() => Ok(()),
        }
    }
}

async fn answer(body: Bytes) -> Response {
    let Some(conversation) = Conversation::read(&body) else {
        let told = serde_json::json!({
            "error": { "message": "the bundled answers are for streamed chats only", "type": "invalid_request_error" }
        });
        return (StatusCode::BAD_REQUEST, axum::Json(told)).into_response();
    };
    let reply = script::reply(&conversation);
    ([(CONTENT_TYPE, "text/event-stream")], speech::stream(&reply)).into_response()
}

#[cfg(test)]
mod tests;
