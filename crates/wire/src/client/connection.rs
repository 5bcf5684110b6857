//! One call over one connection.

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http_body_util::{BodyExt as _, BodyStream, Limited};
use hyper::{Method, Request, Response, body::Incoming, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;

use super::{Client, ClientError, is_fine};
use crate::{
    VERSION,
    error::{Code, Problem, Refusal},
};

/// The most that is read of an answer in JSON. Lists are the longest.
const ANSWER_LIMIT: usize = 64 << 20;

/// A success, whose body has not been read yet.
pub(super) struct Answer(Response<Incoming>);

pub(super) async fn call<B>(
    client: &Client,
    method: Method,
    path: &str,
    body: B,
    headers: &[(&'static str, &str)],
) -> Result<Answer, ClientError>
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let endpoint = &client.endpoint;
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{VERSION}{path}"))
        .header(header::HOST, endpoint.host())
        .header(header::USER_AGENT, crate::USER_AGENT)
        .header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(token) = endpoint.authorization() {
        request = request.header(header::AUTHORIZATION, token);
    }
    let request = request.body(Box::pin(body)).map_err(|error| ClientError::strange(&error))?;

    let stream = TokioIo::new(endpoint.connect().await?);
    let shaken = hyper::client::conn::http1::handshake(stream).await;
    let (mut sender, connection) = shaken.map_err(|error| ClientError::broken(&error))?;
    // Ends by itself when the answer was read or let go. Its error is the call's error too.
    client.connections.spawn(async { drop(connection.await) });
    let answer = sender.send_request(request).await;
    let answer = answer.map_err(|error| ClientError::broken(&error))?;
    if is_fine(answer.status()) { Ok(Answer(answer)) } else { Err(refusal(answer).await) }
}

/// What a server that is not ours may also answer, as a problem.
async fn refusal(answer: Response<Incoming>) -> ClientError {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), 1 << 20).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    match serde_json::from_slice::<Refusal>(&body) {
        Ok(refusal) => ClientError::Refused(refusal.error),
        Err(_) => ClientError::Refused(Problem::new(
            Code::Unknown,
            format!("the server answered {status}, without saying why"),
        )),
    }
}

impl Answer {
    pub(super) async fn json<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let body = Limited::new(self.0.into_body(), ANSWER_LIMIT).collect().await;
        let body = body.map_err(|error| ClientError::broken(&error))?.to_bytes();
        serde_json::from_slice(&body).map_err(|error| ClientError::strange(&error))
    }

    pub(super) async fn nothing(self) -> Result<(), ClientError> {
        let body = Limited::new(self.0.into_body(), ANSWER_LIMIT).collect().await;
        body.map(drop).map_err(|error| ClientError::broken(&error))
    }

    pub(super) fn bytes(self) -> impl Stream<Item = Result<Bytes, ClientError>> + use<> {
        BodyStream::new(self.0.into_body()).filter_map(async |frame| match frame {
            Ok(frame) => frame.into_data().ok().map(Ok),
            Err(error) => Some(Err(ClientError::broken(&error))),
        })
    }
}
