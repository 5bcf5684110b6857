//! Each file, as a layer of the policy that holds for a run.
//!
//! See [`domain::policy`] for how layers fold into one.

use std::collections::{BTreeMap, BTreeSet};

use domain::policy::{
    Access, Budgets, CeilingsLayer, EgressPhase, GateLayer, Layer, LayerKind, Rule, Rules,
    TriggerKind, TriggersLayer,
};

use crate::{
    Count,
    agent::{AgentFile, EgressSection},
    policy::{BudgetSection, CeilingsSection, EgressPolicy, PolicyFile},
    server::ServerFile,
    units::{Cpu, Disk, Memory, Price, RunTime, Wait},
};

impl PolicyFile {
    /// What the organisation says.
    pub fn layer(&self) -> Layer {
        let approval = &self.approval;
        Layer {
            egress: egress(&self.egress, LayerKind::Organisation),
            ceilings: ceilings(&self.limits),
            tier: self.tier,
            gate: GateLayer {
                plan: approval.required,
                four_eyes: approval.four_eyes,
                approvers: approval.approvers.as_ref().map(|it| it.iter().cloned().collect()),
                timeout: approval.timeout.map(Wait::get),
            },
            autonomy: self.autonomy,
            triggers: self.triggers.as_ref().map_or_else(TriggersLayer::default, |triggers| {
                TriggersLayer {
                    kinds: Some(triggers.allow.iter().copied().collect()),
                    bots: Some(triggers.bots.iter().map(ToString::to_string).collect()),
                }
            }),
            new_packages: self.registries.new_packages,
            budgets: budgets(&self.budgets),
            ..Layer::silent(LayerKind::Organisation)
        }
    }
}

impl ServerFile {
    /// What the platform says.
    pub fn layer(&self) -> Layer {
        Layer {
            egress: egress(&self.egress, LayerKind::Platform),
            ceilings: ceilings(&self.limits),
            budgets: budgets(&self.budgets),
            ..Layer::silent(LayerKind::Platform)
        }
    }
}

impl AgentFile {
    /// What the repository says. An agent asks for what it needs: a phase that it
    /// does not name stays closed, whatever the organisation would allow.
    pub fn layer(&self) -> Layer {
        let compute = &self.sandbox.compute;
        let plan = &self.plan;
        Layer {
            egress: EgressPhase::ALL
                .into_iter()
                .map(|phase| {
                    let allow = asked(&self.egress, phase).iter().cloned().collect();
                    (phase, Rules { allow, ..Rules::closed(LayerKind::Repository) })
                })
                .collect(),
            ceilings: CeilingsLayer {
                cpu_millis: compute.cpu.map(Cpu::millis),
                memory_bytes: compute.memory.map(Memory::bytes),
                disk_bytes: compute.disk.map(Disk::bytes),
                processes: None,
                time: compute.timeout.map(RunTime::get),
                attempts: self.limits.attempts.map(Count::get),
                budget: self.limits.budget.map(Price::get),
            },
            tier: self.sandbox.tier,
            gate: GateLayer {
                plan: Some(plan.required),
                four_eyes: plan.four_eyes,
                approvers: plan.approvers.as_ref().map(|it| it.iter().cloned().collect()),
                timeout: Some(plan.timeout.get()),
            },
            autonomy: Some(self.autonomy),
            triggers: TriggersLayer { kinds: Some(self.listens_to()), bots: None },
            ..Layer::silent(LayerKind::Repository)
        }
    }
}

impl AgentFile {
    /// The triggers of the file, and the doors that people come in by themselves.
    fn listens_to(&self) -> BTreeSet<TriggerKind> {
        let is_named = |kind: &TriggerKind| {
            kind.is_door() || self.triggers.iter().any(|trigger| trigger.word() == kind.as_str())
        };
        TriggerKind::ALL.into_iter().filter(is_named).collect()
    }
}

fn asked(egress: &EgressSection, phase: EgressPhase) -> &[Rule] {
    match phase {
        EgressPhase::Setup => &egress.setup,
        EgressPhase::Research => &egress.research,
        EgressPhase::Implement => &egress.implement,
        EgressPhase::Review => &egress.review,
    }
}

