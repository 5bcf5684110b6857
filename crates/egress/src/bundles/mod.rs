//! Capabilities, as tables: which requests belong to which bundle.
//!
//! Rules name what one wants to do; here stands what that means on the network. The tables are JSON files beside the code, and what
//! differs between companies comes in from outside: mirrors ([`registries`]), model providers ([`model`]), private hosts.
//!
//! | bundle | what belongs to it |
//! |---|---|
//! | `github` | reading; git; the writes of the task's own pull request |
//! | `git:HOST/REPOSITORY` | git, and nothing else, of one repository |
//! | `registry:…` | `GET` and `HEAD` at the places that the package manager is set up for |
//! | `model:…` | the operations in the provider's table |
//! | `cloud:…` | the hosts that the platform team has listed; none until then |
//! | `internal:NAME` | one private host, at its declared ports |
//!
//! **Invariant:** to belong to a bundle is not a right. A push is asked about again, whatever rule allowed the request.

pub mod endpoint;
pub mod git;
pub mod github;
pub mod model;
pub mod reference;
pub mod registries;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use contracts::egress::{Internal, Network, Push};
use domain::policy::{Bundle, CloudProvider, Ecosystem, HostName, Method, RequestPath};

use self::{
    git::GitRequest,
    github::{ApiRequest, GithubHosts},
    model::{Addressed, ModelCall, Models},
    registries::RegistryHosts,
};
use crate::github::{Judgement, graphql, rest};
use proxy::ask::{Language, Said, Scheme};

#[cfg(test)]
#[path = "bundles_tests.rs"]
mod tests;

/// What holds for every sandbox of this server.
#[derive(Debug)]
pub struct Known {
    pub models: Models,
    pub githubs: Vec<GithubHosts>,
    pub clouds: BTreeMap<CloudProvider, BTreeSet<HostName>>,
}

/// One request, as far as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub scheme: Scheme,
    pub host: &'a HostName,
    pub port: u16,
    pub method: Method,
    pub path: &'a RequestPath,
    pub query: Option<&'a str>,
    pub content_type: Option<&'a str>,
    pub body: Option<&'a Said>,
}

/// What a request is part of.
#[derive(Debug, Default)]
pub struct Belonging<'a> {
    pub bundles: BTreeSet<Bundle>,
    pub git: Option<GitRequest>,
    pub model: Option<Box<ModelCall<'a>>>,
    pub internal: Option<&'a Internal>,
    /// Whether it would belong to more if its body were known, and to what.
    pub with_body: Option<WithBody>,
    /// Why it does not belong to a bundle whose host it is for.
    pub why_not: Option<String>,
}

/// To what a request may belong, and in which language its body says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithBody {
    pub bundle: Bundle,
    pub language: Language,
}

/// The bundles that one sandbox's rules name, ready to be asked.
#[derive(Debug)]
pub struct Table {
    known: Arc<Known>,
    registries: Arc<RegistryHosts>,
    internal: BTreeMap<String, Internal>,
    pushes: Vec<Push>,
    named: BTreeSet<Bundle>,
    /// By host and repository, so that ten thousand of them are as quick as ten.
    repositories: HashMap<HostName, HashMap<String, Vec<Bundle>>>,
}

impl Table {
    pub fn new(
        known: Arc<Known>,
        registries: Arc<RegistryHosts>,
        network: &Network,
        named: &BTreeSet<Bundle>,
    ) -> Self {
        let mut repositories: HashMap<HostName, HashMap<String, Vec<Bundle>>> = HashMap::new();
        for bundle in named {
            let Bundle::Git { host, repository } = bundle else { continue };
            let name = canonical(&known, host, repository);
            let of_host = repositories.entry(host.clone()).or_default();
            of_host.entry(name).or_default().push(bundle.clone());
        }
        // Those are looked up by their name; the others are few, and walked through.
        let is_other = |bundle: &&Bundle| !matches!(bundle, Bundle::Git { .. });
        let named = named.iter().filter(is_other).cloned().collect();
        let (internal, pushes) = (network.internal.clone(), network.pushes.clone());
        Self { known, registries, internal, pushes, named, repositories }
    }

