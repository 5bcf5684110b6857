//! `policy.yaml`: what the organisation allows at all, written by the security team.
//!
//! No other file can go beyond it. Where it is silent about the network, the
//! network is closed; where it is silent about anything else, the product's own
//! bounds hold.

mod internal;
mod section;

pub(crate) use internal::is_nobodys;
pub use internal::{Address, AddressError, InternalHost, PublicKey, PublicKeyError, TrustedAgent};
pub use section::{
    ApprovalSection, BudgetSection, CeilingsSection, EgressPolicy, PhaseRules, RegistriesSection,
    TriggersSection,
};

use domain::{
    agent::Tier,
    policy::{Autonomy, Bundle, Ecosystem, Rule},
};

use crate::{
    names::Text,
    problem::{Problems, quoted},
    shape::record,
    unique::report_repeated,
    version::Version,
    yaml::Node,
};

record! {
    /// What the organisation allows at all. Every other file can only narrow it.
    pub struct PolicyFile {
        /// The version of this format.
        version: Version,
        /// Whose policy this is, for people.
        organisation: Option<Text> = None,
        /// What may be reached over the network, per phase. A phase that is left out is closed.
        egress: EgressPolicy = EgressPolicy::default(),
        /// Private hosts that rules may name as `internal:NAME`. There is no other way to a private address.
        internal: Vec<InternalHost> = vec![],
        /// The weakest walls that a sandbox may have.
        tier: Option<Tier> = None,
        /// The most that one run may use.
        limits: CeilingsSection = CeilingsSection::default(),
        /// Money per scope and period.
        budgets: Vec<BudgetSection> = vec![],
        /// The gate.
        approval: ApprovalSection = ApprovalSection::default(),
        /// The most that may happen without a person: 1, 2 or 3.
        autonomy: Option<Autonomy> = None,
        /// What may start a task.
        triggers: Option<TriggersSection> = None,
        /// Package registries. They are for reading only, whatever is written here.
        registries: RegistriesSection = RegistriesSection::default(),
        /// Agents whose signature is trusted: they may run in the tier `verified`.
        trusted_agents: Vec<TrustedAgent> = vec![],
    }
    look = look;
}

fn look(node: &Node, problems: &mut Problems) {
    report_repeated(node.get("internal"), "name", problems);
    report_repeated(node.get("trusted_agents"), "name", problems);
    let declared = node.get("internal").map_or(&[][..], Node::items).iter();
    let names: Vec<&str> =
        declared.filter_map(|host| host.get("name").and_then(Node::text)).collect();
    let phases = node.get("egress").map_or(&[][..], Node::entries).iter();
    let lists = phases.flat_map(|phase| phase.value.entries());
    for rule in lists.flat_map(|list| list.value.items()) {
        report_undeclared(rule, &names, problems);
    }
}

/// An internal host that nobody has declared would be a rule that does nothing.
fn report_undeclared(rule: &Node, names: &[&str], problems: &mut Problems) {
    let Some(name) = rule.text().and_then(|text| text.strip_prefix("internal:")) else { return };
    if !name.is_empty() && !names.contains(&name) {
        let what = format!("the internal host {} is not declared", quoted(name));
        problems.report(rule.place, what, "add it under `internal:`, with its addresses");
    }
}

impl PolicyFile {
    /// What holds where nobody has written a policy, so that a laptop can work:
    /// GitHub and the package registries, and nothing else.
    pub fn when_absent() -> Self {
        let github = || vec![Rule::Bundle(Bundle::Github)];
        let registries = Ecosystem::ALL.into_iter().map(Bundle::Registry).map(Rule::Bundle);
        let building: Vec<Rule> = github().into_iter().chain(registries).collect();
        let allowing = |allow: Vec<Rule>| Some(PhaseRules { allow, deny: Vec::new() });
        Self {
            version: Version::One,
            organisation: None,
            egress: EgressPolicy {
                setup: allowing(building.clone()),
                research: allowing(github()),
                implement: allowing(building),
                review: allowing(github()),
            },
            internal: Vec::new(),
            tier: None,
            limits: CeilingsSection::default(),
            budgets: Vec::new(),
            approval: ApprovalSection::default(),
            autonomy: None,
            triggers: None,
            registries: RegistriesSection::default(),
            trusted_agents: Vec::new(),
        }
    }
}
