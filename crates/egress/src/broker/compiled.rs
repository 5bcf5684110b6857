//! The policy of one phase, laid out so that ten thousand rules are as quick as ten.
//!
//! [`domain::policy::Egress::judge`] says what is right; this says the same, by looking rules up instead of walking through
//! them. A host is looked up as it is and once for each parent, a path the same way.
//!
//! **Invariants:** every judgement equals the domain's. A connection is refused only when no request over it could be allowed, and is
//! carried unseen only when no rule of any layer wants to look.

use std::collections::{BTreeSet, HashMap};

use domain::policy::{
    Access, Bundle, Denial, Egress, EgressPhase, HostName, HostPattern, LayerKind, Method,
    Outgoing, PathPattern, Reach, RequestPath, Rule, Rules,
};

#[cfg(test)]
#[path = "compiled_tests.rs"]
mod tests;

/// What all layers say about one phase.
#[derive(Debug)]
pub struct Compiled {
    phase: EgressPhase,
    layers: Vec<Layer>,
    bundles: BTreeSet<Bundle>,
}

/// What becomes of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<'a> {
    /// By one rule of each layer, from the organisation down.
    Allowed(Vec<(LayerKind, &'a Rule)>),
    Denied(Denial),
}

/// What becomes of a connection, before anything was said over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage<'a> {
    /// Nothing that could be said over it is allowed.
    Refused(Denial),
    /// Every layer lets it pass unseen, by these rules.
    Opaque(Vec<(LayerKind, &'a Rule)>),
    /// It depends on each request.
    Inspect,
}

#[derive(Debug)]
struct Layer {
    kind: LayerKind,
    allow: RuleSet,
    deny: RuleSet,
}

impl Compiled {
    pub fn new(egress: &Egress, phase: EgressPhase) -> Self {
        let layers: Vec<Layer> = egress.layers(phase).map(Layer::new).collect();
        let named = |rule: &Rule| match rule {
            Rule::Bundle(bundle) => Some(bundle.clone()),
            Rule::Host { .. } => None,
        };
        let bundles = layers
            .iter()
            .flat_map(|layer| layer.allow.rules.iter().chain(&layer.deny.rules))
            .filter_map(named)
            .collect();
        Self { phase, layers, bundles }
    }

    pub const fn phase(&self) -> EgressPhase {
        self.phase
    }

    /// Every bundle that some rule names. No other matters.
    pub const fn bundles(&self) -> &BTreeSet<Bundle> {
        &self.bundles
    }

    /// Every bundle that some rule denies by its name.
    pub fn denied(&self) -> impl Iterator<Item = &Bundle> {
        let rules = self.layers.iter().flat_map(|layer| &layer.deny.rules);
        rules.filter_map(|rule| match rule {
            Rule::Bundle(bundle) => Some(bundle),
            Rule::Host { .. } => None,
        })
    }

    /// Whether a layer allows `bundle` by its name.
    pub fn names(&self, bundle: &Bundle) -> bool {
        self.layers.iter().any(|layer| layer.allow.bundles.contains_key(bundle))
    }

    pub fn judge(&self, request: &Outgoing) -> Decision<'_> {
        self.each_layer(|layer| {
            if let Some(rule) = layer.deny.first_match(request) {
                return Err(Denial::Forbidden { layer: layer.kind, rule: rule.clone() });
            }
            layer.allow.first_match(request).ok_or(Denial::NoRule { layer: layer.kind })
        })
    }

    /// `touching` are the bundles that know something at this host and port. Repositories need not be among them.
    pub fn passage(&self, host: &HostName, port: u16, touching: &BTreeSet<Bundle>) -> Passage<'_> {
        let tunnel =
            Outgoing { host: host.clone(), port, reach: Reach::Tunnel, bundles: BTreeSet::new() };
        let wants_to_look =
            |layer: &Layer| layer.deny.could_match(host, Some(port), touching).is_some();
        if !self.layers.iter().any(wants_to_look)
            && let Decision::Allowed(rules) = self.judge(&tunnel)
        {
            return Passage::Opaque(rules);
        }
        match self.could_allow(host, Some(port), touching) {
            Ok(()) => Passage::Inspect,
            Err(denial) => Passage::Refused(denial),
        }
    }

    /// Whether some port of `host` may be connected to, so that its name may be known. `touching` are the bundles that know
    /// the host at any port.
    pub fn knows(&self, host: &HostName, touching: &BTreeSet<Bundle>) -> Result<(), Denial> {
        self.could_allow(host, None, touching)
    }

    /// The first rule of a layer that names `host`, whatever else it says: to explain what is missing.
    pub fn mention(&self, host: &HostName) -> Option<(LayerKind, &Rule)> {
        let none = BTreeSet::new();
        let of_layer = |layer: &'_ Layer| layer.allow.could_match(host, None, &none);
        self.layers.iter().find_map(|layer| {
            let number = of_layer(layer)?;
            Some((layer.kind, layer.allow.rules.get(number)?))
        })
    }

    fn could_allow(
        &self,
        host: &HostName,
        port: Option<u16>,
        touching: &BTreeSet<Bundle>,
    ) -> Result<(), Denial> {
        let decision = self.each_layer(|layer| {
            let forbidden = port.and_then(|port| layer.deny.matches_all(host, port));
            if let Some(rule) = forbidden {
                return Err(Denial::Forbidden { layer: layer.kind, rule: rule.clone() });
            }
            let found = layer.allow.could_match(host, port, touching);
            let rule = found.and_then(|number| layer.allow.rules.get(number));
            rule.ok_or(Denial::NoRule { layer: layer.kind })
        });
        match decision {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(denial) => Err(denial),
        }
    }

    fn each_layer<'a>(
        &'a self,
        judge: impl Fn(&'a Layer) -> Result<&'a Rule, Denial>,
    ) -> Decision<'a> {
        if self.layers.is_empty() {
            return Decision::Denied(Denial::Closed);
        }
        let judged = self.layers.iter().map(|layer| judge(layer).map(|rule| (layer.kind, rule)));
        match judged.collect() {
            Ok(rules) => Decision::Allowed(rules),
            Err(denial) => Decision::Denied(denial),
        }
    }
}

