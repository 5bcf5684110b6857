//! A clock that a test moves by hand.

use std::{sync::Arc, time::Duration};

use contracts::clock::Clock;
use domain::time::Timestamp;
use tokio::sync::watch;

#[derive(Debug, Clone)]
pub struct ManualClock(Arc<watch::Sender<Timestamp>>);

impl ManualClock {
    pub fn starting_at(time: Timestamp) -> Self {
        Self(Arc::new(watch::Sender::new(time)))
    }

    /// Moves time on, and wakes whoever slept until then.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = *now + by);
    }

    /// Sets the clock, also back: clocks of real machines jump.
    pub fn jump_to(&self, time: Timestamp) {
        self.0.send_modify(|now| *now = time);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep_until(&self, time: Timestamp) {
        let mut ticks = self.0.subscribe();
        // The sender lives as long as `self`.
        let _woken = ticks.wait_for(|now| *now >= time).await;
    }
}

/// The system's clock, or one that a test moves.
#[derive(Debug, Clone)]
pub enum AnyClock {
    System,
    Manual(ManualClock),
}

impl Clock for AnyClock {
    fn now(&self) -> Timestamp {
        match self {
            Self::System => contracts::clock::SystemClock.now(),
            Self::Manual(clock) => clock.now(),
        }
    }

    async fn sleep_until(&self, time: Timestamp) {
        match self {
            Self::System => contracts::clock::SystemClock.sleep_until(time).await,
            Self::Manual(clock) => clock.sleep_until(time).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clocks_keep_their_promises() {
        contracts::promises::clock::kept(&AnyClock::System).await.unwrap();
        let clock = ManualClock::starting_at(Timestamp::from_millis(0));
        let mover = clock.clone();
        let moving = async move {
            for _ in 0..10 {
                tokio::task::yield_now().await;
                mover.advance(Duration::from_millis(1));
            }
        };
        let (kept, ()) = tokio::join!(contracts::promises::clock::kept(&clock), moving);
        kept.unwrap();
    }
}
