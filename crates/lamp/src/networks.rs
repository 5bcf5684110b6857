//! What sandboxes of this server may reach: the organisation's policy, what the platform adds to it, and what somebody asks for.
//!
//! A person's sandbox reaches what they ask for, if the policy allows it in the phase that they name. What it does not allow is
//! refused before anything is made, with the rule that would be needed: a sandbox whose network is quietly smaller than
//! asked for would only fail later.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use config::{policy::PolicyFile, server::ServerFile};
use contracts::{
    egress::{Internal, Network},
    sandbox::Owner,
};
use domain::{
    id::SandboxId,
    policy::{self, EgressPhase, Layer, LayerKind, Rules},
};
use egress::broker::{
    Broker, BrokerError,
    learn::{Need, Proposed},
};
use gateway::NetworkResolver;
use wire::{
    egress::{ExplainEgress, ExplainedEgress, LearnedEgress, LearnedRule},
    error::{Code, Problem},
    sandbox::{EgressPhase as Phase, NetworkWish},
};

use crate::{
    commands::policy::explain,
    way_out::{self, Certificates},
};

/// The layers above what anybody asks for.
#[derive(Debug, Clone)]
pub(crate) struct Networks {
    organisation: Layer,
    platform: Layer,
    internal: BTreeMap<String, Internal>,
    broker: Option<Arc<Broker>>,
}

impl Networks {
    /// As the two files have it. Certificates stand beside the policy.
    pub(crate) fn of(
        policy: &PolicyFile,
        server: &ServerFile,
        beside: &Path,
        broker: impl Into<Option<Arc<Broker>>>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            organisation: policy.layer(),
            platform: server.layer(),
            internal: way_out::internal(policy, Certificates::Beside(beside))?,
            broker: broker.into(),
        })
    }

    fn broker(&self) -> Result<&Broker, Problem> {
        let none = || Problem::new(Code::Unsupported, "this server has no gateway");
        self.broker.as_deref().ok_or_else(none)
    }

    fn of_layers(&self, owner: &Owner, phase: EgressPhase, asked: Option<Layer>) -> Granted {
        let mut below = vec![self.platform.clone()];
        below.extend(asked);
        let policy::Effective { policy, widenings } = policy::effective(&self.organisation, &below);
        let network = Network {
            phase,
            egress: policy.egress,
            internal: self.internal.clone(),
            ..Network::closed(owner.clone())
        };
        let asked_too_much = widenings.iter().filter(|one| one.layer == LayerKind::Repository);
        Granted { network, refused: asked_too_much.map(ToString::to_string).collect() }
    }
}

struct Granted {
    network: Network,
    refused: Vec<String>,
}

impl NetworkResolver for Networks {
    fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, Problem> {
        let phase = wish.phase.map_or(EgressPhase::Implement, phase);
        let bad = |what: String| Problem::new(Code::BadRequest, what);
        let rules = wish.allow.iter().map(|text| {
            config::rules::rule(text).map_err(|invalid| {
                let first = invalid.problems.first();
                let (what, help) =
                    first.map_or(("", ""), |problem| (&*problem.what, &*problem.help));
                bad(format!("`{text}` is not a rule: {what}")).with_help(help)
            })
        });
        let allow = rules.collect::<Result<_, Problem>>()?;
        let asked = Rules { allow, ..Rules::closed(LayerKind::Repository) };
        let layer = Layer {
            egress: BTreeMap::from([(phase, asked)]),
            ..Layer::silent(LayerKind::Repository)
        };
        let Granted { mut network, refused } = self.of_layers(owner, phase, Some(layer));
        if let Some(first) = refused.first() {
            let help = format!(
                "add it to `egress: {{ {phase}: {{ allow: […] }} }}` of the server's policy.yaml, or ask for less"
            );
            return Err(Problem::new(Code::Forbidden, first.clone()).with_help(&help));
        }
        let names = wish.secrets.iter().map(|name| {
            name.parse().map_err(|error: contracts::secret::SecretNameError| bad(error.to_string()))
        });
        network.secrets = names.collect::<Result<_, Problem>>()?;
        Ok(network)
    }

    fn for_setup(&self, owner: &Owner) -> Option<Network> {
        Some(self.of_layers(owner, EgressPhase::Setup, None).network)
    }

    fn explain(
        &self,
        sandbox: SandboxId,
        wish: &ExplainEgress,
    ) -> Result<ExplainedEgress, Problem> {
        let explained = self.broker()?.explain(sandbox, &wish.method, &wish.url);
        Ok(explain::shape(&explained.map_err(|error| refused(&error))?))
    }

    fn learned(&self, sandbox: SandboxId) -> Result<LearnedEgress, Problem> {
        let proposal = self.broker()?.learn(sandbox).map_err(|error| refused(&error))?;
        let rule = |it: &Proposed| LearnedRule {
            rule: it.line.clone(),
            times: it.times,
            allowed: it.need == Need::Used,
        };
        Ok(LearnedEgress {
            phase: proposal.phase.to_string(),
            rules: proposal.rules.iter().map(rule).collect(),
            forgotten: proposal.forgotten,
            yaml: proposal.to_yaml(),
        })
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
    use super::*;

    fn ann() -> Owner {
        Owner::Person("ann".to_owned())
    }

    fn usual() -> Networks {
        let policy = PolicyFile::when_absent();
        Networks::of(&policy, &ServerFile::default(), Path::new(""), None).unwrap()
    }

    fn wish(allow: &[&str]) -> NetworkWish {
        NetworkWish {
            allow: allow.iter().map(|&rule| rule.to_owned()).collect(),
            ..NetworkWish::default()
        }
    }

    #[test]
    fn what_the_policy_allows_is_granted_and_no_more_than_was_asked_for() {
        let network = usual().network(&wish(&["registry:npm"]), &ann()).unwrap();
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
            let refused = usual().network(&wish(allow), &ann()).unwrap_err();
            format!("{}\n{}", refused.message, refused.help.unwrap_or_default())
        };
        assert_eq!(
            told(&["github", "evil.example.com"]),
            "the repository asks for `evil.example.com:443 GET|HEAD|OPTIONS /**` in implement, which the organisation does not allow\n\
             add it to `egress: { implement: { allow: […] } }` of the server's policy.yaml, or ask for less"
        );
        assert!(told(&["*"]).starts_with("`*` is not a rule: "), "{}", told(&["*"]));
    }
}