impl Layer {
    fn new(rules: &Rules) -> Self {
        let (allow, deny) = (RuleSet::new(&rules.allow), RuleSet::new(&rules.deny));
        Self { kind: rules.layer, allow, deny }
    }
}

/// Git is spoken over HTTPS.
pub const GIT_PORT: u16 = 443;

const fn git_host(bundle: &Bundle) -> Option<&HostName> {
    match bundle {
        Bundle::Git { host, .. } => Some(host),
        Bundle::Github
        | Bundle::Registry(_)
        | Bundle::Model(_)
        | Bundle::Cloud(_)
        | Bundle::Internal(_) => None,
    }
}

/// Rules in the domain's order; the first that matches is the one that is named.
#[derive(Debug, Default)]
struct RuleSet {
    rules: Vec<Rule>,
    bundles: HashMap<Bundle, usize>,
    /// The first rule about a repository on each host.
    git_hosts: HashMap<HostName, usize>,
    exactly: HashMap<String, Paths>,
    below: HashMap<String, Paths>,
}

/// The rules about one host pattern.
#[derive(Debug, Default)]
struct Paths {
    opaque: Vec<Entry>,
    exactly: HashMap<String, Vec<Entry>>,
    below: HashMap<String, Vec<Entry>>,
    /// The longest key of `below`: a longer start of a path need not be looked up.
    longest_below: usize,
    /// The first rule for each port, whatever else it says: for connections.
    first_at: HashMap<u16, usize>,
}

#[derive(Debug, Clone)]
struct Entry {
    number: usize,
    ports: BTreeSet<u16>,
    /// All methods, for one that is opaque.
    methods: BTreeSet<Method>,
}

impl RuleSet {
    fn new(rules: &BTreeSet<Rule>) -> Self {
        let mut set = Self { rules: rules.iter().cloned().collect(), ..Self::default() };
        for (number, rule) in rules.iter().enumerate() {
            match rule {
                Rule::Bundle(bundle) => {
                    set.bundles.insert(bundle.clone(), number);
                    if let Some(host) = git_host(bundle) {
                        set.git_hosts.entry(host.clone()).or_insert(number);
                    }
                }
                Rule::Host { host, ports, access } => {
                    set.of(host).add(number, ports, access);
                }
            }
        }
        set
    }

    fn of(&mut self, host: &HostPattern) -> &mut Paths {
        match host {
            HostPattern::Exactly(name) => self.exactly.entry(name.as_str().to_owned()),
            HostPattern::Below(parent) => self.below.entry(parent.as_str().to_owned()),
        }
        .or_default()
    }

    /// The paths of every pattern that matches `host`.
    fn about<'a>(&'a self, host: &'a HostName) -> impl Iterator<Item = &'a Paths> {
        let exact = self.exactly.get(host.as_str());
        let parents = host.as_str().match_indices('.').filter_map(|(dot, _)| {
            let parent = host.as_str().get(dot + 1..)?;
            self.below.get(parent)
        });
        exact.into_iter().chain(parents)
    }

