//! What organisation and platform say about networks, and what that leaves of what somebody asks for.

use std::collections::BTreeMap;

use contracts::{
    egress::{Internal, Network},
    sandbox::Owner,
};
use domain::policy::{self, EgressPhase, Layer, LayerKind};

use crate::{
    files::FilesError,
    server_files::Said,
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
    pub fn of(said: &Said) -> Result<Self, FilesError> {
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

    /// What a sandbox of `owner` gets in `phase`, and what of `asked` it does not.
    pub fn grant(&self, owner: &Owner, phase: EgressPhase, asked: Option<Layer>) -> Granted {
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
pub struct Granted {
    pub network: Network,
    pub refused: Vec<String>,
}
