//! Model providers: which requests are theirs, where they go, and where the key belongs.
//!
//! A provider is a JSON file beside this one. Inside, a model answers at the vendor's own host and at
//! `http://model.lamp.internal/NAME/…`; both lead to the same upstream, which the platform team may have set to another.
//!
//! **Invariant:** what a program brought as a credential is taken out before the request leaves, in every place where the provider
//! would look for one.

mod body;

use std::net::IpAddr;

use contracts::secret::SecretName;
use domain::policy::{HostName, Method, ModelProvider, RequestPath};
use serde::Deserialize;

pub use body::{BodyError, Wanted, judge as judge_body};

use super::endpoint::Endpoint;
use proxy::ask::{Dialect, Scheme};

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;

/// Where models answer inside, whoever provides them.
pub const INSIDE_HOST: &str = proxy::ask::MODEL_HOST;

/// What we know of one provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub about: String,
    /// None for one that is somewhere else in every company.
    host: Option<String>,
    /// Comes before the operations' paths at the vendor's host.
    base: String,
    /// Comes before the operations' paths behind the name inside.
    inside: String,
    key: KeyPlace,
    strip: Vec<String>,
    strip_query: Vec<String>,
    pub operations: Vec<Operation>,
    /// Tools that run in the sandbox. A tool of any other kind runs at the provider, and could carry data past us.
    pub tools: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyPlace {
    header: String,
    before: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    #[serde(deserialize_with = "method")]
    pub method: Method,
    pub path: Template,
    /// In which language its answer tells what it cost; none for one that is free.
    pub costs: Option<Costs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Costs {
    AnthropicMessages,
    OpenaiChat,
    OpenaiResponses,
    Gemini,
}

impl From<Costs> for Dialect {
    fn from(costs: Costs) -> Self {
        match costs {
            Costs::AnthropicMessages => Self::AnthropicMessages,
            Costs::OpenaiChat => Self::OpenaiChat,
            Costs::OpenaiResponses => Self::OpenaiResponses,
            Costs::Gemini => Self::Gemini,
        }
    }
}

/// A path in which one `*` stands for a part of one segment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Template(String);

impl Template {
    /// What stands for the `*`; empty for a template that has none.
    fn matches<'a>(&self, path: &'a str) -> Option<&'a str> {
        let Some((start, end)) = self.0.split_once('*') else {
            return (self.0 == path).then_some("");
        };
        let middle = path.strip_prefix(start)?.strip_suffix(end)?;
        (!middle.is_empty() && !middle.contains('/')).then_some(middle)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn method<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Method, D::Error> {
    let word = String::deserialize(deserializer)?;
    Method::ALL
        .into_iter()
        .find(|method| method.as_str() == word)
        .ok_or_else(|| serde::de::Error::custom(format!("unknown method `{word}`")))
}

/// Whether tools that run at the provider may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProviderTools {
    #[default]
    Refused,
    Allowed,
}

/// One provider, as the platform team has set it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRoute {
    /// The name behind `model.lamp.internal/`.
    pub name: String,
    pub provider: ModelProvider,
    pub secret: Option<SecretName>,
    /// Where it is, if not at its usual place.
    pub upstream: Option<Upstream>,
    pub tools: ProviderTools,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    pub place: Endpoint,
    /// None: the name is resolved, and must be public.
    pub addresses: Vec<IpAddr>,
    /// Certificates of the authority that vouches for it, as PEM.
    pub authority: Option<String>,
}

/// A request that is for a model.
#[derive(Debug, Clone)]
pub struct ModelCall<'a> {
    pub route: &'a ModelRoute,
    pub provider: &'a Provider,
    pub operation: &'a Operation,
    /// The model, where the path names it.
    pub named: Option<String>,
    pub place: Endpoint,
    /// Path and query for the upstream, without the program's credentials.
    pub target: String,
}