    fn first_match(&self, request: &Outgoing) -> Option<&Rule> {
        let by_bundle = request.bundles.iter().filter_map(|bundle| self.bundles.get(bundle));
        let by_host = self
            .about(&request.host)
            .filter_map(|paths| paths.first_match(request.port, &request.reach));
        let number = by_bundle.copied().chain(by_host).min()?;
        self.rules.get(number)
    }

    /// The first rule by which some request to `host` could match; at any port, if none is given.
    fn could_match(
        &self,
        host: &HostName,
        port: Option<u16>,
        touching: &BTreeSet<Bundle>,
    ) -> Option<usize> {
        let by_bundle = touching.iter().filter_map(|bundle| self.bundles.get(bundle)).copied();
        let of_paths = |paths: &Paths| match port {
            Some(port) => paths.first_at.get(&port).copied(),
            None => paths.first_at.values().copied().min(),
        };
        let is_git = port.is_none_or(|port| port == GIT_PORT);
        let by_repository = self.git_hosts.get(host).filter(|_| is_git).copied();
        by_bundle.chain(by_repository).chain(self.about(host).filter_map(of_paths)).min()
    }

    /// The first rule that matches every request to this host and port.
    fn matches_all(&self, host: &HostName, port: u16) -> Option<&Rule> {
        let has_all = |entry: &&Entry| {
            entry.ports.contains(&port) && entry.methods.len() == Method::ALL.len()
        };
        let of_paths = |paths: &Paths| {
            let any_path = paths.below.get("").into_iter().flatten();
            paths.opaque.iter().chain(any_path).find(has_all).map(|entry| entry.number)
        };
        let number = self.about(host).filter_map(of_paths).min()?;
        self.rules.get(number)
    }
}

impl Paths {
    fn add(&mut self, number: usize, ports: &BTreeSet<u16>, access: &Access) {
        let entry = |methods: &BTreeSet<Method>| Entry {
            number,
            ports: ports.clone(),
            methods: methods.clone(),
        };
        match access {
            Access::Opaque => {
                self.opaque.push(entry(&BTreeSet::from(Method::ALL)));
                self.mention(number, ports);
            }
            Access::Inspected { methods, paths } => {
                // A rule without a method or a path matches nothing.
                if !methods.is_empty() && !paths.is_empty() {
                    self.mention(number, ports);
                }
                for path in paths {
                    self.of(path).push(entry(methods));
                }
            }
        }
    }

    /// Rules come in their order, so the first that mentions a port stays.
    fn mention(&mut self, number: usize, ports: &BTreeSet<u16>) {
        for port in ports {
            self.first_at.entry(*port).or_insert(number);
        }
    }

    fn of(&mut self, path: &PathPattern) -> &mut Vec<Entry> {
        match path {
            PathPattern::Exactly(exact) => self.exactly.entry(exact.clone()),
            PathPattern::Below(root) => {
                self.longest_below = self.longest_below.max(root.len());
                self.below.entry(root.clone())
            }
        }
        .or_default()
    }

    fn first_match(&self, port: u16, reach: &Reach) -> Option<usize> {
        let numbers = |entries: &[Entry], method: Option<Method>| {
            entries
                .iter()
                .filter(|entry| entry.ports.contains(&port))
                .find(|entry| method.is_none_or(|method| entry.methods.contains(&method)))
                .map(|entry| entry.number)
        };
        let opaque = numbers(&self.opaque, None);
        let seen = match reach {
            Reach::Tunnel => None,
            Reach::Http { method, path } => {
                let lists = self.lists(path);
                lists.filter_map(|entries| numbers(entries, Some(*method))).min()
            }
        };
        opaque.into_iter().chain(seen).min()
    }

    /// Every list of rules whose pattern matches `path`: by the path itself, and by each of its starts that ends before a `/`.
    fn lists<'a>(&'a self, path: &'a RequestPath) -> impl Iterator<Item = &'a Vec<Entry>> {
        let text = path.as_str();
        let exact = self.exactly.get(text);
        let whole = self.below.get(text);
        let starts = text
            .match_indices('/')
            .map(|(slash, _)| slash)
            .take_while(|slash| *slash <= self.longest_below)
            .filter_map(|slash| self.below.get(text.get(..slash)?));
        exact.into_iter().chain(whole).chain(starts)
    }
}
