//! One owner's file, and how layers fold into one policy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use crate::{agent::Tier, approval::FourEyes};

use super::{
    Approver, Approvers, Autonomy, Budgets, Ceilings, CeilingsLayer, Egress, EgressPhase, Gate,
    NewPackages, PlanGate, Policy, Rules, Triggers, TriggersLayer, Widening, narrow,
    widening::widenings,
};

/// Who speaks. The order is the order of authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// The security team's `policy.yaml`.
    Organisation,
    /// The platform team's `lamp.yaml`.
    Platform,
    /// A repository's `agents/*.yaml`.
    Repository,
    /// The conditions of one approval.
    Approval,
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Organisation => "organisation",
            Self::Platform => "platform",
            Self::Repository => "repository",
            Self::Approval => "approval",
        })
    }
}

/// What one owner says. `None`, or a phase that is missing, is silence: the
/// parent's word stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    pub egress: BTreeMap<EgressPhase, Rules>,
    pub ceilings: CeilingsLayer,
    pub tier: Option<Tier>,
    pub gate: GateLayer,
    pub autonomy: Option<Autonomy>,
    pub triggers: TriggersLayer,
    pub new_packages: Option<NewPackages>,
    pub budgets: Budgets,
}

/// What one owner says about the gate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateLayer {
    pub plan: Option<PlanGate>,
    pub four_eyes: Option<FourEyes>,
    pub approvers: Option<BTreeSet<Approver>>,
    pub timeout: Option<Duration>,
}

/// The policy of a run, and the wishes that it does not grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub policy: Policy,
    pub widenings: Vec<Widening>,
}

/// Folds layers, from the organisation down, into the policy that holds.
///
/// The organisation is the root: it is held only to what the product offers at
/// most. Every later layer is held to all before it.
pub fn effective(organisation: &Layer, below: &[Layer]) -> Effective {
    let root = organisation.as_root();
    let start = Effective { policy: root, widenings: Vec::new() };
    below.iter().fold(start, |Effective { policy, mut widenings }, layer| {
        widenings.extend(self::widenings(&policy, layer));
        Effective { policy: narrow(&policy, &layer.over(&policy)), widenings }
    })
}

impl Layer {
    pub fn silent(kind: LayerKind) -> Self {
        Self {
            kind,
            egress: BTreeMap::new(),
            ceilings: CeilingsLayer::default(),
            tier: None,
            gate: GateLayer::default(),
            autonomy: None,
            triggers: TriggersLayer::default(),
            new_packages: None,
            budgets: Budgets::default(),
        }
    }

    /// The layer as the first word: where it is silent, the product's bounds
    /// hold, and the network stays closed.
    fn as_root(&self) -> Policy {
        let product = Policy {
            egress: Egress::default(),
            ceilings: Ceilings::WIDEST,
            tier: Tier::Verified,
            gate: Gate {
                plan: PlanGate::Optional,
                four_eyes: FourEyes::NotRequired,
                approvers: Approvers::anyone(),
                timeout: Duration::MAX,
            },
            autonomy: Autonomy::ChecksMerge,
            triggers: Triggers::people_everywhere(),
            new_packages: NewPackages::Allowed,
            budgets: Budgets::default(),
        };
        let said = self.over(&product);
        let egress = Egress::of(self.egress.clone());
        let triggers = self.triggers.over(&product.triggers);
        Policy { egress, triggers, ..narrow(&product, &said) }
    }

    /// The layer with the parent's word wherever it is silent.
    pub(super) fn over(&self, parent: &Policy) -> Policy {
        let gate = &self.gate;
        Policy {
            egress: parent.egress.with(&self.egress),
            ceilings: self.ceilings.over(&parent.ceilings),
            tier: self.tier.unwrap_or(parent.tier),
            gate: Gate {
                plan: gate.plan.unwrap_or(parent.gate.plan),
                four_eyes: gate.four_eyes.unwrap_or(parent.gate.four_eyes),
                approvers: gate
                    .approvers
                    .clone()
                    .map_or_else(|| parent.gate.approvers.clone(), Approvers::one_of),
                timeout: gate.timeout.unwrap_or(parent.gate.timeout),
            },
            autonomy: self.autonomy.unwrap_or(parent.autonomy),
            triggers: self.triggers.over(&parent.triggers),
            new_packages: self.new_packages.unwrap_or(parent.new_packages),
            budgets: self.budgets.clone(),
        }
    }
}