/// What a request to a model's host is.
#[derive(Debug, Clone)]
pub enum Addressed<'a> {
    /// One of the known operations.
    Call(Box<ModelCall<'a>>),
    /// A model's host, and nothing that is carried: files, uploads, accounts, a name that nobody set up.
    Other { why: String },
    /// Not a model's host.
    Elsewhere,
}

pub fn provider(which: ModelProvider) -> Result<Provider, serde_json::Error> {
    let text = match which {
        ModelProvider::Anthropic => include_str!("anthropic.json"),
        ModelProvider::Openai => include_str!("openai.json"),
        ModelProvider::Gemini => include_str!("gemini.json"),
        ModelProvider::OpenaiCompatible => include_str!("openai-compatible.json"),
    };
    serde_json::from_str(text)
}

impl Provider {
    /// What comes before the operations' paths, behind the name inside.
    pub fn inside(&self) -> &str {
        &self.inside
    }

    /// The usual place.
    pub fn place(&self) -> Option<Endpoint> {
        let host: HostName = self.host.as_deref()?.parse().ok()?;
        Some(Endpoint::new(Scheme::Https, host, 443, &self.base))
    }

    /// Headers that are taken out, in small letters.
    pub fn strip(&self) -> &[String] {
        &self.strip
    }

    /// The header with the key.
    pub fn key(&self, value: &str) -> (String, String) {
        (self.key.header.clone(), format!("{}{value}", self.key.before))
    }

    fn operation(&self, method: Method, path: &str) -> Option<(&Operation, &str, Option<String>)> {
        self.operations.iter().filter(|operation| operation.method == method).find_map(
            |operation| {
                let named = operation.path.matches(path)?.to_owned();
                let named = Some(named).filter(|named| !named.is_empty());
                Some((operation, operation.path.as_str(), named))
            },
        )
    }

    /// The query without what would be a credential.
    fn clean_query(&self, query: &str) -> String {
        let is_kept = |part: &&str| {
            let name = part.split('=').next().unwrap_or_default();
            let name = plain(name).to_ascii_lowercase();
            !self.strip_query.contains(&name)
        };
        query.split('&').filter(is_kept).collect::<Vec<_>>().join("&")
    }
}

