//! How long one judgement takes when there are ten thousand rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use anyhow::ensure;
use contracts::{egress::Network, sandbox::Owner};
use domain::policy::{
    Access, Bundle, Egress, EgressPhase, HostName, LayerKind, Method, Outgoing, Reach, RequestPath,
    Rule, Rules, Verdict,
};
use egress::{
    broker::{compiled::Decision, ruling::Ruling},
    bundles::Asked,
};
use proxy::ask::Scheme;

use super::gateway::known;
use crate::spread::Spread;

/// Of each kind; with all kinds there are [`RULES`].
const OF_EACH: usize = 2_500;
pub const RULES: usize = 4 * OF_EACH;
const JUDGEMENTS: usize = 20_000;
/// Walking through the rules takes long.
const WALKS: usize = 400;
const LAYOUTS: usize = 9;
const PORT: u16 = 443;
const PHASE: EgressPhase = EgressPhase::Implement;

#[derive(Debug)]
pub struct Judgements {
    /// From what people write to what is looked up.
    pub compiled: Spread,
    pub allowed: Spread,
    pub refused: Spread,
    /// The same, by walking through all rules.
    pub walked: Spread,
}

pub fn run() -> anyhow::Result<Judgements> {
    let egress = Egress::of(BTreeMap::from([(PHASE, rules()?)]));
    let network =
        Network { egress: egress.clone(), ..Network::closed(Owner::Person("bench".to_owned())) };
    let known = Arc::new(known()?);
    let mut compiled = Vec::new();
    for _ in 0..LAYOUTS {
        let network = network.clone();
        let begun = Instant::now();
        drop(Ruling::new(network, &known, &Arc::default(), 1));
        compiled.push(begun.elapsed());
    }
    let ruling = Ruling::new(network, &known, &Arc::default(), 1);

    let (mut allowed, mut refused) = (Vec::new(), Vec::new());
    for number in 0..JUDGEMENTS {
        let request = wanted(number);
        let begun = Instant::now();
        let judged = judge(&ruling, &request)?;
        allowed.push(begun.elapsed());
        ensure!(matches!(judged, Decision::Allowed(_)), "not allowed: {request:?}: {judged:?}");

        let request = unwanted(number);
        let begun = Instant::now();
        let judged = judge(&ruling, &request)?;
        refused.push(begun.elapsed());
        ensure!(matches!(judged, Decision::Denied(_)), "not refused: {request:?}");
    }
    let mut walked = Vec::new();
    for number in 0..WALKS {
        // Repositories need more than the rules: they are not asked about here.
        let request = wanted(3 * number);
        let (host, path) = (request.host.parse()?, request.path.parse()?);
        let outgoing = outgoing(host, path, BTreeSet::new());
        let begun = Instant::now();
        let verdict = egress.judge(PHASE, &outgoing);
        walked.push(begun.elapsed());
        ensure!(verdict == Verdict::Allowed, "not allowed: {outgoing:?}");
    }
    Ok(Judgements {
        compiled: Spread::of(compiled),
        allowed: Spread::of(allowed),
        refused: Spread::of(refused),
        walked: Spread::of(walked),
    })
}

/// Hosts, everything below hosts, repositories, and what is denied.
fn rules() -> anyhow::Result<Rules> {
    let (mut allow, mut deny) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..OF_EACH {
        let reading = |host: String, path: &str| {
            anyhow::Ok(Rule::Host {
                host: host.parse()?,
                ports: BTreeSet::from([PORT]),
                access: Access::Inspected {
                    methods: BTreeSet::from(Method::READING),
                    paths: BTreeSet::from([path.parse()?]),
                },
            })
        };
        allow.insert(reading(format!("api-{number}.example.com"), "/v1/**")?);
        allow.insert(reading(format!("*.team-{number}.example.com"), "/**")?);
        let repository = format!("git:git.example.com/acme/repository-{number}");
        allow.insert(Rule::Bundle(repository.parse()?));
        deny.insert(reading(format!("api-{number}.example.com"), "/v1/admin/**")?);
    }
    Ok(Rules { layer: LayerKind::Organisation, allow, deny })
}

/// A request as it is written.
#[derive(Debug)]
struct Wanted {
    host: String,
    path: String,
    query: Option<&'static str>,
}

/// From what is written to the decision, as the broker does it: read, find what it belongs to, look the rules up.
fn judge<'a>(ruling: &'a Ruling, wanted: &Wanted) -> anyhow::Result<Decision<'a>> {
    let (host, path): (HostName, RequestPath) = (wanted.host.parse()?, wanted.path.parse()?);
    let asked = Asked {
        scheme: Scheme::Https,
        host: &host,
        port: PORT,
        method: Method::Get,
        path: &path,
        query: wanted.query,
        content_type: None,
        body: None,
    };
    let bundles = ruling.table.read(&asked).bundles;
    Ok(ruling.compiled.judge(&outgoing(host, path, bundles)))
}

fn outgoing(host: HostName, path: RequestPath, bundles: BTreeSet<Bundle>) -> Outgoing {
    Outgoing { host, port: PORT, reach: Reach::Http { method: Method::Get, path }, bundles }
}

fn wanted(number: usize) -> Wanted {
    let which = number * 7 % OF_EACH;
    match number % 3 {
        0 => get(format!("api-{which}.example.com"), "/v1/things/17"),
        1 => get(format!("web.eu.team-{which}.example.com"), "/a/b/c"),
        _repository => Wanted {
            host: "git.example.com".to_owned(),
            path: format!("/acme/repository-{which}.git/info/refs"),
            query: Some("service=git-upload-pack"),
        },
    }
}

fn unwanted(number: usize) -> Wanted {
    let which = number * 7 % OF_EACH;
    match number % 3 {
        0 => get(format!("api-{which}.example.com"), "/v1/admin/keys"),
        1 => get(format!("other-{which}.example.org"), "/"),
        _elsewhere => get(format!("api-{which}.example.com"), "/v2/things"),
    }
}

fn get(host: String, path: &str) -> Wanted {
    Wanted { host, path: path.to_owned(), query: None }
}
