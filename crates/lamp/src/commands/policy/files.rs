//! The files that make a policy, read as a server would read them, and the rules that they make.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use config::{agent::AgentFile, policy::PolicyFile, server::ServerFile};
use contracts::{egress::Network, sandbox::Owner};
use domain::policy::{Bundle, Ecosystem, EgressPhase, Layer, Rule, effective};
use egress::broker::ruling::Ruling;
use provision::{
    files::{self, FilesError},
    way_out::{self, Certificates},
};
use terminal::report::hinted;

/// Where the files are. What is left out is what a server without that file has.
#[derive(Debug, Clone, Default)]
pub(super) struct Paths {
    pub(super) policy: Option<PathBuf>,
    pub(super) server: Option<PathBuf>,
    pub(super) agent: Option<PathBuf>,
}

/// The files, read.
#[derive(Debug)]
pub(super) struct Files {
    policy: PolicyFile,
    server: ServerFile,
    agent: Option<AgentFile>,
}

impl Files {
    pub(super) fn read(paths: &Paths) -> anyhow::Result<Self> {
        let policy = paths.policy.as_deref().map(files::policy).transpose().map_err(unusable)?;
        let server = paths.server.as_deref().map(files::server).transpose().map_err(unusable)?;
        let agent = paths.agent.as_deref().map(files::agent).transpose().map_err(unusable)?;
        Ok(Self {
            policy: policy.unwrap_or_else(PolicyFile::when_absent),
            server: server.unwrap_or_default(),
            agent: agent.map(|(file, _text)| file),
        })
    }

    /// The rules of one phase. The package managers of this host are asked only about what a rule names.
    pub(super) fn ruling(&self, phase: EgressPhase, home: Option<&Path>) -> anyhow::Result<Ruling> {
        let below: Vec<Layer> = std::iter::once(self.server.layer())
            .chain(self.agent.as_ref().map(AgentFile::layer))
            .collect();
        let egress = effective(&self.policy.layer(), &below).policy.egress;
        let named: Vec<Ecosystem> = egress
            .layers(phase)
            .flat_map(|rules| rules.allow.iter().chain(&rules.deny))
            .filter_map(|rule| match rule {
                Rule::Bundle(Bundle::Registry(ecosystem)) => Some(*ecosystem),
                Rule::Bundle(_) | Rule::Host { .. } => None,
            })
            .collect();
        let network = Network {
            phase,
            egress,
            internal: way_out::internal(&self.policy, Certificates::LeftOut).map_err(unusable)?,
            ..Network::closed(Owner::Person("policy".to_owned()))
        };
        let known = way_out::known(&self.server, Certificates::LeftOut).map_err(unusable)?;
        let once = named.into_iter().collect::<std::collections::BTreeSet<_>>();
        let registries = way_out::registries_of_host(&self.server, once, home);
        Ok(Ruling::new(network, &Arc::new(known), &Arc::new(registries), 0))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` gives it")]
fn unusable(error: FilesError) -> anyhow::Error {
    hinted(&error, error.help())
}
