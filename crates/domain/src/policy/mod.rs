//! What a run may do, and who may say so.
//!
//! Three owners write down what they allow, and an approval may add conditions.
//! Each layer can only narrow what the one above it left open:
//!
//! ```text
//!  organisation ──▶ platform ──▶ repository ──▶ approval
//!  policy.yaml      lamp.yaml    agents/*.yaml  conditions at the gate
//!      │                │             │             │
//!      └─── root ───────┴── narrow ───┴── narrow ───┘ ──▶ one Policy for the run
//! ```
//!
//! A [`Layer`] may be silent about a thing; a [`Policy`] never is. [`effective`]
//! folds layers into a policy and tells which of their wishes went further than
//! their parent, and therefore have no effect.
//!
//! **Invariants:** what `narrow(a, b)` allows, `a` allows and `b` allows. What no
//! rule allows is denied. A deny wins over every allow, of any layer.

mod budget;
mod bundle;
mod ceilings;
mod effective;
mod egress;
mod gate;
mod host;
mod layer;
mod layer_kind;
mod path;
mod rule;
mod strictness;
mod trigger;
mod widening;

#[cfg(test)]
mod policy_tests;

pub use budget::{BudgetPeriod, BudgetScope, Budgets};
pub use bundle::{Bundle, BundleError, CloudProvider, Ecosystem, ModelProvider};
pub use ceilings::{Ceilings, CeilingsLayer, LimitKind};
pub use effective::{Effective, effective};
pub use egress::{Denial, Egress, EgressPhase, Rules, Verdict};
pub use gate::{Approver, ApproverError, Approvers, Candidate, FourEyes, Gate, PlanGate};
pub use host::{HostError, HostName, HostPattern};
pub use layer::{GateLayer, Layer};
pub use layer_kind::LayerKind;
pub use path::{PathError, PathPattern, RequestPath};
pub use rule::{Access, Method, Outgoing, Reach, Rule};
pub use strictness::{Autonomy, NewPackages};
pub use trigger::{TriggerKind, Triggers, TriggersLayer};
pub use widening::{Widening, Wish};

use crate::agent::Tier;

/// Everything that a run is held to, with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub egress: Egress,
    pub ceilings: Ceilings,
    /// The weakest isolation that a sandbox may have.
    pub tier: Tier,
    pub gate: Gate,
    /// The most that may happen without a person.
    pub autonomy: Autonomy,
    pub triggers: Triggers,
    pub new_packages: NewPackages,
    pub budgets: Budgets,
}

/// What both policies allow, and nothing else.
///
/// The order of the two does not matter, nor does saying the same thing twice.
pub fn narrow(parent: &Policy, child: &Policy) -> Policy {
    Policy {
        egress: parent.egress.narrow(&child.egress),
        ceilings: parent.ceilings.narrow(&child.ceilings),
        tier: parent.tier.max(child.tier),
        gate: parent.gate.narrow(&child.gate),
        autonomy: parent.autonomy.min(child.autonomy),
        triggers: parent.triggers.narrow(&child.triggers),
        new_packages: parent.new_packages.max(child.new_packages),
        budgets: parent.budgets.narrow(&child.budgets),
    }
}
