//! Tells work that it is no longer wanted, and lets it wait without missing that.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// One for each turn. Once stopped, it stays so.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

/// The work was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

impl Stop {
    pub fn stop(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    pub fn check(&self) -> Result<(), Stopped> {
        if *self.lock() { Err(Stopped) } else { Ok(()) }
    }

    /// Waits this long, or until it is stopped.
    pub fn wait(&self, time: Duration) -> Result<(), Stopped> {
        let end = Instant::now() + time;
        let mut stopped = self.lock();
        loop {
            if *stopped {
                return Err(Stopped);
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else { return Ok(()) };
            if left.is_zero() {
                return Ok(());
            }
            (stopped, _) =
                self.changed.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_it_is_stopped_from_elsewhere() {
        let stop = Stop::default();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stop.wait(Duration::from_mins(1)));
            stop.stop();
            assert_eq!(waiting.join().unwrap(), Err(Stopped));
        });
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_wait_that_nobody_stops_ends_by_itself() {
        assert_eq!(Stop::default().wait(Duration::from_millis(1)), Ok(()));
    }
}
