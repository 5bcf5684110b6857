//! What sandboxes of this server may reach: the organisation's policy, what the platform adds to it, and what somebody asks for.
//!
//! A person's sandbox reaches what they ask for, if the policy allows it in the phase that they name. What it does not allow is
//! refused before anything is made, with the rule that would be needed: a sandbox whose network is quietly smaller than
//! asked for would only fail later.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use contracts::{egress::Network, sandbox::Owner};
use domain::{
    agent::AgentNameError,
    id::SandboxId,
    policy::{EgressPhase, Layer, LayerKind, Rules},
};
use egress::broker::{
    Broker, BrokerError,
    learn::{Need, Proposed},
};
use futures::future::BoxFuture;
use gateway::NetworkResolver;
use provision::{
    OWNER,
    layers::{Granted, Layers},
};
use tokio::sync::watch;
use wire::{
    egress::{
        EgressLog, EgressLogQuery, ExplainEgress, ExplainedEgress, LearnedEgress, LearnedRule,
        ReloadedPolicy,
    },
    error::{Code, Problem},
    sandbox::{EgressPhase as Phase, NetworkWish},
};

use crate::{egress_log, explain, reload::Reloader};

/// How long package managers may take to say where their registries are.
const PATIENCE: Duration = Duration::from_secs(30);

/// Grants networks, by the layers that hold now.
#[derive(Debug)]
pub(crate) struct Networks {
    pub(crate) reloader: Arc<Reloader>,
    pub(crate) broker: Arc<Broker>,
    /// Where exchanges are written down.
    pub(crate) log: PathBuf,
    /// True once the package managers have said where their registries are.
    pub(crate) registries: watch::Receiver<bool>,
}

/// What is asked for, if all of it is allowed.
fn network(layers: &Layers, wish: &NetworkWish, owner: &Owner) -> Result<Network, Problem> {
    let phase = wish.phase.map_or(EgressPhase::Implement, phase);
    let bad = |what: String| Problem::new(Code::BadRequest, what);
    let rules = wish.allow.iter().map(|text| {
        config::rules::rule(text).map_err(|invalid| {
            let first = invalid.problems.first();
            let (what, help) = first.map_or(("", ""), |problem| (&*problem.what, &*problem.help));
            bad(format!("`{text}` is not a rule: {what}")).with_help(help)
        })
    });
    let allow = rules.collect::<Result<_, Problem>>()?;
    let asked = Rules { allow, ..Rules::closed(LayerKind::Repository) };
    let layer =
        Layer { egress: BTreeMap::from([(phase, asked)]), ..Layer::silent(LayerKind::Repository) };
    let Granted { mut network, refused } = layers.grant(owner, phase, Some(layer));
    if let Some(first) = refused.first() {
        let rules = wish.allow.iter().map(|rule| format!("'{rule}'")).collect::<Vec<_>>();
        let help = format!(
            "the server's policy.yaml has to say `egress: {{ {phase}: {{ allow: [{}] }} }}`; or ask for less",
            rules.join(", ")
        );
        return Err(Problem::new(Code::Forbidden, first.clone()).with_help(&help));
    }
    let names = wish.secrets.iter().map(|name| {
        name.parse().map_err(|error: contracts::secret::SecretNameError| bad(error.to_string()))
    });
    network.secrets = names.collect::<Result<_, Problem>>()?;
    let agent = wish.agent.as_ref().map(|agent| agent.parse()).transpose();
    network.agent = agent.map_err(|error: AgentNameError| bad(error.to_string()))?;
    Ok(network)
}

