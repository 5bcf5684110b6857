//! Points in time, as the rules see them: a number that somebody passed in.

use std::time::Duration;

/// Milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time that has passed since `earlier`. A clock that jumped back gives zero, not a panic.
    pub fn since(self, earlier: Self) -> Duration {
        u64::try_from(self.0.saturating_sub(earlier.0))
            .map_or(Duration::ZERO, Duration::from_millis)
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_back_never_gives_a_negative_duration() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(late.since(early), Duration::from_millis(4));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end + Duration::from_secs(1), end);
    }
}
