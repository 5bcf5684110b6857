//! One owner's file.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::agent::Tier;

use super::{
    Approver, Approvers, Autonomy, Budgets, Ceilings, CeilingsLayer, Egress, EgressPhase, FourEyes,
    Gate, LayerKind, NewPackages, PlanGate, Policy, Rules, Triggers, TriggersLayer, narrow,
};

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
    pub(super) fn as_root(&self) -> Policy {
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
