//! What is told of the way out: which rule decides, what was used and tried, and what changed when the files were read again.

use domain::policy::{EgressPhase, LayerKind, Rule};

/// Which rule decides about a request, and why. Nothing was sent anywhere for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub method: String,
    pub url: String,
    pub phase: EgressPhase,
    pub verdict: Verdict,
    /// One for each layer, from the organisation down.
    pub layers: Vec<LayerSays>,
    /// The bundles that the request belongs to, of those that rules name.
    pub bundles: Vec<String>,
    pub connection: Handling,
    /// What else a person should know.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allowed {
        rule: String,
    },
    Denied(Denial),
    /// The rules allow it if its body is what it should be.
    DependsOnBody,
}

/// Why a request is not carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The rule that decides, as it is written, or the layer that has none.
    pub rule: Option<String>,
    pub reason: String,
    /// What a person can do about it; empty, if that is nothing.
    pub remedy: String,
}

/// How the gateway would treat the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    Refused,
    Opaque,
    Inspected,
}

impl Handling {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Opaque => "carried unseen",
            Self::Inspected => "inspected",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerSays {
    pub layer: LayerKind,
    pub says: Says,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    Allows(Rule),
    Denies(Rule),
    Nothing,
}

/// The smallest policy for what a sandbox did and tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    pub phase: EgressPhase,
    pub rules: Vec<LearnedRule>,
    /// How much was seen that is not listed, because there was too much.
    pub forgotten: u64,
    /// The same as a part of `policy.yaml`.
    pub yaml: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LearnedRule {
    /// As it is written in the file.
    pub line: String,
    pub times: u64,
    pub need: Need,
    /// The command that wanted it last, where it was refused and that is known.
    pub by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// It was used, and is allowed.
    Used,
    /// It was refused, and a person should think about it.
    Refused,
}

/// Which exchanges are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogWish {
    pub only_refused: bool,
    /// The most, the newest; the usual number when it is left out.
    pub most: Option<u32>,
}

/// What one exchange was, as it was written down at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    pub at_millis: i64,
    pub host: String,
    /// 0 for a name.
    pub port: u16,
    pub way: String,
    pub method: Option<String>,
    /// Without the query.
    pub path: Option<String>,
    /// `done`, `refused` or `broken`.
    pub outcome: String,
    pub status: Option<u16>,
    /// Of a refusal: a stable word.
    pub code: Option<String>,
    /// Why it was refused, or how it broke.
    pub reason: Option<String>,
    /// The rule that allowed it, or that decided against it.
    pub rule: Option<String>,
    /// What a program says of itself, where it was refused and that is known.
    pub cause: Option<String>,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub millis: u64,
    pub cost_micros: Option<u64>,
}

/// What changed when the server read its files again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Rules that are new or gone.
    pub changes: Vec<RuleChange>,
    /// Other keys that changed, and hold now.
    pub others: Vec<&'static str>,
    /// Keys that changed, and hold after the next start of the server.
    pub after_restart: Vec<&'static str>,
    /// How many sandboxes that run have the new rules.
    pub sandboxes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    pub layer: LayerKind,
    pub phase: EgressPhase,
    pub list: ListName,
    pub turn: Turn,
    pub rule: Rule,
}

/// The list of a policy that a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListName {
    Allow,
    Deny,
}

impl ListName {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// Whether a rule is new or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Added,
    Removed,
}

impl Turn {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}
