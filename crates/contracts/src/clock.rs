//! Time, as an argument.

use std::{future::Future, time::Duration};

use domain::time::Timestamp;

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Returns once [`Clock::now`] has reached `time`; at once if it has. A clock that is set back
    /// meanwhile makes nobody wait longer than was left at the call: look again after it.
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
        const LONGEST: Duration = Duration::from_secs(10);
        let mut patience = time.since(self.now());
        loop {
            let left = time.since(self.now()).min(patience);
            if left.is_zero() {
                return;
            }
            let nap = left.min(LONGEST);
            patience = patience.saturating_sub(nap);
            #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
            tokio::time::sleep(nap).await;
        }
    }
}
