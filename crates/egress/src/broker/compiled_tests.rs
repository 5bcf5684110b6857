//! The compiled policy against the domain's own words, over policies and requests of a small world.

use std::collections::BTreeMap;

use domain::policy::Verdict;
use proptest::{collection, option, prelude::*, sample::select};

use super::*;

const HOSTS: [&str; 6] = [
    "example.com",
    "a.example.com",
    "b.a.example.com",
    "badexample.com",
    "other.test.example",
    "test.example",
];
const PATTERNS: [&str; 6] = [
    "example.com",
    "a.example.com",
    "*.example.com",
    "*.a.example.com",
    "*.test.example",
    "test.example",
];
const PATHS: [&str; 7] = ["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/%61/x"];
const PATH_PATTERNS: [&str; 7] = ["/**", "/", "/a", "/a/**", "/a//**", "/a/b/**", "/ab"];
const PORTS: [u16; 3] = [80, 443, 8443];

fn bundles() -> Vec<Bundle> {
    ["github", "registry:npm", "internal:cache"].map(|it| it.parse().unwrap()).to_vec()
}

fn access() -> impl Strategy<Value = Access> {
    let methods = collection::btree_set(select(Method::ALL.to_vec()), 1..8);
    let paths = collection::btree_set(select(PATH_PATTERNS.to_vec()), 1..3);
    let seen = (methods, paths).prop_map(|(methods, paths)| Access::Inspected {
        methods,
        paths: paths.into_iter().filter_map(|path| path.parse().ok()).collect(),
    });
    prop_oneof![3 => seen, 1 => Just(Access::Opaque)]
}

fn rule() -> impl Strategy<Value = Rule> {
    let ports = collection::btree_set(select(PORTS.to_vec()), 1..3);
    let host = (select(PATTERNS.to_vec()), ports, access()).prop_map(|(host, ports, access)| {
        Rule::Host { host: host.parse().unwrap(), ports, access }
    });
    prop_oneof![4 => host, 1 => select(bundles()).prop_map(Rule::Bundle)]
}

fn layer(kind: LayerKind) -> impl Strategy<Value = Option<Rules>> {
    let allow = collection::btree_set(rule(), 0..6);
    let deny = collection::btree_set(rule(), 0..2);
    let rules = (allow, deny).prop_map(move |(allow, deny)| Rules { layer: kind, allow, deny });
    option::weighted(0.8, rules)
}

fn egress() -> impl Strategy<Value = Egress> {
    let layers =
        (layer(LayerKind::Organisation), layer(LayerKind::Platform), layer(LayerKind::Repository));
    layers.prop_map(|(one, two, three)| {
        let all: Vec<Egress> = [one, two, three]
            .into_iter()
            .flatten()
            .map(|rules| Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)])))
            .collect();
        let first = all.first().cloned().unwrap_or_default();
        all.iter().fold(first, |narrowed, layer| narrowed.narrow(layer))
    })
}

fn reach() -> impl Strategy<Value = Reach> {
    let http = (select(Method::ALL.to_vec()), select(PATHS.to_vec()))
        .prop_map(|(method, path)| Reach::Http { method, path: path.parse().unwrap() });
    prop_oneof![5 => http, 1 => Just(Reach::Tunnel)]
}

