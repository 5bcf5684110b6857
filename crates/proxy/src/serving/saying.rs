//! What a body says, read for the broker.
//!
//! A body that takes long is read beside the connections, and one that takes much memory when no other does: as a tree of values it is
//! many times as large.

use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::{
    ask::{Language, Said},
    github::{graphql, pull_request},
    model,
};

/// Bodies above this are not read between two pieces of others' bytes.
const SMALL: usize = 16 * 1024;

/// Bodies above this are read one after the other, whosever they are.
const LARGE: usize = 1024 * 1024;

/// Whose large body is read.
static TURN: Semaphore = Semaphore::const_new(1);

pub(super) async fn said(language: Language, body: &Bytes) -> Said {
    if body.len() <= SMALL {
        return read(language, body);
    }
    let _turn = if body.len() > LARGE { TURN.acquire().await.ok() } else { None };
    let body = body.clone();
    let reading = tokio::task::spawn_blocking(move || read(language, &body));
    reading.await.unwrap_or_else(|_ended| Said::unreadable("it cannot be read"))
}

/// Reads a body in one language.
pub fn read(language: Language, body: &[u8]) -> Said {
    match language {
        Language::Graphql => graphql::read(body),
        Language::PullRequest => pull_request::read(body),
        Language::Model(dialect) => model::body::read(dialect, body),
    }
}
