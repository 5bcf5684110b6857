//! The phases of the pipeline, in their order (PL: research → plan → gate → implement → …).
//!
//! Seven enums speak of phases, because seven rooms ask seven different questions. Side by side:
//!
//! | [`Phase`]: whose clock runs? | [`Work`]: who holds what? | [`Step`]: what is due? | [`Purpose`]: which sandbox? | agent's `Mode`: what is asked? | [`EgressPhase`]: which network? |
//! |---|---|---|---|---|---|
//! | prepare | what comes next | `Open` | that of what comes next | – | `Setup`, while an image is built |
//! | research | – | `Research` | `Research` | `Research` | `Research` |
//! | plan | – | `Plan` | `Research` | `Plan` | `Research` |
//! | *the gate: a person* | | `Rest`, `Tell` | none works | – | – |
//! | implement | a mandate | `Implement` | `Implement` | `Implement` | `Implement` |
//! | verify | a mandate, a commit | `Verify` | `Verify`, one for base and one for head | – (no agent) | `Implement` |
//! | review | a mandate, a commit | `Review` | `Review` | `Review` | `Review` |
//! | deliver | a mandate, a commit | `Deliver` | none: on the host | – | – |
//!
//! `Mode` is `contracts::agent::Mode`. Two rooms may not use `contracts` and have the same four words of their own: `apprentice` (inside a
//! sandbox) and `wire` (as JSON).
//!
//! [`Work`]: crate::task::Work
//! [`Step`]: crate::task::Step
//! [`Purpose`]: crate::task::Purpose
//! [`EgressPhase`]: crate::policy::EgressPhase

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
