//! The failure that an event stops its task with, and the log that belongs to it.

use super::{Event, PauseReason, Verdict};
use crate::failure::Failure;

impl Event {
    /// Why the task stops here, if something went wrong.
    pub const fn failure(&self) -> Option<&Failure> {
        if let Self::Failed { failure } | Self::Paused { why: PauseReason::Failure(failure) } = self
        {
            return Some(failure);
        }
        if let Self::ChecksFailed { verdict: Verdict::Stops(failure), .. }
        | Self::ReviewFoundFaults { verdict: Verdict::Stops(failure), .. }
        | Self::Charged { verdict: Verdict::Stops(failure), .. } = self
        {
            return Some(failure);
        }
        None
    }

    /// The same, with the end of `log` in its failure. The rules decide by what they know, and they know of no logs. One that came with
    /// its own keeps it.
    #[must_use]
    pub fn with_log(mut self, log: &str) -> Self {
        if let Self::Failed { failure }
        | Self::Paused { why: PauseReason::Failure(failure) }
        | Self::ChecksFailed { verdict: Verdict::Stops(failure), .. }
        | Self::ReviewFoundFaults { verdict: Verdict::Stops(failure), .. }
        | Self::Charged { verdict: Verdict::Stops(failure), .. } = &mut self
            && failure.last_lines.is_empty()
        {
            *failure = failure.clone().with_log(log);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cost::Cost, failure::FailureKind, phase::Phase};

    fn hit() -> Failure {
        Failure::new(FailureKind::BudgetHit, Phase::Implement, "spent")
    }

    #[test]
    fn a_log_goes_to_the_failure_that_has_none() {
        let charged =
            |verdict| Event::Charged { phase: Phase::Implement, cost: Cost::ZERO, verdict };
        let stops = charged(Verdict::Stops(hit())).with_log("one\ntwo");
        assert_eq!(stops.failure().unwrap().last_lines, ["one", "two"]);
        let own = Event::Failed { failure: hit().with_log("mine") }.with_log("yours");
        assert_eq!(own.failure().unwrap().last_lines, ["mine"]);
        let goes_on = charged(Verdict::GoesOn).with_log("one");
        assert_eq!(goes_on, charged(Verdict::GoesOn));
    }
}
