//! What a sandbox may reach, in each phase of its life.
//!
//! Layers are kept side by side rather than multiplied out: a request passes if
//! every layer allows it. That makes narrowing exact, and a denial can name the
//! layer and the rule that decided.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{LayerKind, Outgoing, Rule};

/// The phases that have a network policy of their own. Checks run under the
/// policy of the phase that they prove, which is [`EgressPhase::Implement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EgressPhase {
    Setup,
    Research,
    Implement,
    Review,
}

impl EgressPhase {
    pub const ALL: [Self; 4] = [Self::Setup, Self::Research, Self::Implement, Self::Review];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Research => "research",
            Self::Implement => "implement",
            Self::Review => "review",
        }
    }
}

impl fmt::Display for EgressPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one layer says about one phase. Default deny; deny wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rules {
    pub layer: LayerKind,
    pub allow: BTreeSet<Rule>,
    pub deny: BTreeSet<Rule>,
}

impl Rules {
    /// Rules that allow nothing.
    pub const fn closed(layer: LayerKind) -> Self {
        Self { layer, allow: BTreeSet::new(), deny: BTreeSet::new() }
    }

    fn judge(&self, request: &Outgoing) -> Result<(), Denial> {
        if let Some(rule) = self.deny.iter().find(|rule| rule.matches(request)) {
            return Err(Denial::Forbidden { layer: self.layer, rule: rule.clone() });
        }
        if self.allow.iter().any(|rule| rule.matches(request)) {
            return Ok(());
        }
        Err(Denial::NoRule { layer: self.layer })
    }
}

/// What all layers together allow, per phase. A phase that nobody speaks of is closed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Egress(BTreeMap<EgressPhase, BTreeSet<Rules>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Denied(Denial),
}

/// Why a request does not leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("no policy allows anything in this phase")]
    Closed,
    #[error("no rule of the {layer} allows it")]
    NoRule { layer: LayerKind },
    #[error("the {layer} denies `{rule}`")]
    Forbidden { layer: LayerKind, rule: Rule },
}

impl Egress {
    /// The egress of a single layer.
    pub fn of(phases: BTreeMap<EgressPhase, Rules>) -> Self {
        Self(phases.into_iter().map(|(phase, rules)| (phase, BTreeSet::from([rules]))).collect())
    }

    pub fn judge(&self, phase: EgressPhase, request: &Outgoing) -> Verdict {
        let layers = self.layers(phase);
        let mut judged = layers.map(|rules| rules.judge(request)).peekable();
        if judged.peek().is_none() {
            return Verdict::Denied(Denial::Closed);
        }
        match judged.collect::<Result<(), Denial>>() {
            Ok(()) => Verdict::Allowed,
            Err(denial) => Verdict::Denied(denial),
        }
    }

    /// The rules of each layer for one phase, from the organisation down.
    pub fn layers(&self, phase: EgressPhase) -> impl Iterator<Item = &Rules> {
        self.0.get(&phase).into_iter().flatten()
    }

    /// This egress, with one layer's own rules in the phases that it speaks of.
    pub(super) fn with(&self, phases: &BTreeMap<EgressPhase, Rules>) -> Self {
        let said = Self::of(phases.clone());
        let inherited = self.0.clone().into_iter();
        Self(inherited.chain(said.0).collect())
    }

    /// What was given below organisation and platform, under what these two say now. A phase that was closed when it was given stays
    /// closed: nobody asked for it.
    #[must_use]
    pub fn under(&self, above: &Self) -> Self {
        let both = |(phase, now): (&EgressPhase, &BTreeSet<Rules>)| {
            let own = self.0.get(phase)?.iter().filter(|rules| rules.layer > LayerKind::Platform);
            Some((*phase, now.iter().chain(own).cloned().collect()))
        };
        Self(above.0.iter().filter_map(both).collect())
    }

    /// A phase that is closed in either stays closed.
    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        let both = |(phase, mine): (&EgressPhase, &BTreeSet<Rules>)| {
            let theirs = other.0.get(phase)?;
            Some((*phase, mine.union(theirs).cloned().collect()))
        };
        Self(self.0.iter().filter_map(both).collect())
    }
}
