//! Spans of time: `90s`, `30m`, `1h30m`, `7d`.

use std::{fmt, str::FromStr, time::Duration};

use crate::shape::text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("`{0}` is not a duration")]
    Malformed(String),
    #[error("`{asked}` is outside of {} to {}", Written(*.least), Written(*.most))]
    OutOfBounds { asked: String, least: Duration, most: Duration },
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// From the longest, as they are written one after the other.
const UNITS: [(char, Duration); 4] = [('d', DAY), ('h', HOUR), ('m', MINUTE), ('s', SECOND)];

macro_rules! bounded {
    ($(#[doc = $about:literal])+ $name:ident, $least:expr, $most:expr, $called:literal, help = $help:literal) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(Duration);

        impl $name {
            pub const LEAST: Duration = $least;
            pub const MOST: Duration = $most;

            /// So many hours, or the nearest that is within the bounds.
            pub const fn hours(hours: u64) -> Self {
                Self::nearest_to(Duration::from_secs(hours.saturating_mul(3600)))
            }

            pub const fn nearest_to(duration: Duration) -> Self {
                if duration.as_secs() < Self::LEAST.as_secs() {
                    return Self(Self::LEAST);
                }
                if duration.as_secs() > Self::MOST.as_secs() { Self(Self::MOST) } else { Self(duration) }
            }

            pub const fn get(self) -> Duration {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = DurationError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                within(text, Self::LEAST, Self::MOST).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Written(self.0).fmt(f)
            }
        }

        text!($name, $called, help = $help, pattern = "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$");
    };
}

bounded! {
    /// How long something may run: one second to 24 hours.
    RunTime, SECOND, DAY, "a duration", help = "write it as `90s`, `30m` or `2h`; at most `24h`"
}
bounded! {
    /// How long to wait for a person: one minute to 90 days.
    Wait, MINUTE, Duration::from_hours(24 * 90), "a duration", help = "write it as `30m`, `24h` or `7d`; at most `90d`"
}
bounded! {
    /// How long to keep something: one hour to ten years.
    Keep, HOUR, Duration::from_hours(24 * 3650), "a duration", help = "write it as `12h` or `30d`; at most `3650d`"
}

fn within(text: &str, least: Duration, most: Duration) -> Result<Duration, DurationError> {
    let duration = parse(text).ok_or_else(|| DurationError::Malformed(text.to_owned()))?;
    if duration < least || duration > most {
        return Err(DurationError::OutOfBounds { asked: text.to_owned(), least, most });
    }
    Ok(duration)
}

/// Each unit at most once, from the longest to the shortest.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    for (letter, unit) in UNITS {
        let Some((number, behind)) = rest.split_once(letter) else { continue };
        if number.is_empty() || number.len() > 9 || !number.chars().all(|c| c.is_ascii_digit()) {
            return None;
        }
        total = total.checked_add(unit.checked_mul(number.parse().ok()?)?)?;
        rest = behind;
    }
    (rest.is_empty() && !text.is_empty()).then_some(total)
}

/// A duration in the same notation.
struct Written(Duration);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seconds = self.0.as_secs();
        for (letter, unit) in UNITS {
            let count = seconds / unit.as_secs();
            if count > 0 {
                write!(f, "{count}{letter}")?;
            }
            seconds %= unit.as_secs();
        }
        if self.0 < SECOND { f.write_str("0s") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_people_write() {
        let seconds = |text: &str| text.parse::<Keep>().map(|it| it.get().as_secs()).ok();
        assert_eq!(seconds("2h"), Some(7200));
        assert_eq!(seconds("1h30m"), Some(5400));
        assert_eq!(seconds("7d"), Some(604_800));
        for wrong in
            ["", "2", "h", "2 h", "-2h", "30m1h", "2h2h", "2hours", "9999999999h", "0s", "²h"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn says_the_bounds() {
        let error = "25h".parse::<RunTime>().unwrap_err();
        assert_eq!(error.to_string(), "`25h` is outside of 1s to 1d");
    }

    proptest! {
        #[test]
        fn reads_as_it_prints(seconds in 1..86_400u64) {
            let time = RunTime::nearest_to(Duration::from_secs(seconds));
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}
