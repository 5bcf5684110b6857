//! Events, transcripts and steps as they lie in the database: words and JSON that outlive the program.
//!
//! The domain's types may change with every commit; what is stored may not. So nothing of the domain
//! derives `Serialize`. Each event has a counterpart here, a *shape*, and a shape that was shipped is
//! never changed again:
//!
//! ```text
//!  domain::task::Event ── encode ──▶ (kind, version, body) ── decode ──▶ domain::task::Event
//!                                     "approved", 1, {"plan": "74…", …}
//! ```
//!
//! To change one, add it to the next version (`v2` has those that were changed once), let [`encode`] write that, and keep the one before
//! for reading. The files under `golden/` fail the tests of whoever forgets.
//!
//! **Invariant:** `decode` gives back the event that `encode` was given, and refuses what it does not
//! fully understand: an unknown word, an unknown field and a missing one are errors, because half
//! an approval is not an approval.

#[macro_use]
mod shape;
pub(crate) mod step;
mod text;
pub(crate) mod transcript;
mod v1;
mod v2;

#[cfg(test)]
mod tests;

use domain::task::Event;

/// One event, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) kind: &'static str,
    pub(crate) version: i64,
    /// A JSON object.
    pub(crate) body: String,
}

/// Why something stored could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(
        "an event `{kind}` of version {version} is stored, which this lamp does not know; a newer one wrote it"
    )]
    UnknownEvent { kind: String, version: i64 },

    #[error(
        "a transcript has a `{kind}` of version {version}, which this lamp does not know; a newer one wrote it"
    )]
    UnknownWords { kind: String, version: i64 },

    #[error("a step `{step}` is stored, which this lamp does not know; a newer one wrote it")]
    UnknownStep { step: String },

    #[error("the stored event `{kind}` of version {version} is damaged")]
    Damaged {
        kind: String,
        version: i64,
        #[source]
        source: serde_json::Error,
    },
}

pub(crate) fn encode(event: &Event) -> Stored {
    let (version, body) = v2::encode(event)
        .map_or_else(|| (v1::VERSION, v1::encode(event)), |body| (v2::VERSION, body));
    Stored { kind: event.kind(), version, body }
}

pub(crate) fn decode(kind: &str, version: i64, body: &str) -> Result<Event, Unreadable> {
    let known = match version {
        v1::VERSION => v1::decode(kind, body),
        v2::VERSION => v2::decode(kind, body),
        _newer => None,
    };
    let read = known.ok_or_else(|| Unreadable::UnknownEvent { kind: kind.to_owned(), version })?;
    read.map_err(|error| Unreadable::Damaged {
        kind: kind.to_owned(),
        version,
        source: brief(error),
    })
}

/// The parser quotes what it did not understand. A sentence for a log must not carry megabytes of it.
fn brief(error: serde_json::Error) -> serde_json::Error {
    const LIMIT: usize = 500;
    let message = error.to_string();
    if message.len() <= LIMIT {
        return error;
    }
    let beginning: String = message.chars().take(LIMIT).collect();
    serde::de::Error::custom(format_args!("{beginning}…"))
}
