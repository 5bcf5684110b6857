//! How often one may call: often. A program that went wild does not keep the others waiting.
//!
//! One bucket for each way in. Behind the socket there is one person, and behind the loopback one token, so this is a limit for each caller
//! who may come in at all; who may not is turned away before, and costs the others nothing.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use tokio::time::Instant;
use wire::error::{Code, Problem};

use crate::problem::Trouble;

/// Calls that may come at once, and how many more each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub at_once: u32,
    pub each_second: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { at_once: 2_000, each_second: 500 }
    }
}

#[derive(Debug)]
pub(crate) struct Rates {
    rate: Rate,
    bucket: Mutex<Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// In thousandths of a call.
    left: u64,
    since: Instant,
}

impl Rates {
    pub(crate) fn new(rate: Rate) -> Arc<Self> {
        let bucket = Bucket { left: u64::from(rate.at_once) * 1_000, since: Instant::now() };
        Arc::new(Self { rate, bucket: Mutex::new(bucket) })
    }

    /// Takes one call, or says how long to wait for it.
    fn take(&self, now: Instant) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(bucket.since);
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let come = passed.saturating_mul(u64::from(self.rate.each_second));
        let most = u64::from(self.rate.at_once) * 1_000;
        let left = bucket.left.saturating_add(come).min(most);
        // What is less than a millisecond counts the next time.
        bucket.since += Duration::from_millis(passed);
        bucket.left = left.checked_sub(1_000).unwrap_or(left);
        if left >= 1_000 {
            return Ok(());
        }
        let each = u64::from(self.rate.each_second).max(1);
        Err(Duration::from_millis((1_000 - left).div_ceil(each)))
    }
}

pub(crate) async fn slow_down(
    State(rates): State<Arc<Rates>>,
    request: Request,
    next: Next,
) -> Response {
    match rates.take(Instant::now()) {
        Ok(()) => next.run(request).await,
        Err(wait) => {
            let problem = Problem::new(Code::TooMany, "too many calls in a short time");
            let problem = problem.with_help("wait as long as `Retry-After` says, and call again");
            let mut response = Trouble::from(problem).into_response();
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_back_with_time_and_never_more_than_at_once() {
        let rates = Rates::new(Rate { at_once: 3, each_second: 2 });
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(rates.take(start), Ok(()));
        }
        let wait = rates.take(start).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(500), "{wait:?}");
        assert_eq!(rates.take(start + wait), Ok(()));
        let later = start + Duration::from_hours(1);
        let taken = (0..10).filter(|_| rates.take(later).is_ok()).count();
        assert_eq!(taken, 3);
    }

    #[test]
    fn many_small_steps_of_time_count_too() {
        let rates = Rates::new(Rate { at_once: 1, each_second: 2 });
        let mut now = Instant::now();
        assert_eq!(rates.take(now), Ok(()));
        let mut taken = 0;
        for _ in 0..2_000 {
            now += Duration::from_micros(501);
            taken += usize::from(rates.take(now).is_ok());
        }
        assert_eq!(taken, 2);
    }
}