    /// The named bundles that know something at this host, at this port or at any.
    pub fn touching(&self, host: &HostName, port: Option<u16>) -> BTreeSet<Bundle> {
        let models: BTreeSet<Bundle> =
            self.known.models.at(host, port).map(Bundle::Model).collect();
        let is_https = port.is_none_or(|port| port == 443);
        let is_there = |bundle: &&Bundle| match bundle {
            Bundle::Github => is_https && self.known.githubs.iter().any(|it| it.is_at(host)),
            Bundle::Git { .. } => false,
            Bundle::Registry(ecosystem) => {
                self.registries.of(*ecosystem).any(|place| place.is_at(host, port))
            }
            Bundle::Model(_) => models.contains(bundle),
            Bundle::Cloud(provider) => is_https && self.is_cloud(*provider, host),
            Bundle::Internal(name) => self.internal.get(name).is_some_and(|internal| {
                internal.host == *host && port.is_none_or(|port| internal.ports.contains(&port))
            }),
        };
        self.named.iter().filter(is_there).cloned().collect()
    }

    /// The private host that is meant, if one is.
    pub fn internal(&self, host: &HostName, port: u16) -> Option<&Internal> {
        self.internal.values().find(|it| it.host == *host && it.ports.contains(&port))
    }

    /// Whether `host` is a model provider's, so that programs bring credentials of their own to it.
    pub fn is_models(&self, host: &HostName, port: u16) -> bool {
        self.known.models.at(host, Some(port)).next().is_some()
    }

    /// What is taken out of every request to this host: keys that programs bring to a model's provider are not ours.
    pub fn strip(&self, host: &HostName, port: u16) -> Vec<String> {
        self.known.models.strip_at(host, port)
    }

    pub fn read<'a>(&'a self, asked: &Asked<'_>) -> Belonging<'a> {
        let mut belonging = Belonging {
            git: git::read(asked.method, asked.path, asked.query),
            internal: self.internal(asked.host, asked.port),
            ..Belonging::default()
        };
        let (place, what) = ((asked.host, asked.port), (asked.path, asked.query));
        match self.known.models.read(asked.scheme, place, asked.method, what) {
            Addressed::Call(call) => belonging.model = Some(call),
            Addressed::Other { why } => belonging.why_not = Some(why),
            Addressed::Elsewhere => {}
        }
        self.add_repositories(asked, &mut belonging);
        for bundle in &self.named {
            let belongs = match bundle {
                Bundle::Github => self.reads_github(asked, &mut belonging),
                Bundle::Git { .. } => false,
                Bundle::Registry(ecosystem) => {
                    self.reads_registry(*ecosystem, asked, &mut belonging)
                }
                Bundle::Model(provider) => {
                    belonging.model.as_ref().is_some_and(|call| call.route.provider == *provider)
                }
                Bundle::Cloud(provider) => {
                    asked.scheme == Scheme::Https
                        && asked.port == 443
                        && self.is_cloud(*provider, asked.host)
                }
                Bundle::Internal(name) => self.internal.get(name).is_some_and(|internal| {
                    internal.host == *asked.host && internal.ports.contains(&asked.port)
                }),
            };
            if belongs {
                belonging.bundles.insert(bundle.clone());
            }
        }
        belonging
    }

