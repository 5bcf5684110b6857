//! Points in time, as the API writes them: RFC 3339 in UTC, with milliseconds.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A point in time: `2026-11-16T17:42:34.120Z`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, format = DateTime, example = "2026-11-16T17:42:34.120Z")]
pub struct Time(i64);

/// A text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a point in time as RFC 3339 writes it")]
pub struct TimeError(String);

/// More than any such text has.
const LONGEST: usize = 64;

impl Time {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A clock that was never set is no reason to say nothing: the ends of the calendar stand for what is beyond them.
        let beyond = if self.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(beyond);
        write!(f, "{time:.3}")
    }
}

impl From<Time> for String {
    fn from(time: Time) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Time {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        let parsed = (text.len() <= LONGEST).then(|| text.parse::<jiff::Timestamp>().ok());
        match parsed.flatten() {
            Some(time) => Ok(Self(time.as_millisecond())),
            None => Err(TimeError(text.chars().take(LONGEST).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_reads_as_people_and_programs_expect() {
        let time = Time::from_millis(1_794_850_954_120);
        assert_eq!(time.to_string(), "2026-11-16T17:42:34.120Z");
        assert_eq!(serde_json::to_string(&time).unwrap(), "\"2026-11-16T17:42:34.120Z\"");
        assert!(serde_json::from_str::<Time>("\"yesterday\"").is_err());
        assert!(!Time::from_millis(i64::MAX).to_string().is_empty());
    }

    proptest! {
        #[test]
        fn a_time_survives_the_wire(millis in -60_000_000_000_000_i64..250_000_000_000_000) {
            let time = Time::from_millis(millis);
            prop_assert_eq!(Time::try_from(time.to_string()), Ok(time));
        }
    }
}
