//! What is remembered of a sandbox's network, as a file: a restarted server knows it again.
//!
//! The stored shape is a counterpart of [`Network`], with a version. Rules of other phases are not kept: only the one that holds counts.
//! The key of the sandbox's authority is sealed.

use std::{
    collections::BTreeMap,
    io,
    net::IpAddr,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use contracts::{
    egress::{Internal, Network, Push, Spending},
    sandbox::Owner,
};
use domain::{
    id::SandboxId,
    money::Money,
    policy::{
        Access, Egress, EgressPhase, HostPattern, LayerKind, Method, PathPattern, Rule, Rules,
    },
};
use serde::{Deserialize, Serialize};

use super::credentials::Seal;
use proxy::ask::Authority;

/// One directory, one file for each sandbox.
#[derive(Debug)]
pub struct Kept {
    directory: PathBuf,
    /// Held while a file is written, or all are.
    writing: Mutex<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("the network of sandbox {0} cannot be kept or read")]
    File(SandboxId, #[source] io::Error),
    #[error("what is kept of the network of sandbox {0} cannot be understood: {1}")]
    Shape(SandboxId, String),
}

/// What one file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    pub network: Network,
    pub authority: Authority,
    pub generation: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    version: u32,
    owner: OwnerShape,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    phase: String,
    layers: Vec<RulesShape>,
    pushes: Vec<PushShape>,
    secrets: Vec<String>,
    internal: BTreeMap<String, InternalShape>,
    #[serde(default)]
    spending: SpendingShape,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
    certificate: String,
    /// Sealed, base64.
    key: String,
    generation: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OwnerShape {
    Task(String),
    Person(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesShape {
    layer: String,
    allow: Vec<RuleShape>,
    deny: Vec<RuleShape>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum RuleShape {
    Bundle(String),
    Inspected { host: String, ports: Vec<u16>, methods: Vec<String>, paths: Vec<String> },
    Opaque { host: String, ports: Vec<u16> },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PushShape {
    host: String,
    repository: String,
    branch: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpendingShape {
    person: Option<String>,
    repository: Option<String>,
    limit_micros: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InternalShape {
    host: String,
    ports: Vec<u16>,
    addresses: Vec<IpAddr>,
    authority: Option<String>,
}

impl Kept {
    /// Files go into `directory`, which is made for the server alone.
    pub fn open(directory: PathBuf) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        Ok(Self { directory, writing: Mutex::default() })
    }

    fn path(&self, sandbox: SandboxId) -> PathBuf {
        self.directory.join(format!("{sandbox}.json"))
    }

    pub fn write(
        &self,
        sandbox: SandboxId,
        remembered: &Remembered,
        seal: &dyn Seal,
    ) -> Result<(), KeptError> {
        let wrong = |error: String| KeptError::Shape(sandbox, error);
        let _writing = self.writing();
        let key = seal.seal(&context(sandbox), &remembered.authority.key).map_err(wrong)?;
        let shape = Shape::new(remembered, STANDARD.encode(key));
        let text = serde_json::to_vec(&shape).map_err(|error| wrong(error.to_string()))?;
        write_whole(&self.path(sandbox), &text).map_err(|error| KeptError::File(sandbox, error))
    }

    /// `None` if nothing is remembered.
    pub fn read(
        &self,
        sandbox: SandboxId,
        seal: &dyn Seal,
    ) -> Result<Option<Remembered>, KeptError> {
        let text = match std::fs::read(self.path(sandbox)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(KeptError::File(sandbox, error)),
        };
        let wrong = |error: String| KeptError::Shape(sandbox, error);
        let shape: Shape =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let key = STANDARD.decode(&shape.key).map_err(|error| wrong(error.to_string()))?;
        let key = seal.open(&context(sandbox), &key).map_err(wrong)?;
        shape.remembered(key).map(Some).map_err(wrong)
    }

    /// While `work` runs, no file is written, made or removed but by it.
    pub fn undisturbed<R>(&self, work: impl FnOnce() -> R) -> R {
        let _writing = self.writing();
        work()
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn remove(&self, sandbox: SandboxId) -> Result<(), KeptError> {
        let _writing = self.writing();
        match std::fs::remove_file(self.path(sandbox)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(KeptError::File(sandbox, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// A key of one sandbox does not open as that of another.
fn context(sandbox: SandboxId) -> String {
    format!("egress authority {sandbox}")
}

/// The file is the old one or the new one, never a part, and there after a power cut. For the server alone.
pub(super) fn write_whole(path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    files::write(path, bytes, files::PRIVATE, files::Durability::Synced)
}

impl SpendingShape {
    fn new(spending: &Spending) -> Self {
        let Spending { person, repository, limit } = spending;
        Self {
            person: person.clone(),
            repository: repository.as_ref().map(ToString::to_string),
            limit_micros: limit.map(Money::as_micros),
        }
    }

    fn spending(self) -> Result<Spending, String> {
        Ok(Spending {
            person: self.person,
            repository: self.repository.map(|name| name.parse().map_err(text)).transpose()?,
            limit: self.limit_micros.map(Money::from_micros),
        })
    }
}

impl Shape {
    fn new(remembered: &Remembered, key: String) -> Self {
        let Remembered { network, authority, generation } = remembered;
        Self {
            version: 1,
            owner: match &network.owner {
                Owner::Task(task) => OwnerShape::Task(task.to_string()),
                Owner::Person(name) => OwnerShape::Person(name.clone()),
            },
            agent: network.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            phase: network.phase.as_str().to_owned(),
            layers: network.egress.layers(network.phase).map(RulesShape::new).collect(),
            pushes: network
                .pushes
                .iter()
                .map(|push| PushShape {
                    host: push.host.to_string(),
                    repository: push.repository.clone(),
                    branch: push.branch.clone(),
                })
                .collect(),
            secrets: network.secrets.iter().map(ToString::to_string).collect(),
            internal: network
                .internal
                .iter()
                .map(|(name, internal)| (name.clone(), InternalShape::new(internal)))
                .collect(),
            spending: SpendingShape::new(&network.spending),
            variables: network.variables.clone(),
            certificate: authority.certificate.clone(),
            key,
            generation: *generation,
        }
    }

    fn remembered(self, key: Vec<u8>) -> Result<Remembered, String> {
        if self.version != 1 {
            return Err(format!("it has version {}, and this program knows 1", self.version));
        }
        let owner = match self.owner {
            OwnerShape::Task(task) => Owner::Task(task.parse().map_err(text)?),
            OwnerShape::Person(name) => Owner::Person(name),
        };
        let phase = EgressPhase::ALL.into_iter().find(|phase| phase.as_str() == self.phase);
        let phase = phase.ok_or_else(|| format!("unknown phase `{}`", self.phase))?;
        let layers: Vec<Egress> = self
            .layers
            .into_iter()
            .map(|rules| Ok(Egress::of(BTreeMap::from([(phase, rules.rules()?)]))))
            .collect::<Result<_, String>>()?;
        let first = layers.first().cloned().unwrap_or_default();
        let egress = layers.iter().fold(first, |narrowed, layer| narrowed.narrow(layer));
        let push = |push: PushShape| {
            let PushShape { host, repository, branch } = push;
            Ok(Push { host: host.parse().map_err(text)?, repository, branch })
        };
        let internal = |(name, shape): (String, InternalShape)| Ok((name, shape.internal()?));
        let network = Network {
            owner,
            agent: self.agent.map(|agent| agent.parse().map_err(text)).transpose()?,
            phase,
            egress,
            pushes: self.pushes.into_iter().map(push).collect::<Result<_, String>>()?,
            secrets: self
                .secrets
                .iter()
                .map(|it| it.parse().map_err(text))
                .collect::<Result<_, _>>()?,
            internal: self.internal.into_iter().map(internal).collect::<Result<_, String>>()?,
            spending: self.spending.spending()?,
            variables: self.variables,
        };
        let authority = Authority { certificate: self.certificate, key };
        Ok(Remembered { network, authority, generation: self.generation })
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl RulesShape {
    fn new(rules: &Rules) -> Self {
        Self {
            layer: rules.layer.to_string(),
            allow: rules.allow.iter().map(RuleShape::new).collect(),
            deny: rules.deny.iter().map(RuleShape::new).collect(),
        }
    }

    fn rules(self) -> Result<Rules, String> {
        let kinds = [
            LayerKind::Organisation,
            LayerKind::Platform,
            LayerKind::Repository,
            LayerKind::Approval,
        ];
        let layer = kinds.into_iter().find(|kind| kind.to_string() == self.layer);
        let read = |rules: Vec<RuleShape>| -> Result<_, String> {
            rules.into_iter().map(RuleShape::rule).collect()
        };
        Ok(Rules {
            layer: layer.ok_or_else(|| format!("unknown layer `{}`", self.layer))?,
            allow: read(self.allow)?,
            deny: read(self.deny)?,
        })
    }
}

impl RuleShape {
    fn new(rule: &Rule) -> Self {
        match rule {
            Rule::Bundle(bundle) => Self::Bundle(bundle.to_string()),
            Rule::Host { host, ports, access } => {
                let (host, ports) = (host.to_string(), ports.iter().copied().collect());
                match access {
                    Access::Opaque => Self::Opaque { host, ports },
                    Access::Inspected { methods, paths } => Self::Inspected {
                        host,
                        ports,
                        methods: methods.iter().map(|it| it.as_str().to_owned()).collect(),
                        paths: paths.iter().map(ToString::to_string).collect(),
                    },
                }
            }
        }
    }

    fn rule(self) -> Result<Rule, String> {
        let method = |word: &String| {
            let known = Method::ALL.into_iter().find(|method| method.as_str() == word);
            known.ok_or_else(|| format!("unknown method `{word}`"))
        };
        let host = |host: String| host.parse::<HostPattern>().map_err(text);
        match self {
            Self::Bundle(bundle) => bundle.parse().map(Rule::Bundle).map_err(text),
            Self::Opaque { host: name, ports } => Ok(Rule::Host {
                host: host(name)?,
                ports: ports.into_iter().collect(),
                access: Access::Opaque,
            }),
            Self::Inspected { host: name, ports, methods, paths } => {
                let path = |path: &String| path.parse::<PathPattern>().map_err(text);
                let access = Access::Inspected {
                    methods: methods.iter().map(method).collect::<Result<_, _>>()?,
                    paths: paths.iter().map(path).collect::<Result<_, _>>()?,
                };
                Ok(Rule::Host { host: host(name)?, ports: ports.into_iter().collect(), access })
            }
        }
    }
}

impl InternalShape {
    fn new(internal: &Internal) -> Self {
        Self {
            host: internal.host.to_string(),
            ports: internal.ports.clone(),
            addresses: internal.addresses.clone(),
            authority: internal.authority.clone(),
        }
    }

    fn internal(self) -> Result<Internal, String> {
        let Self { host, ports, addresses, authority } = self;
        Ok(Internal { host: host.parse().map_err(text)?, ports, addresses, authority })
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