fn egress(policy: &EgressPolicy, layer: LayerKind) -> BTreeMap<EgressPhase, Rules> {
    let of_phase = |phase| {
        let rules = policy.of(phase)?;
        let allow = rules.allow.iter().cloned().collect();
        let ports: BTreeSet<u16> =
            rules.allow.iter().flat_map(Rule::ports).chain([80, 443]).collect();
        let deny = rules.deny.iter().map(|rule| denied(rule, &ports)).collect();
        Some((phase, Rules { layer, allow, deny }))
    };
    EgressPhase::ALL.into_iter().filter_map(of_phase).collect()
}

/// A host that is denied by its name alone is denied however it is used, at every port that this layer opens. As something that is allowed
/// the same word means reading, and a deny that lets writing pass is not what anybody means.
fn denied(rule: &Rule, ports: &BTreeSet<u16>) -> Rule {
    match rule {
        Rule::Host { host, .. } if *rule == Rule::reading(host.clone()) => {
            Rule::Host { host: host.clone(), ports: ports.clone(), access: Access::Opaque }
        }
        Rule::Host { .. } | Rule::Bundle(_) => rule.clone(),
    }
}

fn budgets(sections: &[BudgetSection]) -> Budgets {
    sections.iter().map(|it| (it.scope, it.period, it.limit.get())).collect()
}

fn ceilings(section: &CeilingsSection) -> CeilingsLayer {
    CeilingsLayer {
        cpu_millis: section.cpu.map(Cpu::millis),
        memory_bytes: section.memory.map(Memory::bytes),
        disk_bytes: section.disk.map(Disk::bytes),
        processes: section.processes.map(Count::get),
        time: section.timeout.map(RunTime::get),
        attempts: section.attempts.map(Count::get),
        budget: section.budget.map(Price::get),
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::{Effective, EgressPhase, effective};

    use super::*;
    use crate::{Checked, check};

    fn agent(text: &str) -> AgentFile {
        let header = "lamp: { version: 1, name: a }\nagent: { driver: codex }\n\
            sandbox: { repositories: [{ name: web }], compute: { cpu: 8 } }\n";
        match check("agents/a.yaml", &format!("{header}{text}")).unwrap() {
            Checked::Agent(file) => *file,
            Checked::Server(_) | Checked::Policy(_) => panic!("an agent"),
        }
    }

    fn policy(text: &str) -> PolicyFile {
        match check("policy.yaml", text).unwrap() {
            Checked::Policy(file) => *file,
            Checked::Server(_) | Checked::Agent(_) => panic!("a policy"),
        }
    }

    #[test]
    fn what_an_agent_wants_beyond_the_policy_is_told() {
        let policy = policy(
            "{ version: 1, limits: { cpu: 4 }, triggers: { allow: [cli, cron] }, \
             egress: { implement: { allow: [github] } } }",
        );
        let agent = agent(
            "egress: { implement: [github, registry:npm], setup: [github] }\n\
             triggers: [{ on: slack.mention }]\nautonomy: 1\n",
        );
        let platform = ServerFile::default().layer();
        let Effective { widenings, policy } =
            effective(&policy.layer(), &[platform, agent.layer()]);
        let told: Vec<String> = widenings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        the repository asks for egress in setup, which nobody above has opened
        the repository asks for `registry:npm` in implement, which the organisation does not allow
        the repository asks for more cpu than it may have
        the repository listens to `slack.mention`, which is not allowed
        ");
        assert_eq!(policy.ceilings.cpu_millis, 4000);
    }

    #[test]
    fn a_host_that_is_denied_by_its_name_is_denied_however_it_is_used() {
        let policy = policy(
            "{ version: 1, egress: { implement: { allow: [{ host: '*.example.com', ports: [443, 8443], methods: [GET, POST] }], \
             deny: [bad.example.com, { host: odd.example.com, methods: [POST] }] } } }",
        );
        let layer = policy.layer();
        let told: Vec<String> =
            layer.egress[&EgressPhase::Implement].deny.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["bad.example.com:80,443,8443 opaque", "odd.example.com:443 POST /**"]);
    }

    #[test]
    fn without_a_policy_a_laptop_can_work() {
        let agent =
            agent("egress: { setup: [registry:npm], implement: [github, registry:crates] }");
        let organisation = PolicyFile::when_absent().layer();
        let below = [ServerFile::default().layer(), agent.layer()];
        let Effective { widenings, policy } = effective(&organisation, &below);
        assert_eq!(widenings, []);
        let layers =
            |phase| policy.egress.layers(phase).map(|rules| rules.allow.len()).collect::<Vec<_>>();
        assert_eq!(layers(EgressPhase::Implement), [7, 2]);
        assert_eq!(layers(EgressPhase::Research), [1, 0]);
    }
}
