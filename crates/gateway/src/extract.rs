//! Reads requests, and refuses what is too long or malformed in our own words.

use axum::{
    body::{Body, to_bytes},
    extract::{
        FromRequest, FromRequestParts, Query, Request, WebSocketUpgrade,
        ws::rejection::WebSocketUpgradeRejection,
    },
    http::{HeaderMap, header, request::Parts},
};
use serde::{Deserialize, de::DeserializeOwned};
use wire::{
    JSON_LIMIT, PATH_LIMIT,
    error::{Code, Problem},
    exec::MESSAGE_LIMIT,
};

use crate::{
    objects::Objects,
    problem::{Answer, Trouble},
};

/// A JSON body of at most `LIMIT` bytes. An empty one is `{}`.
#[derive(Debug)]
pub(crate) struct Asked<T, const LIMIT: usize = JSON_LIMIT>(pub(crate) T);

impl<T: DeserializeOwned, const LIMIT: usize, S: Sync> FromRequest<S> for Asked<T, LIMIT> {
    type Rejection = Trouble;

    async fn from_request(request: Request<Body>, _state: &S) -> Answer<Self> {
        let is_json = says_json(request.headers());
        let bytes = to_bytes(request.into_body(), LIMIT).await;
        let bytes = bytes.map_err(|_| {
            let message = format!("the request is longer than {LIMIT} bytes, or broke off");
            Problem::new(Code::TooLarge, message)
        })?;
        if bytes.is_empty() {
            return parsed(b"{}").map(Self);
        }
        if !is_json {
            let problem = Problem::new(Code::MediaType, "a body has to be JSON, and to say so");
            return Err(problem.with_help("send `Content-Type: application/json`").into());
        }
        parsed(&bytes).map(Self)
    }
}

fn parsed<T: DeserializeOwned>(text: &[u8]) -> Answer<T> {
    let wrong = |error: serde_json::Error| bad(format!("the request is not right: {error}"));
    let read = serde_json::from_slice(text).map_err(wrong)?;
    let again = serde_json::from_slice(text).map_err(wrong)?;
    T::deserialize(Objects(again)).map_err(wrong)?;
    Ok(read)
}

/// Whether the body is said to be JSON. What web pages send to other origins without asking is not.
fn says_json(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = said.and_then(|said| said.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// A call without a body: nothing, or `{}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// What a call without a body may have.
pub(crate) type Bare = Asked<Nothing, 1024>;

/// No words after `?`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoWords {}

/// The words after `?`.
#[derive(Debug)]
pub(crate) struct Words<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Words<T> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let read = read.map_err(|error| {
            let words = error.body_text();
            let what = words.strip_prefix("Failed to deserialize query string: ");
            bad(format!("the words after `?` are not right: {}", what.unwrap_or(&words)))
        })?;
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
