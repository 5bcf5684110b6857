//! What organisation and platform say about networks, and what that leaves of what somebody asks for.
//!
//! A person's sandbox reaches what they ask for, if the policy allows it in the phase that they name. What it does not allow is
//! refused before anything is made, with the rule that would be needed: a sandbox whose network is quietly smaller than
//! asked for would only fail later.

use std::collections::BTreeMap;

use contracts::{
    egress::{Internal, Network, NetworkError, NetworkWish},
    sandbox::Owner,
};
use domain::policy::{self, EgressPhase, Layer, LayerKind, Rules};

use crate::{
    files::FilesError,
    server_files::ServerFiles,
    way_out::{self, Certificates},
};

/// The layers above what anybody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    pub organisation: Layer,
    pub platform: Layer,
    /// Private hosts, by the names that rules use.
    pub internal: BTreeMap<String, Internal>,
}

impl Layers {
    /// As the two files have it. Certificates stand beside the policy.
    pub fn of(said: &ServerFiles) -> Result<Self, FilesError> {
        Ok(Self {
            organisation: said.policy.layer(),
            platform: said.server.layer(),
            internal: way_out::internal(&said.policy, Certificates::Beside(&said.beside))?,
        })
    }

    /// What the two say together.
    pub fn policy(&self) -> policy::Policy {
        policy::effective(&self.organisation, std::slice::from_ref(&self.platform)).policy
    }

    /// What is asked for, if all of it is allowed.
    pub fn network(&self, wish: &NetworkWish, owner: &Owner) -> Result<Network, NetworkError> {
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

    /// What the setup of an image may reach: all that the policy allows a setup.
    pub fn for_setup(&self, owner: &Owner) -> Network {
        self.grant(owner, EgressPhase::Setup, None).network
    }

    /// What a sandbox of `owner` gets in `phase`, and what of `asked` it does not.
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

/// A network, and what was asked for beyond it.
#[derive(Debug)]
struct Granted {
    network: Network,
    refused: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> Owner {
        Owner::Person("ann".to_owned())
    }

    fn usual() -> Layers {
        Layers::of(&ServerFiles::nothing()).unwrap()
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