impl NetworkResolver for Networks {
    fn settled(&self) -> BoxFuture<'_, ()> {
        let mut registries = self.registries.clone();
        Box::pin(async move {
            // One that never answers keeps nobody waiting for ever; what it would have said is then refused, with the reason.
            drop(tokio::time::timeout(PATIENCE, registries.wait_for(|told| *told)).await);
        })
    }

    fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, Problem> {
        network(&self.reloader.layers(), wish, owner)
    }

    fn for_setup(&self, owner: &Owner) -> Option<Network> {
        Some(self.reloader.layers().grant(owner, EgressPhase::Setup, None).network)
    }

    fn explain(
        &self,
        sandbox: SandboxId,
        wish: &ExplainEgress,
    ) -> Result<ExplainedEgress, Problem> {
        let explained = self.broker.explain(sandbox, &wish.method, &wish.url);
        Ok(explain::shape(&explained.map_err(|error| refused(&error))?))
    }

    fn learned(&self, sandbox: SandboxId) -> Result<LearnedEgress, Problem> {
        let proposal = self.broker.learn(sandbox).map_err(|error| refused(&error))?;
        let rule = |it: &Proposed| LearnedRule {
            rule: it.line.clone(),
            times: it.times,
            allowed: it.need == Need::Used,
            by: it.by.clone(),
        };
        Ok(LearnedEgress {
            phase: proposal.phase.to_string(),
            rules: proposal.rules.iter().map(rule).collect(),
            forgotten: proposal.forgotten,
            yaml: proposal.to_yaml(),
        })
    }

    fn log(
        &self,
        sandbox: SandboxId,
        query: EgressLogQuery,
    ) -> BoxFuture<'_, Result<EgressLog, Problem>> {
        let log = self.log.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || egress_log::read(&log, sandbox, query));
            let read =
                read.await.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
            read.map_err(|error| Problem::new(Code::Internal, error.to_string()))
        })
    }

    fn reload(&self) -> BoxFuture<'_, Result<ReloadedPolicy, Problem>> {
        Box::pin(self.reloader.reload(OWNER))
    }
}

fn refused(error: &BrokerError) -> Problem {
    match error {
        BrokerError::NotJoined(_) => Problem::new(Code::Unsupported, error.to_string())
            .with_help("give it a network with `--allow` when you make it"),
        BrokerError::Url(_) => Problem::new(Code::BadRequest, error.to_string()),
        BrokerError::Directory(_) | BrokerError::Spent(_) | BrokerError::Kept(_) => {
            Problem::new(Code::Internal, error.to_string())
        }
    }
}

const fn phase(phase: Phase) -> EgressPhase {
    match phase {
        Phase::Setup => EgressPhase::Setup,
        Phase::Research => EgressPhase::Research,
        Phase::Implement => EgressPhase::Implement,
        Phase::Review => EgressPhase::Review,
    }
}

#[cfg(test)]
mod tests {
    use provision::server_files::Said;

    use super::*;

    fn ann() -> Owner {
        Owner::Person("ann".to_owned())
    }

    fn usual() -> Layers {
        Layers::of(&Said::nothing()).unwrap()
    }

    fn wish(allow: &[&str]) -> NetworkWish {
        NetworkWish {
            allow: allow.iter().map(|&rule| rule.to_owned()).collect(),
            ..NetworkWish::default()
        }
    }

    #[test]
    fn what_the_policy_allows_is_granted_and_no_more_than_was_asked_for() {
        let network = network(&usual(), &wish(&["registry:npm"]), &ann()).unwrap();
        let allowed: Vec<String> = network
            .egress
            .layers(network.phase)
            .filter(|rules| rules.layer == LayerKind::Repository)
            .flat_map(|rules| rules.allow.iter().map(ToString::to_string))
            .collect();
        assert_eq!(allowed, ["registry:npm"]);
        assert_eq!(network.ports().into_iter().collect::<Vec<_>>(), [80, 443]);
    }

    #[test]
    fn what_it_does_not_allow_is_refused_with_what_would_be_needed() {
        let told = |allow: &[&str]| {
            let refused = network(&usual(), &wish(allow), &ann()).unwrap_err();
            format!("{}\n{}", refused.message, refused.help.unwrap_or_default())
        };
        assert_eq!(
            told(&["github", "evil.example.com"]),
            "the sandbox asks for `evil.example.com:443 GET|HEAD|OPTIONS /**` in implement, which the organisation does not allow\n\
             the server's policy.yaml has to say `egress: { implement: { allow: ['github', 'evil.example.com'] } }`; or ask for less"
        );
        assert!(told(&["*"]).starts_with("`*` is not a rule: "), "{}", told(&["*"]));
    }
}
