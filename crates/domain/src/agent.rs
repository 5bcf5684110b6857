//! Which agent does the work, and how it is known.

use std::{fmt, str::FromStr};

/// An agent as a repository names it: the `name` in `agents/<name>.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an agent's name: 1 to 64 letters in lower case, digits or `-`, beginning with a letter"
)]
pub struct AgentNameError(pub String);

impl AgentName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = AgentNameError;

    fn from_str(name: &str) -> Result<Self, AgentNameError> {
        let letters =
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
        if starts_well && letters && name.len() <= 64 {
            return Ok(Self(name.to_owned()));
        }
        Err(AgentNameError(name.to_owned()))
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who an agent is, when it can prove it (CR6): its name and its Ed25519 public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    pub name: AgentName,
    pub public_key: [u8; 32],
}

/// How much an agent's program is trusted. Decides the lightest tier that it may run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Signed by a key that the policy lists.
    Signed(AgentIdentity),
    /// Known by name only.
    Named(AgentName),
}

/// How strong the walls are. A stronger tier is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    Verified,
    Standard,
    Untrusted,
}

impl Tier {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Standard => "standard",
            Self::Untrusted => "untrusted",
        }
    }

    /// The tier a run really gets: never weaker than asked, and the light one only for signed agents.
    pub fn granted(asked: Self, trust: &Trust) -> Self {
        match trust {
            Trust::Signed(_) => asked,
            Trust::Named(_) => asked.max(Self::Standard),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signed_agent_gets_the_light_tier() {
        let name: AgentName = "fix-issue".parse().unwrap();
        let signed = Trust::Signed(AgentIdentity { name: name.clone(), public_key: [7; 32] });
        assert_eq!(Tier::granted(Tier::Verified, &signed), Tier::Verified);
        assert_eq!(Tier::granted(Tier::Verified, &Trust::Named(name.clone())), Tier::Standard);
        assert_eq!(Tier::granted(Tier::Untrusted, &Trust::Named(name)), Tier::Untrusted);
    }

    #[test]
    fn an_agent_name_is_a_plain_word() {
        for wrong in ["", "Fix", "1fix", "fix issue", "../fix"] {
            assert!(wrong.parse::<AgentName>().is_err(), "{wrong}");
        }
    }
}
