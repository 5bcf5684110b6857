//! Time, as an argument.

use std::future::Future;

use domain::time::Timestamp;

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Returns once [`Clock::now`] has reached `time`; at once if it has.
    fn sleep_until(&self, time: Timestamp) -> impl Future<Output = ()> + Send;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    async fn sleep_until(&self, time: Timestamp) {
        /// A clock that is set forward is noticed within this time.
        const LONGEST: std::time::Duration = std::time::Duration::from_secs(10);
        loop {
            let left = time.since(self.now());
            if left.is_zero() {
                return;
            }
            #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
            tokio::time::sleep(left.min(LONGEST)).await;
        }
    }
}
