//! Wishes that go further than the layer above allows.
//!
//! They have no effect; but silence about them would leave someone wondering why
//! their rule does nothing, so each is told.

use std::fmt;

use crate::agent::Tier;

use super::{
    Autonomy, EgressPhase, FourEyes, Layer, LayerKind, LimitKind, NewPackages, PlanGate, Policy,
    Rule, Rules, TriggerKind,
};

/// One wish that has no effect beyond what the parent allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// Who wished.
    pub layer: LayerKind,
    pub what: Wish,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// The rule is not covered by the rules of `by`, or is denied there.
    Reach {
        phase: EgressPhase,
        rule: Rule,
        by: LayerKind,
    },
    /// Nothing above opens this phase at all.
    OpenPhase {
        phase: EgressPhase,
    },
    RaiseLimit(LimitKind),
    LightenTier {
        wished: Tier,
        least: Tier,
    },
    SkipPlan,
    SkipFourEyes,
    WaitLonger,
    MoreAutonomy {
        wished: Autonomy,
        most: Autonomy,
    },
    ListenTo(TriggerKind),
    AdmitBot(String),
    EasePackages {
        wished: NewPackages,
        least: NewPackages,
    },
}

/// What `layer` wishes beyond `parent`.
pub(super) fn widenings(parent: &Policy, layer: &Layer) -> Vec<Widening> {
    let mut wishes = reaches(parent, layer);
    wishes.extend(layer.ceilings.beyond(&parent.ceilings).into_iter().map(Wish::RaiseLimit));
    wishes.extend(gate(parent, layer));
    wishes.extend(choices(parent, layer));
    wishes.into_iter().map(|what| Widening { layer: layer.kind, what }).collect()
}

fn reaches(parent: &Policy, layer: &Layer) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for (phase, rules) in &layer.egress {
        if !rules.allow.is_empty() && parent.egress.layers(*phase).next().is_none() {
            wishes.push(Wish::OpenPhase { phase: *phase });
            continue;
        }
        for rule in &rules.allow {
            let refuses = |above: &&Rules| !above.covers(rule);
            if let Some(above) = parent.egress.layers(*phase).find(refuses) {
                wishes.push(Wish::Reach { phase: *phase, rule: rule.clone(), by: above.layer });
            }
        }
    }
    wishes
}

fn gate(parent: &Policy, layer: &Layer) -> Vec<Wish> {
    let gate = &layer.gate;
    let above = &parent.gate;
    let mut wishes = Vec::new();
    if gate.plan == Some(PlanGate::Optional) && above.plan == PlanGate::Required {
        wishes.push(Wish::SkipPlan);
    }
    if gate.four_eyes == Some(FourEyes::NotRequired) && above.four_eyes == FourEyes::Required {
        wishes.push(Wish::SkipFourEyes);
    }
    if gate.timeout.is_some_and(|timeout| timeout > above.timeout) {
        wishes.push(Wish::WaitLonger);
    }
    wishes
}

fn choices(parent: &Policy, layer: &Layer) -> Vec<Wish> {
    let mut wishes = Vec::new();
    if let Some(wished) = layer.tier.filter(|tier| *tier < parent.tier) {
        wishes.push(Wish::LightenTier { wished, least: parent.tier });
    }
    if let Some(wished) = layer.autonomy.filter(|autonomy| *autonomy > parent.autonomy) {
        wishes.push(Wish::MoreAutonomy { wished, most: parent.autonomy });
    }
    if let Some(wished) = layer.new_packages.filter(|packages| *packages < parent.new_packages) {
        wishes.push(Wish::EasePackages { wished, least: parent.new_packages });
    }
    let triggers = layer.triggers.over(&parent.triggers);
    let kinds = triggers.kinds.difference(&parent.triggers.kinds).copied();
    wishes.extend(kinds.filter(|kind| !kind.is_door()).map(Wish::ListenTo));
    let bots = triggers.bots.difference(&parent.triggers.bots).cloned();
    wishes.extend(bots.map(Wish::AdmitBot));
    wishes
}

impl Rules {
    /// Whether all that `rule` allows is allowed here too.
    ///
    /// A rule about hosts is taken apart, because two rules above may cover it
    /// together. A host inside a bundle is not seen through: name the bundle.
    fn covers(&self, rule: &Rule) -> bool {
        let allowed = |single| self.allow.iter().any(|above| above.covers_single(single));
        let denied = |single| self.deny.iter().any(|above| above.covers_single(single));
        rule.singles().iter().all(|single| allowed(single) && !denied(single))
    }
}

impl fmt::Display for Widening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {}", self.layer, self.what)
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reach { phase, rule, by } => {
                write!(f, "asks for `{rule}` in {phase}, which the {by} does not allow")
            }
            Self::OpenPhase { phase } => {
                write!(f, "asks for egress in {phase}, which nobody above has opened")
            }
            Self::RaiseLimit(kind) => write!(f, "asks for more {kind} than it may have"),
            Self::LightenTier { wished, least } => {
                write!(f, "asks for tier `{wished}`, but `{least}` is the least")
            }
            Self::SkipPlan => f.write_str("makes the plan optional, but it is required"),
            Self::SkipFourEyes => f.write_str("waives four eyes, but they are required"),
            Self::WaitLonger => f.write_str("waits longer for an approval than it may"),
            Self::MoreAutonomy { wished, most } => {
                write!(f, "asks for autonomy {wished}, but {most} is the most")
            }
            Self::ListenTo(kind) => write!(f, "listens to `{kind}`, which is not allowed"),
            Self::AdmitBot(bot) => write!(f, "admits the bot `{bot}`, which is not named above"),
            Self::EasePackages { wished, least } => {
                write!(f, "sets new packages to `{wished}`, but `{least}` is the least")
            }
        }
    }
}
