//! How often the model is asked again, and when.

use std::time::Duration;

use super::{Failure, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often it is asked, the first time included.
    pub tries: u32,
    /// The pause after the first failure; doubled after each.
    pub pause: Duration,
    /// A longer pause than this is not waited for, whoever asks for it.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { tries: 5, pause: Duration::from_millis(500), longest: Duration::from_mins(1) }
    }
}

/// Malformed answers are not weather: asking a model once more is fair, asking it for ever is not.
const BAD_ANSWERS: u32 = 2;

impl Patience {
    pub(super) fn tries(self) -> Tries {
        Tries { patience: self, failed: 0, bad: 0 }
    }
}

#[derive(Debug)]
pub(super) struct Tries {
    patience: Patience,
    failed: u32,
    bad: u32,
}

impl Tries {
    /// How long to wait before asking again; none when that is over.
    pub(super) fn pause_after(&mut self, failure: &Failure) -> Option<Duration> {
        self.failed += 1;
        if failure.kind == Kind::BadAnswer {
            self.bad += 1;
        }
        let is_over = self.failed >= self.patience.tries || self.bad >= BAD_ANSWERS;
        if !failure.may_pass() || is_over {
            return None;
        }
        let doubled = 2_u32.saturating_pow(self.failed - 1);
        let usual = self.patience.pause.saturating_mul(doubled).min(self.patience.longest);
        match failure.retry_after {
            Some(asked) if asked > self.patience.longest => None,
            Some(asked) => Some(asked),
            None => Some(usual),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: u16, retry_after: Option<u64>) -> Failure {
        Failure::from_status(status, retry_after.map(Duration::from_secs), b"{}")
    }

    #[test]
    fn pauses_double_and_end() {
        let mut tries = Patience::default().tries();
        let pauses: Vec<_> = (0..5).map(|_| tries.pause_after(&failure(529, None))).collect();
        let millis = [500, 1000, 2000, 4000].map(|it| Some(Duration::from_millis(it)));
        assert_eq!(pauses, [millis.as_slice(), &[None]].concat());
    }

    #[test]
    fn what_the_server_asks_for_is_kept_if_it_is_bearable() {
        let mut tries = Patience::default().tries();
        assert_eq!(tries.pause_after(&failure(429, Some(7))), Some(Duration::from_secs(7)));
        assert_eq!(tries.pause_after(&failure(429, Some(3600))), None);
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        for status in [400, 401, 402, 404, 413] {
            assert_eq!(Patience::default().tries().pause_after(&failure(status, None)), None);
        }
        let mut tries = Patience::default().tries();
        assert!(tries.pause_after(&Failure::bad_answer("x")).is_some());
        assert_eq!(tries.pause_after(&Failure::bad_answer("x")), None);
    }
}
