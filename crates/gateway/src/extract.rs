//! Reads requests, and refuses what is too long or malformed in our own words.

use axum::{
    body::{Body, to_bytes},
    extract::{
        FromRequest, FromRequestParts, Query, Request, WebSocketUpgrade,
        ws::rejection::WebSocketUpgradeRejection,
    },
    http::request::Parts,
};
use serde::de::DeserializeOwned;
use wire::{
    JSON_LIMIT, PATH_LIMIT,
    error::{Code, Problem},
    exec::MESSAGE_LIMIT,
};

use crate::problem::{Answer, Trouble};

/// A JSON body of at most [`JSON_LIMIT`] bytes. An empty one is `{}`.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Asked<T> {
    type Rejection = Trouble;

    async fn from_request(request: Request<Body>, _state: &S) -> Answer<Self> {
        let bytes = to_bytes(request.into_body(), JSON_LIMIT).await;
        let bytes = bytes.map_err(|_| {
            let message = format!("the request is longer than {JSON_LIMIT} bytes, or broke off");
            Problem::new(Code::TooLarge, message)
        })?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let parsed = serde_json::from_slice(text);
        parsed.map(Self).map_err(|error| bad(format!("the request is not right: {error}")))
    }
}

/// The words after `?`.
#[derive(Debug)]
pub(crate) struct Words<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Words<T> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let read = read.map_err(|error| bad(error.body_text()))?;
        Ok(Self(read.0))
    }
}

/// A WebSocket whose messages are not too long.
pub(crate) fn web_socket(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer<WebSocketUpgrade> {
    let upgrade = upgrade.map_err(|error| bad(format!("this is a WebSocket: {error}")))?;
    Ok(upgrade.max_message_size(MESSAGE_LIMIT).max_frame_size(MESSAGE_LIMIT))
}

/// A path inside a sandbox, which Linux could open.
pub(crate) fn inside(path: &str) -> Answer<String> {
    let shown: String = path.chars().take(80).collect();
    if path.len() > PATH_LIMIT {
        return Err(bad(format!("the path `{shown}…` is longer than {PATH_LIMIT} bytes")));
    }
    if !path.starts_with('/') {
        return Err(bad(format!("`{shown}` is not absolute: begin it with `/`")));
    }
    if path.contains('\0') {
        return Err(bad("a path cannot contain the character 0"));
    }
    Ok(path.to_owned())
}

pub(crate) fn bad(message: impl Into<String>) -> Trouble {
    Problem::new(Code::BadRequest, message).into()
}
