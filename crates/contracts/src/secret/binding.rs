//! What a secret may be used for: on which hosts, in which places of a request, by which agents.
//!
//! **Invariant:** a secret that can be swapped names at least one host and one place; a value that cannot stand in a header is bound to no
//! header.

use std::{fmt, str::FromStr};

use domain::{
    agent::AgentName,
    policy::{HostName, HostPattern},
};

/// Where a secret goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// Where its placeholder is swapped. Nowhere, if there is none.
    pub hosts: Vec<HostPattern>,
    pub places: Vec<Placement>,
    /// Whose runs may use it. Everybody's whose agent file names it, if there is none.
    pub agents: Vec<AgentName>,
    pub exposure: Exposure,
}

/// Whether the value itself may enter a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exposure {
    #[default]
    Never,
    /// In the environment of one process, written down each time. For tools that sign with it.
    Environment,
}

/// A place in a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    Header(Header),
    /// The user or the password of `Authorization: Basic`.
    Basic,
    /// The value of a parameter in the query.
    Query(Parameter),
}

/// A header by its name, in small letters, and what stands before the value when we write it ourselves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Header {
    name: String,
    prefix: String,
}

/// The name of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parameter(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    #[error("`{}` is not the name of a header; write `NAME` or `NAME: WORD`, as in `Authorization: Bearer`", .0.escape_debug())]
    Header(String),
    #[error(
        "no secret is put into the header `{0}`; it says where a request goes or how long it is"
    )]
    Framing(String),
    #[error("`{}` is not the name of a parameter: 1 to 64 letters, digits, `-`, `_` or `.`", .0.escape_debug())]
    Parameter(String),
}

/// Headers that decide what a request is.
const FRAMING: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

impl Header {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `Bearer `, with its space; empty, if the value stands alone.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn new(name: &str, prefix: &str) -> Result<Self, PlacementError> {
        let wrong = || PlacementError::Header(name.to_owned());
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_letter) {
            return Err(wrong());
        }
        if prefix.len() > 64 || !prefix.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(wrong());
        }
        let name = name.to_ascii_lowercase();
        if FRAMING.contains(&name.as_str()) {
            return Err(PlacementError::Framing(name));
        }
        Ok(Self { name, prefix: prefix.to_owned() })
    }
}

impl FromStr for Header {
    type Err = PlacementError;

    /// `X-Api-Key`, or `Authorization: Bearer`.
    fn from_str(text: &str) -> Result<Self, PlacementError> {
        match text.split_once(':') {
            None => Self::new(text, ""),
            Some((name, word)) if word.trim().is_empty() => Self::new(name, ""),
            Some((name, word)) => Self::new(name, &format!("{} ", word.trim())),
        }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix.trim_end() {
            "" => f.write_str(&self.name),
            prefix => write!(f, "{}: {prefix}", self.name),
        }
    }
}

impl Parameter {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Parameter {
    type Err = PlacementError;

    fn from_str(name: &str) -> Result<Self, PlacementError> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_letter) {
            return Err(PlacementError::Parameter(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    #[error(
        "it is bound to no host, so it could never be used; name one with `--host`, or give it to programs with `--expose env`"
    )]
    Nowhere,
    #[error(
        "it is bound to hosts, but to no place of a request; name a header, Basic or a parameter"
    )]
    NoPlace,
    #[error("it names more than {MOST} hosts, places or agents")]
    TooMany,
}

const MOST: usize = 64;

impl Binding {
    /// Whether this can be meant.
    pub fn check(&self) -> Result<(), BindingError> {
        let Self { hosts, places, agents, exposure } = self;
        if [hosts.len(), places.len(), agents.len()].into_iter().any(|length| length > MOST) {
            return Err(BindingError::TooMany);
        }
        match (hosts.is_empty(), places.is_empty(), exposure) {
            (true, _, Exposure::Never) => Err(BindingError::Nowhere),
            (false, true, Exposure::Never | Exposure::Environment) => Err(BindingError::NoPlace),
            (true, _, Exposure::Environment)
            | (false, false, Exposure::Never | Exposure::Environment) => Ok(()),
        }
    }

    /// Whether requests to `host` may carry it.
    pub fn allows_host(&self, host: &HostName) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host))
    }

    /// Whether runs of `agent` may use it. One that names agents is not for a run that is of none.
    pub fn allows_agent(&self, agent: Option<&AgentName>) -> bool {
        self.agents.is_empty() || agent.is_some_and(|agent| self.agents.contains(agent))
    }
}