    /// Named bundles that cannot do anything as things are, each with what is missing.
    pub fn idle(&self) -> Vec<(Bundle, String)> {
        let missing = |bundle: &Bundle| match bundle {
            Bundle::Registry(ecosystem) if self.registries.of(*ecosystem).next().is_none() => {
                let name = ecosystem.as_str();
                Some(format!(
                    "no registry of {name} was found in the image; list its hosts under `registries:` in `lamp.yaml`"
                ))
            }
            Bundle::Model(provider) if !self.known.models.is_set_up(*provider) => Some(format!(
                "no provider `{}` is set up; add it under `models:` in `lamp.yaml`",
                provider.as_str()
            )),
            Bundle::Cloud(provider) if !self.known.clouds.contains_key(provider) => Some(format!(
                "`{}` is off; list the hosts that are meant under `clouds:` in `lamp.yaml`",
                provider.as_str()
            )),
            Bundle::Internal(name) if !self.internal.contains_key(name) => {
                Some("it is not declared under `internal:` in `policy.yaml`".to_owned())
            }
            Bundle::Github
            | Bundle::Git { .. }
            | Bundle::Registry(_)
            | Bundle::Model(_)
            | Bundle::Cloud(_)
            | Bundle::Internal(_) => None,
        };
        self.named.iter().filter_map(|bundle| Some((bundle.clone(), missing(bundle)?))).collect()
    }

    fn is_cloud(&self, provider: CloudProvider, host: &HostName) -> bool {
        self.known.clouds.get(&provider).is_some_and(|hosts| hosts.contains(host))
    }

    fn add_repositories(&self, asked: &Asked<'_>, belonging: &mut Belonging<'_>) {
        let is_https = asked.scheme == Scheme::Https && asked.port == 443;
        let Some(git) = belonging.git.as_ref().filter(|_| is_https) else { return };
        let Some(of_host) = self.repositories.get(asked.host) else { return };
        let name = canonical(&self.known, asked.host, &git.repository);
        belonging.bundles.extend(of_host.get(&name).into_iter().flatten().cloned());
    }

    fn reads_github(&self, asked: &Asked<'_>, belonging: &mut Belonging<'_>) -> bool {
        let Some(github) = self.known.githubs.iter().find(|it| it.is_at(asked.host)) else {
            return false;
        };
        let is_https = asked.scheme == Scheme::Https && asked.port == 443;
        if belonging.git.is_some() {
            return is_https && github.git == *asked.host;
        }
        if github.reads(asked) {
            return true;
        }
        let task = github.task(&self.pushes);
        let judgement = match github.api_request(asked) {
            Some(ApiRequest::Graphql) if asked.method != Method::Post => {
                Judgement::Not { why: "GraphQL is asked with POST".to_owned() }
            }
            Some(ApiRequest::Graphql) => graphql::judge(asked.content_type, asked.body, &task),
            Some(ApiRequest::Rest { path }) => rest::judge(asked.method, &path, asked.body, &task),
            None => {
                let why = "of GitHub, only reading, git and some operations of the API are carried";
                Judgement::Not { why: why.to_owned() }
            }
        };
        match judgement {
            Judgement::Belongs { .. } => return true,
            Judgement::NeedsBody { language } => {
                belonging.with_body = Some(WithBody { bundle: Bundle::Github, language });
            }
            Judgement::Not { why } => belonging.why_not = Some(why),
        }
        false
    }

    fn reads_registry(
        &self,
        ecosystem: Ecosystem,
        asked: &Asked<'_>,
        belonging: &mut Belonging<'_>,
    ) -> bool {
        let mut places = self.registries.of(ecosystem);
        let Asked { scheme, host, port, path, .. } = *asked;
        if !places.any(|place| place.contains(scheme, host, port, path)) {
            return false;
        }
        if !matches!(asked.method, Method::Get | Method::Head) {
            let why = "package registries are for reading: nothing is published from a sandbox";
            belonging.why_not = Some(why.to_owned());
            return false;
        }
        true
    }
}

/// A repository's name as it is compared: without `.git`, and on GitHub without capital letters, which it does not tell apart.
fn canonical(known: &Known, host: &HostName, repository: &str) -> String {
    let name = repository.strip_suffix(".git").unwrap_or(repository);
    let is_github = known.githubs.iter().any(|github| github.git == *host);
    if is_github { name.to_ascii_lowercase() } else { name.to_owned() }
}
