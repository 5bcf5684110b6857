//! A WebSocket to the server: the handshake that all conversations begin with.

use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self,
        client::IntoClientRequest as _,
        http::{HeaderValue, header},
        protocol::WebSocketConfig,
    },
};

use super::{ClientError, Endpoint, endpoint::Both};
use crate::{
    VERSION,
    error::{Code, Problem, Refusal},
    exec::MESSAGE_LIMIT,
};

pub(super) type Socket = WebSocketStream<Box<dyn Both>>;

pub(super) async fn open(endpoint: &Endpoint, path: &str) -> Result<Socket, ClientError> {
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
    Ok(socket)
}

fn refused(error: &tungstenite::Error) -> ClientError {
    let tungstenite::Error::Http(answer) = error else { return ClientError::broken(error) };
    let body = answer.body().as_deref().unwrap_or_default();
    let problem = serde_json::from_slice::<Refusal>(body).map(|refusal| refusal.error);
    ClientError::Refused(problem.unwrap_or_else(|_| {
        Problem::new(Code::Unknown, format!("the server answered {}", answer.status()))
    }))
}
