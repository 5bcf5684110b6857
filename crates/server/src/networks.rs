//! What sandboxes of this server may reach: the organisation's policy, what the platform adds to it, and what somebody asks for.
//!
//! A person's sandbox reaches what they ask for, if the policy allows it in the phase that they name. What it does not allow is
//! refused before anything is made, with the rule that would be needed: a sandbox whose network is quietly smaller than
//! asked for would only fail later.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use contracts::{
    egress::{
        Exchange, Explanation, Internal, Learned, LogWish, Network, NetworkError, NetworkWish,
        Reloaded,
    },
    sandbox::Owner,
};
use domain::{
    id::SandboxId,
    policy::{self, EgressPhase, Layer, LayerKind, Rules},
};
use egress::broker::{Broker, BrokerError, learn::Proposal};
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::{
    egress_log,
    kept::Said,
    outward::OWNER,
    reload::Reloader,
    way_out::{self, Certificates},
};

/// How long package managers may take to say where their registries are.
const PATIENCE: Duration = Duration::from_secs(30);

/// The layers above what anybody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layers {
    pub(crate) organisation: Layer,
    pub(crate) platform: Layer,
    /// Private hosts, by the names that rules use.
    pub(crate) internal: BTreeMap<String, Internal>,
}

impl Layers {
    /// As the two files have it. Certificates stand beside the policy.
    pub(crate) fn of(said: &Said) -> anyhow::Result<Self> {
        Ok(Self {
            organisation: said.policy.layer(),
            platform: said.server.layer(),
            internal: way_out::internal(&said.policy, Certificates::Beside(&said.beside))?,
        })
    }

    /// What the two say together.
    pub(crate) fn policy(&self) -> policy::Policy {
        policy::effective(&self.organisation, std::slice::from_ref(&self.platform)).policy
    }

    fn grant(&self, owner: &Owner, phase: EgressPhase, asked: Option<Layer>) -> Granted {
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
        // Whoever asks here is a person, for one sandbox.
        let refused = asked_too_much.map(|one| format!("the sandbox {}", one.what));
        Granted { network, refused: refused.collect() }
    }
}

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

struct Granted {
    network: Network,
    refused: Vec<String>,
}

impl Layers {
    /// What is asked for, if all of it is allowed.
    pub(crate) fn network(
        &self,
        wish: &NetworkWish,
        owner: &Owner,
    ) -> Result<Network, NetworkError> {
        let rules = wish.allow.iter().map(|text| {
            config::rules::rule(text).map_err(|invalid| {
                let first = invalid.problems.into_iter().next();
                let (what, help) =
                    first.map(|problem| (problem.what, problem.help)).unwrap_or_default();
                NetworkError::NotARule { text: text.clone(), what, help }
            })
        });
        let allow = rules.collect::<Result<_, NetworkError>>()?;
        let asked = Rules { allow, ..Rules::closed(LayerKind::Repository) };
        let layer = Layer {
            egress: BTreeMap::from([(wish.phase, asked)]),
            ..Layer::silent(LayerKind::Repository)
        };
        let Granted { network, refused } = self.grant(owner, wish.phase, Some(layer));
        if let Some(what) = refused.into_iter().next() {
            let (phase, asked) = (wish.phase, wish.allow.clone());
            return Err(NetworkError::NotAllowed { what, phase, asked });
        }
        Ok(Network { secrets: wish.secrets.clone(), agent: wish.agent.clone(), ..network })
    }
}

impl Networks {
    /// Comes back when it is known what rules mean. One that never answers keeps nobody waiting for ever; what it would have said is then
    /// refused, with the reason.
    pub(crate) async fn settled(&self) {
        let mut registries = self.registries.clone();
        drop(tokio::time::timeout(PATIENCE, registries.wait_for(|told| *told)).await);
    }

    /// What the setup of an image may reach: all that the policy allows a setup.
    pub(crate) fn for_setup(&self, owner: &Owner) -> Option<Network> {
        Some(self.reloader.layers().grant(owner, EgressPhase::Setup, None).network)
    }
}

impl gateway::Networks for Networks {
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.settled())
    }

    fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, NetworkError> {
        self.reloader.layers().network(wish, owner)
    }

    fn for_setup(&self, owner: &Owner) -> Option<Network> {
        self.for_setup(owner)
    }

    fn explain(
        &self,
        sandbox: SandboxId,
        method: &str,
        url: &str,
    ) -> Result<Explanation, NetworkError> {
        self.broker.explain(sandbox, method, url).map_err(|error| refused(&error))
    }

    fn learned(&self, sandbox: SandboxId) -> Result<Learned, NetworkError> {
        let proposal = self.broker.learn(sandbox).map_err(|error| refused(&error))?;
        let yaml = proposal.to_yaml();
        let Proposal { phase, rules, forgotten } = proposal;
        Ok(Learned { phase, rules, forgotten, yaml })
    }

    fn log(
        &self,
        sandbox: SandboxId,
        wish: LogWish,
    ) -> BoxFuture<'_, Result<Vec<Exchange>, NetworkError>> {
        let log = self.log.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || egress_log::read(&log, sandbox, wish));
            let broken = |reason: String| NetworkError::Broken { reason };
            let read = read.await.map_err(|error| broken(error.to_string()))?;
            read.map_err(|error| broken(error.to_string()))
        })
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, NetworkError>> {
        Box::pin(self.reloader.reload(OWNER))
    }
}

fn refused(error: &BrokerError) -> NetworkError {
    match error {
        BrokerError::NotJoined(sandbox) => NetworkError::NotJoined(*sandbox),
        BrokerError::Url(_) => NetworkError::Address { reason: error.to_string() },
        BrokerError::Directory(_) | BrokerError::Spent(_) | BrokerError::Kept(_) => {
            NetworkError::Broken { reason: error.to_string() }
        }
    }
}

#[cfg(test)]
mod tests {
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
            secrets: Vec::new(),
            agent: None,
            phase: EgressPhase::Implement,
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
    fn what_it_does_not_allow_is_refused_with_what_was_asked_for() {
        let told = |allow: &[&str]| usual().network(&wish(allow), &ann()).unwrap_err().to_string();
        assert_eq!(
            told(&["github", "evil.example.com"]),
            "the sandbox asks for `evil.example.com:443 GET|HEAD|OPTIONS /**` in implement, which the organisation does not allow"
        );
        assert!(told(&["*"]).starts_with("`*` is not a rule: "), "{}", told(&["*"]));
    }
}
