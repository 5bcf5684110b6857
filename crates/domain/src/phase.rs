//! The phases of the pipeline, in their order (PL: research → plan → gate → implement → ...).

use std::{fmt, str::FromStr};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    Prepare,
    Research,
    Plan,
    Implement,
    Verify,
    Review,
    Deliver,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no phase `{0}`; the phases are prepare, research, plan, implement, verify, review, deliver"
)]
pub struct UnknownPhase(pub String);

impl Phase {
    pub const ALL: [Self; 7] = [
        Self::Prepare,
        Self::Research,
        Self::Plan,
        Self::Implement,
        Self::Verify,
        Self::Review,
        Self::Deliver,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Implement => "implement",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Deliver => "deliver",
        }
    }

    /// The same, as what a task is doing: "implementing".
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Prepare => "preparing",
            Self::Research => "researching",
            Self::Plan => "planning",
            Self::Implement => "implementing",
            Self::Verify => "verifying",
            Self::Review => "reviewing",
            Self::Deliver => "delivering",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Phase {
    type Err = UnknownPhase;

    fn from_str(name: &str) -> Result<Self, UnknownPhase> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.name() == name)
            .ok_or_else(|| UnknownPhase(name.to_owned()))
    }
}
