//! Events and transcript of one task as one live stream, from any cursor on.
//!
//! As server-sent events each item's `id` is its cursor, so that `Last-Event-ID` resumes; over a WebSocket each item is a text, and `?after=`
//! resumes. Whoever goes on after the last cursor that they saw gets everything else once.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, Type},
    },
};

use super::{event::RecordedEvent, transcript::TranscriptItem};
use crate::error::Problem;

/// One message of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamItem {
    Event {
        cursor: Cursor,
        event: Box<RecordedEvent>,
    },
    Transcript {
        cursor: Cursor,
        item: TranscriptItem,
    },
    /// Nothing is new; the server is there.
    Heartbeat {
        cursor: Cursor,
    },
    /// The task is over and all was said. The last one.
    End {
        cursor: Cursor,
        /// As `state` of the task has it.
        state: String,
    },
    /// The server cannot go on. The last one; resuming later loses nothing.
    Failed {
        cursor: Cursor,
        error: Problem,
    },
}

impl StreamItem {
    /// Where to go on after this one.
    pub const fn cursor(&self) -> Cursor {
        match self {
            Self::Event { cursor, .. }
            | Self::Transcript { cursor, .. }
            | Self::Heartbeat { cursor }
            | Self::End { cursor, .. }
            | Self::Failed { cursor, .. } => *cursor,
        }
    }

    /// The word that stands before it in server-sent events.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Event { .. } => "event",
            Self::Transcript { .. } => "transcript",
            Self::Heartbeat { .. } => "heartbeat",
            Self::End { .. } => "end",
            Self::Failed { .. } => "failed",
        }
    }
}

/// How far a reader has come: so many events, so many items of the transcript. Written `12.345`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    pub events: u64,
    pub transcript: u64,
}

impl PartialSchema for Cursor {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("How far a reader has come: events and items of the transcript"))
            .pattern(Some(Self::PATTERN))
            .examples(["12.345"])
            .into()
    }
}

impl ToSchema for Cursor {}

impl Cursor {
    pub const PATTERN: &str = r"^(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})$";
}

/// A text that is no cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor: write the one of the last item that you saw, like `12.345`")]
pub struct CursorError(String);

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let wrong = || CursorError(text.chars().take(60).collect());
        let (events, transcript) = text.split_once('.').ok_or_else(wrong)?;
        let number = |digits: &str| count(digits).ok_or_else(wrong);
        Ok(Self { events: number(events)?, transcript: number(transcript)? })
    }
}

/// A number in its one spelling, which also fits into a database's column.
fn count(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    if !plain || padded || digits.len() > 19 {
        return None;
    }
    digits.parse().ok().filter(|number| i64::try_from(*number).is_ok())
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.events, self.transcript)
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

impl TryFrom<String> for Cursor {
    type Error = CursorError;

    fn try_from(text: String) -> Result<Self, CursorError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cursor_is_two_numbers_and_nothing_else() {
        assert_eq!("12.345".parse(), Ok(Cursor { events: 12, transcript: 345 }));
        for wrong in [
            "",
            ".",
            "1",
            "1.",
            ".1",
            "1.2.3",
            "-1.2",
            "+1.2",
            "01.2",
            "1.02",
            "1 .2",
            "1.2\n",
            "a.b",
            "1,2",
            "9223372036854775808.0",
            "0.99999999999999999999",
            "１.2",
        ] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn every_cursor_survives_printing(events in 0..=i64::MAX as u64, transcript in 0..=i64::MAX as u64) {
            let cursor = Cursor { events, transcript };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn text_that_parses_is_the_only_spelling(text in "[0-9+. -]{0,24}|\\PC{0,40}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }
}
