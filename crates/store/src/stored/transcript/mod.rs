//! What agents said and did, as it lies in the database.
//!
//! As for events: every kind has a shape that was shipped once and is never changed again, and what is not fully understood
//! is refused. Here that protects nobody's approval, but a watcher who sees half of what was done is worse off than one
//! who is told that this lamp is too old.

mod v1;

#[cfg(test)]
mod tests;

use domain::transcript::AgentEvent;

use super::{Stored, Unreadable, brief};

pub(crate) fn encode(event: &AgentEvent) -> Stored {
    let (kind, body) = v1::encode(event);
    Stored { kind, version: v1::VERSION, body }
}

pub(crate) fn decode(kind: &str, version: i64, body: &str) -> Result<AgentEvent, Unreadable> {
    let known = match version {
        v1::VERSION => v1::decode(kind, body),
        _newer => None,
    };
    let read = known.ok_or_else(|| Unreadable::UnknownWords { kind: kind.to_owned(), version })?;
    read.map_err(|error| Unreadable::Damaged {
        kind: kind.to_owned(),
        version,
        source: brief(error),
    })
}
