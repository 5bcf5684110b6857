//! Choices that come in an order, from lenient to strict or the other way round.
//!
//! The derived order of each enum is what [`narrow`](super::narrow) compares, so
//! the order of the variants is part of the meaning.

use std::fmt;

/// How much may happen without a person, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Autonomy {
    /// Phase 1: a person reviews and merges.
    HumanReviews,
    /// Phase 2: checks approve, a person merges.
    HumanMerges,
    /// Phase 3: checks merge.
    ChecksMerge,
}

impl Autonomy {
    pub const ALL: [Self; 3] = [Self::HumanReviews, Self::HumanMerges, Self::ChecksMerge];

    /// The number that people write: 1, 2 or 3.
    pub const fn phase(self) -> u8 {
        match self {
            Self::HumanReviews => 1,
            Self::HumanMerges => 2,
            Self::ChecksMerge => 3,
        }
    }

    pub fn of_phase(phase: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|autonomy| u64::from(autonomy.phase()) == phase)
    }
}

impl fmt::Display for Autonomy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.phase())
    }
}

/// What happens when a change brings in a package that was not there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NewPackages {
    /// It is listed in the pull request.
    Allowed,
    /// A person approves it first.
    NeedApproval,
    /// The registry answers only for packages of the lockfile.
    Refused,
}

impl NewPackages {
    pub const ALL: [Self; 3] = [Self::Allowed, Self::NeedApproval, Self::Refused];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allow",
            Self::NeedApproval => "approve",
            Self::Refused => "deny",
        }
    }
}

impl fmt::Display for NewPackages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