/// Percent signs read, as far as they are well formed; a strange name stays strange.
fn plain(name: &str) -> String {
    let mut rest = name.as_bytes();
    let mut read = Vec::new();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                read.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            (byte, _) => {
                read.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// All providers that are set up, and what we know of each.
#[derive(Debug, Default)]
pub struct Models {
    routes: Vec<(ModelRoute, Provider)>,
    /// The hosts of vendors that nobody has set up, to say so.
    idle: Vec<(ModelProvider, Endpoint)>,
}

impl Models {
    pub fn new(routes: Vec<ModelRoute>) -> Result<Self, serde_json::Error> {
        let with_provider = |route: ModelRoute| {
            let known = provider(route.provider)?;
            Ok((route, known))
        };
        let routes: Vec<(ModelRoute, Provider)> =
            routes.into_iter().map(with_provider).collect::<Result<_, _>>()?;
        let mut idle = Vec::new();
        for which in ModelProvider::ALL {
            let is_set_up = routes.iter().any(|(route, _)| route.provider == which);
            if !is_set_up && let Some(place) = provider(which)?.place() {
                idle.push((which, place));
            }
        }
        Ok(Self { routes, idle })
    }

    pub fn is_set_up(&self, provider: ModelProvider) -> bool {
        self.routes.iter().any(|(route, _)| route.provider == provider)
    }

    /// The providers that answer at this host and port.
    pub fn at<'a>(
        &'a self,
        host: &'a HostName,
        port: Option<u16>,
    ) -> impl Iterator<Item = ModelProvider> + 'a {
        self.routes
            .iter()
            .filter(move |(route, provider)| {
                is_inside(host, port) || places(route, provider).any(|it| it.is_at(host, port))
            })
            .map(|(route, _)| route.provider)
    }

    /// The headers in which programs bring keys to the providers at this host, whatever else they ask of it.
    pub fn strip_at(&self, host: &HostName, port: u16) -> Vec<String> {
        let is_there = |(route, provider): &&(ModelRoute, Provider)| {
            is_inside(host, Some(port))
                || places(route, provider).any(|it| it.is_at(host, Some(port)))
        };
        let of_all =
            self.routes.iter().filter(is_there).flat_map(|(_, it)| it.strip.iter().cloned());
        let once: std::collections::BTreeSet<String> = of_all.collect();
        once.into_iter().collect()
    }

    pub fn read(
        &self,
        scheme: Scheme,
        (host, port): (&HostName, u16),
        method: Method,
        (path, query): (&RequestPath, Option<&str>),
    ) -> Addressed<'_> {
        if is_inside(host, Some(port)) {
            return self.read_inside(method, path, query);
        }
        let mut is_ours = false;
        for (route, provider) in &self.routes {
            let Some(place) = places(route, provider).find(|it| it.is_at(host, Some(port))) else {
                continue;
            };
            is_ours = true;
            if !place.contains(scheme, host, port, path) {
                continue;
            }
            let rest = path.as_str().get(place.root().len()..).unwrap_or_default();
            if let Some(call) = call(route, provider, method, rest, query) {
                return Addressed::Call(Box::new(call));
            }
        }
        if is_ours {
            return other(method, path);
        }
        let Some((which, _)) = self.idle.iter().find(|(_, it)| it.is_at(host, Some(port))) else {
            return Addressed::Elsewhere;
        };
        let which = which.as_str();
        let why = format!("no provider `{which}` is set up; add it under `models:` in `lamp.yaml`");
        Addressed::Other { why }
    }

    fn read_inside(
        &self,
        method: Method,
        path: &RequestPath,
        query: Option<&str>,
    ) -> Addressed<'_> {
        let whole = path.as_str().trim_start_matches('/');
        let (name, rest) = match whole.find('/') {
            Some(at) => whole.split_at(at),
            None => (whole, ""),
        };
        let by_name = self.routes.iter().find(|(route, _)| route.name == name);
        let by_provider = || self.routes.iter().find(|(it, _)| it.provider.as_str() == name);
        let Some((route, provider)) = by_name.or_else(by_provider) else {
            let why = format!(
                "no model provider is called `{name}`; add it under `models:` in `lamp.yaml`"
            );
            return Addressed::Other { why };
        };
        let operation = rest.strip_prefix(provider.inside.as_str());
        match operation.and_then(|rest| call(route, provider, method, rest, query)) {
            Some(call) => Addressed::Call(Box::new(call)),
            None => other(method, path),
        }
    }
}

fn other<'a>(method: Method, path: &RequestPath) -> Addressed<'a> {
    let why = format!(
        "`{} {path}` is not an operation that is carried to a model provider",
        method.as_str()
    );
    Addressed::Other { why }
}

fn call<'a>(
    route: &'a ModelRoute,
    provider: &'a Provider,
    method: Method,
    rest: &str,
    query: Option<&str>,
) -> Option<ModelCall<'a>> {
    let (operation, _, named) = provider.operation(method, rest)?;
    let place = match &route.upstream {
        Some(upstream) => upstream.place.clone(),
        None => provider.place()?,
    };
    let query = query.map(|query| provider.clean_query(query)).filter(|query| !query.is_empty());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{}{rest}{query}", place.root());
    Some(ModelCall { route, provider, operation, named, place, target })
}

/// The vendor's own host, and the one that the platform team has set.
fn places<'a>(
    route: &'a ModelRoute,
    provider: &'a Provider,
) -> impl Iterator<Item = Endpoint> + 'a {
    provider.place().into_iter().chain(route.upstream.as_ref().map(|it| it.place.clone()))
}

fn is_inside(host: &HostName, port: Option<u16>) -> bool {
    host.as_str() == INSIDE_HOST && port.is_none_or(|port| port == 80 || port == 443)
}
