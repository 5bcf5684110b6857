//! Who may let a plan pass, and when one is needed.

use std::{collections::BTreeSet, fmt, str::FromStr, time::Duration};

/// Whether work needs an approved plan, from lenient to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlanGate {
    Optional,
    Required,
}

/// A way to be allowed to approve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approver {
    User(String),
    Team(String),
    Role(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an approver; write `user:NAME`, `team:NAME` or `role:NAME`")]
pub struct ApproverError(pub String);

impl FromStr for Approver {
    type Err = ApproverError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ApproverError(text.to_owned());
        let (kind, name) = text.split_once(':').ok_or_else(wrong)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@/".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(wrong());
        }
        match kind {
            "user" => Ok(Self::User(name.to_owned())),
            "team" => Ok(Self::Team(name.to_owned())),
            "role" => Ok(Self::Role(name.to_owned())),
            _unknown => Err(wrong()),
        }
    }
}

impl fmt::Display for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{name}"),
            Self::Team(name) => write!(f, "team:{name}"),
            Self::Role(name) => write!(f, "role:{name}"),
        }
    }
}

/// A person, as far as approving is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub user: String,
    pub teams: BTreeSet<String>,
    pub roles: BTreeSet<String>,
}

impl Candidate {
    fn is(&self, approver: &Approver) -> bool {
        match approver {
            Approver::User(name) => *name == self.user,
            Approver::Team(name) => self.teams.contains(name),
            Approver::Role(name) => self.roles.contains(name),
        }
    }
}

/// Lists of approvers, one per layer that has one. A person must be on each.
///
/// Nobody has written a list: everyone who may approve at all, may.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approvers(BTreeSet<BTreeSet<Approver>>);

impl Approvers {
    pub fn anyone() -> Self {
        Self::default()
    }

    /// Someone on this list. An empty list is nobody.
    pub fn one_of(list: BTreeSet<Approver>) -> Self {
        Self(BTreeSet::from([list]))
    }

    pub fn permit(&self, person: &Candidate) -> bool {
        self.0.iter().all(|list| list.iter().any(|approver| person.is(approver)))
    }

    pub fn lists(&self) -> impl Iterator<Item = &BTreeSet<Approver>> {
        self.0.iter()
    }

    fn narrow(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }
}

/// The rules of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub plan: PlanGate,
    pub four_eyes: FourEyes,
    pub approvers: Approvers,
    /// After this time without an answer the task pauses.
    pub timeout: Duration,
}

impl Gate {
    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            plan: self.plan.max(other.plan),
            four_eyes: stricter(self.four_eyes, other.four_eyes),
            approvers: self.approvers.narrow(&other.approvers),
            timeout: self.timeout.min(other.timeout),
        }
    }
}

/// Whether another person has to say yes than the one who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FourEyes {
    /// The requester may not approve their own plan.
    Required,
    NotRequired,
}

fn stricter(one: FourEyes, other: FourEyes) -> FourEyes {
    match (one, other) {
        (FourEyes::Required, FourEyes::Required | FourEyes::NotRequired)
        | (FourEyes::NotRequired, FourEyes::Required) => FourEyes::Required,
        (FourEyes::NotRequired, FourEyes::NotRequired) => FourEyes::NotRequired,
    }
}