prop_compose! {
    fn request()(
        host in select(HOSTS.to_vec()),
        port in select(PORTS.to_vec()),
        reach in reach(),
        bundles in collection::btree_set(select(bundles()), 0..2),
    ) -> Outgoing {
        Outgoing { host: host.parse().unwrap(), port, reach, bundles }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_judgement_is_the_domains(egress in egress(), request in request()) {
        let compiled = Compiled::new(&egress, EgressPhase::Implement);
        let said = egress.judge(EgressPhase::Implement, &request);
        match compiled.judge(&request) {
            Decision::Allowed(rules) => {
                prop_assert_eq!(said, Verdict::Allowed);
                let layers: Vec<&Rules> = egress.layers(EgressPhase::Implement).collect();
                prop_assert_eq!(rules.len(), layers.len());
                for ((kind, rule), layer) in rules.into_iter().zip(layers) {
                    prop_assert!(kind == layer.layer && layer.allow.contains(rule));
                    prop_assert!(rule.matches(&request));
                }
            }
            Decision::Denied(denial) => prop_assert_eq!(said, Verdict::Denied(denial)),
        }
    }

    #[test]
    fn a_connection_is_never_wider_nor_narrower_than_what_may_be_said_over_it(
        egress in egress(),
        request in request(),
        more in collection::btree_set(select(bundles()), 0..2),
    ) {
        let compiled = Compiled::new(&egress, EgressPhase::Implement);
        let touching: BTreeSet<Bundle> = request.bundles.union(&more).cloned().collect();
        let judge = |reach: Reach| egress.judge(
            EgressPhase::Implement,
            &Outgoing { reach, ..request.clone() },
        );
        let is_allowed = judge(request.reach.clone()) == Verdict::Allowed;
        match compiled.passage(&request.host, request.port, &touching) {
            Passage::Refused(_) => {
                let is_http = matches!(request.reach, Reach::Http { .. });
                prop_assert!(!(is_allowed && is_http), "a request was cut off");
            }
            Passage::Opaque(_) => {
                prop_assert!(is_allowed, "what nobody sees would be refused if it were seen");
                prop_assert_eq!(judge(Reach::Tunnel), Verdict::Allowed);
            }
            Passage::Inspect => {}
        }
        let knows = compiled.knows(&request.host, &touching);
        prop_assert!(!is_allowed || knows.is_ok(), "an allowed host has no name");
    }
}

#[test]
fn a_deny_that_wants_to_look_makes_nothing_opaque() {
    let host: HostName = "a.example.com".parse().unwrap();
    let opaque = |pattern: &str| Rule::Host {
        host: pattern.parse().unwrap(),
        ports: BTreeSet::from([443]),
        access: Access::Opaque,
    };
    let rules = |deny: BTreeSet<Rule>| {
        let allow = BTreeSet::from([opaque("*.example.com")]);
        let rules = Rules { layer: LayerKind::Organisation, allow, deny };
        let egress = Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)]));
        Compiled::new(&egress, EgressPhase::Implement)
    };
    let none = BTreeSet::new();
    let free = rules(BTreeSet::new());
    assert!(matches!(free.passage(&host, 443, &none), Passage::Opaque(_)));
    assert!(matches!(free.passage(&host, 22, &none), Passage::Refused(_)));
    let looking = rules(BTreeSet::from([Rule::reading("a.example.com".parse().unwrap())]));
    assert_eq!(looking.passage(&host, 443, &none), Passage::Inspect);
    let github: Bundle = "github".parse().unwrap();
    let by_bundle = rules(BTreeSet::from([Rule::Bundle(github.clone())]));
    assert_eq!(by_bundle.passage(&host, 443, &BTreeSet::from([github])), Passage::Inspect);
    let closed = rules(BTreeSet::from([opaque("a.example.com")]));
    assert!(matches!(
        closed.passage(&host, 443, &none),
        Passage::Refused(Denial::Forbidden { .. })
    ));
}

/// Ten thousand rules about hosts, and ten thousand about the paths of one.
#[test]
fn the_number_of_rules_does_not_change_how_many_are_looked_at() {
    let by_host = (0..10_000).map(|n| Rule::reading(format!("h{n}.example.com").parse().unwrap()));
    let by_path = (0..10_000).map(|n| Rule::Host {
        host: "one.example.com".parse().unwrap(),
        ports: BTreeSet::from([443]),
        access: Access::Inspected {
            methods: BTreeSet::from([Method::Get]),
            paths: BTreeSet::from([format!("/p{n}/**").parse().unwrap()]),
        },
    });
    let allow = by_host.chain(by_path).collect();
    let rules = Rules { layer: LayerKind::Organisation, allow, deny: BTreeSet::new() };
    let egress = Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)]));
    let compiled = Compiled::new(&egress, EgressPhase::Implement);
    let longest = |set: &RuleSet| {
        let paths = set.exactly.values().chain(set.below.values());
        paths
            .flat_map(|paths| paths.exactly.values().chain(paths.below.values()))
            .map(Vec::len)
            .max()
    };
    assert_eq!(longest(&compiled.layers[0].allow), Some(1));
    let ask = |host: &str, path: &str| {
        let request = Outgoing {
            host: host.parse().unwrap(),
            port: 443,
            reach: Reach::Http { method: Method::Get, path: path.parse().unwrap() },
            bundles: BTreeSet::new(),
        };
        matches!(compiled.judge(&request), Decision::Allowed(_))
    };
    assert!(ask("h9999.example.com", "/x") && ask("one.example.com", "/p77/x/y"));
    assert!(!ask("h10000.example.com", "/x") && !ask("one.example.com", "/p10000/x"));
}
