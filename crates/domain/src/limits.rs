//! How far a task may go by itself: attempts, time and money. Frozen when the task is requested.

use std::time::Duration;

use crate::{approval::GateRules, money::Money, phase::Phase};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How often the checks may fail before the task asks for help.
    pub attempts: u8,
    /// How often the reviewer may send the change back.
    pub review_rounds: u8,
    /// How often one head commit may wake the task again (PL10).
    pub follow_ups: u8,
    pub budget: Money,
    pub time: PhaseTimes,
    pub gate: GateRules,
    /// How long a question may wait before the task pauses.
    pub answer_patience: Duration,
}

/// The time limit of each phase (PL7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseTimes {
    pub prepare: Duration,
    pub research: Duration,
    pub plan: Duration,
    pub implement: Duration,
    pub verify: Duration,
    pub review: Duration,
    pub deliver: Duration,
}

const MINUTE: Duration = Duration::from_mins(1);

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempts: 5,
            review_rounds: 2,
            follow_ups: 3,
            budget: Money::from_dollars(10),
            time: PhaseTimes::default(),
            gate: GateRules::default(),
            answer_patience: MINUTE * 60 * 24,
        }
    }
}

impl Default for PhaseTimes {
    fn default() -> Self {
        Self {
            prepare: MINUTE * 30,
            research: MINUTE * 30,
            plan: MINUTE * 15,
            implement: MINUTE * 120,
            verify: MINUTE * 60,
            review: MINUTE * 30,
            deliver: MINUTE * 10,
        }
    }
}

impl PhaseTimes {
    pub const fn of(&self, phase: Phase) -> Duration {
        match phase {
            Phase::Prepare => self.prepare,
            Phase::Research => self.research,
            Phase::Plan => self.plan,
            Phase::Implement => self.implement,
            Phase::Verify => self.verify,
            Phase::Review => self.review,
            Phase::Deliver => self.deliver,
        }
    }
}
