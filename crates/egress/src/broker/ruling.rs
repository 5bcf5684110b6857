//! The rules of one sandbox, and what can come of one thing that wants to leave.
//!
//! What the rules say is in [`super::judgement`]. Refusals are worded from what is here, and judgements need refusals.

use std::{collections::BTreeSet, sync::Arc};

use contracts::egress::Network;
use domain::policy::{
    Bundle, Ecosystem, HostName, LayerKind, Method, Outgoing, Reach, RequestPath, Rule,
};

use super::compiled::Compiled;
use crate::bundles::{
    Asked, Belonging, Known, Table,
    model::{ModelCall, Wanted},
    registries::RegistryHosts,
};
use proxy::ask::{Body, Dial, Language, Question, Refusal, Request, Scheme, Upgrade};

/// What holds for one sandbox from one change of its rules to the next.
#[derive(Debug)]
pub struct Ruling {
    pub network: Network,
    pub compiled: Compiled,
    pub table: Table,
    /// Knows every bundle, so that a refusal can name one that would help.
    everything: Table,
    registries: Arc<RegistryHosts>,
    pub generation: u64,
}

/// What becomes of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    Refused(Box<Refusal>),
    /// Bytes are carried, if no credential is bound to the host.
    Opaque {
        rule: String,
        dial: Dial,
    },
    Inspect,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Judged<'a> {
    Refused(Box<Refusal>),
    NeedBody { most: u64, language: Language },
    Permitted(Box<Permit<'a>>),
}

/// A request that the rules allow.
#[derive(Debug)]
pub struct Permit<'a> {
    /// The rule of each layer, from the organisation down.
    pub rules: Vec<(LayerKind, &'a Rule)>,
    pub belonging: Belonging<'a>,
    pub dial: Dial,
    pub scheme: Scheme,
    pub target: Option<String>,
    pub body: Body,
    pub upgrade: Upgrade,
    /// What is asked of a model, where it costs.
    pub wanted: Option<Wanted>,
}

impl Permit<'_> {
    /// The rule nearest to the work: the last layer's.
    pub fn rule(&self) -> String {
        self.rules.last().map(|(_, rule)| rule.to_string()).unwrap_or_default()
    }

    /// The model that is called, where a rule names its provider.
    pub fn model(&self) -> Option<&ModelCall<'_>> {
        self.belonging
            .model
            .as_deref()
            .filter(|call| self.belonging.bundles.contains(&Bundle::Model(call.route.provider)))
    }
}

/// A request in the terms of the rules.
#[derive(Debug)]
pub struct Read {
    pub host: HostName,
    pub method: Method,
    pub path: RequestPath,
    pub query: Option<String>,
}

impl Ruling {
    pub fn new(
        network: Network,
        known: &Arc<Known>,
        registries: &Arc<RegistryHosts>,
        generation: u64,
    ) -> Self {
        let compiled = Compiled::new(&network.egress, network.phase);
        let table =
            Table::new(Arc::clone(known), Arc::clone(registries), &network, compiled.bundles());
        let all: BTreeSet<Bundle> = Bundle::well_known()
            .into_iter()
            .chain(network.internal.keys().map(|name| Bundle::Internal(name.clone())))
            .collect();
        let everything = Table::new(Arc::clone(known), Arc::clone(registries), &network, &all);
        let registries = Arc::clone(registries);
        Self { network, compiled, table, everything, registries, generation }
    }

    /// Comes back when everything is known by which `question` is decided: where the registries are that rules name.
    ///
    /// To know of one can only allow more, unless a rule denies it. So they are asked for before anything is allowed where one is denied, and
    /// else when something would be refused; of a refused request also those that no rule names, so that the refusal can name one.
    pub async fn settle(&self, question: &Question) {
        let named = |bundle: &Bundle| match bundle {
            Bundle::Registry(ecosystem) => Some(*ecosystem),
            Bundle::Github
            | Bundle::Git { .. }
            | Bundle::Model(_)
            | Bundle::Cloud(_)
            | Bundle::Internal(_) => None,
        };
        if self.registries.unknown(Ecosystem::ALL).is_empty() {
            return;
        }
        self.registries.learn(self.compiled.denied().filter_map(named)).await;
        let rules = self.compiled.bundles().iter().filter_map(named);
        match question {
            Question::Name { host } if self.name(host).is_err() => {
                self.registries.learn(rules).await;
            }
            Question::Connect(connect)
                if matches!(self.connect(&connect.host, connect.port), Connection::Refused(_)) =>
            {
                self.registries.learn(rules).await;
            }
            Question::Request(request) if matches!(self.request(request), Judged::Refused(_)) => {
                self.registries.learn(Ecosystem::ALL).await;
            }
            Question::Name { .. } | Question::Connect(_) | Question::Request(_) => {}
        }
    }

    /// The named bundle that the request would belong to if a rule named it.
    pub fn suggestion(&self, asked: &Asked<'_>) -> Option<Bundle> {
        self.everything.read(asked).bundles.into_iter().next()
    }

    /// Where it is dialled: only a declared private host has addresses of its own.
    pub(super) fn dial(&self, host: &HostName, port: u16) -> Dial {
        match self.table.internal(host, port) {
            Some(internal) => Dial::Pinned {
                host: host.to_string(),
                port,
                addresses: internal.addresses.clone(),
                authority: internal.authority.clone(),
            },
            None => Dial::Public { host: host.to_string(), port },
        }
    }
}

impl Read {
    pub fn asked<'a>(&'a self, request: &'a Request) -> Asked<'a> {
        Asked {
            scheme: request.scheme,
            host: &self.host,
            port: request.port,
            method: self.method,
            path: &self.path,
            query: self.query.as_deref(),
            content_type: request.content_type.as_deref(),
            body: request.body.as_ref(),
        }
    }

    pub(super) fn outgoing(&self, port: u16, bundles: &BTreeSet<Bundle>) -> Outgoing {
        let reach = Reach::Http { method: self.method, path: self.path.clone() };
        Outgoing { host: self.host.clone(), port, reach, bundles: bundles.clone() }
    }
}
