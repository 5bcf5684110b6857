//! What holds for every policy, whoever wrote it.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice::from_ref,
    time::Duration,
};

use proptest::{collection::btree_set, option, prelude::*, sample::select};

use super::*;
use crate::{agent::Tier, approval::FourEyes, money::Money};

// A small world, so that random rules meet random requests often.
const HOSTS: [&str; 5] =
    ["example.com", "a.example.com", "b.a.example.com", "evil.test", "badexample.com"];
const PATTERNS: [&str; 5] =
    ["example.com", "*.example.com", "a.example.com", "*.a.example.com", "evil.test"];
const PATHS: [&str; 5] = ["/", "/a", "/a/b", "/ab", "/c%2fd"];
const PATH_PATTERNS: [&str; 5] = ["/**", "/a/**", "/a", "/a/b", "/c/**"];
const BUNDLES: [&str; 3] = ["github", "registry:npm", "internal:cache"];

fn bundle() -> impl Strategy<Value = Bundle> {
    select(&BUNDLES[..]).prop_map(|text| text.parse().unwrap())
}

fn access() -> impl Strategy<Value = Access> {
    let paths = select(&PATH_PATTERNS[..]).prop_map(|text| text.parse().unwrap());
    let inspected = (btree_set(select(&Method::ALL[..3]), 1..3), btree_set(paths, 1..3))
        .prop_map(|(methods, paths)| Access::Inspected { methods, paths });
    prop_oneof![3 => inspected, 1 => Just(Access::Opaque)]
}

fn rule() -> impl Strategy<Value = Rule> {
    let host =
        (select(&PATTERNS[..]), btree_set(select(&[443u16, 8443][..]), 1..3), access()).prop_map(
            |(host, ports, access)| Rule::Host { host: host.parse().unwrap(), ports, access },
        );
    prop_oneof![4 => host, 1 => bundle().prop_map(Rule::Bundle)]
}

fn phases(layer: LayerKind) -> impl Strategy<Value = BTreeMap<EgressPhase, Rules>> {
    let rules = (btree_set(rule(), 0..5), btree_set(rule(), 0..2))
        .prop_map(move |(allow, deny)| Rules { layer, allow, deny });
    proptest::collection::btree_map(select(&EgressPhase::ALL[..]), rules, 0..4)
}

fn ceilings() -> impl Strategy<Value = CeilingsLayer> {
    let some = || option::of(0..4u64);
    (some(), some(), some(), some(), some(), some(), some()).prop_map(
        |(cpu, memory, disk, processes, seconds, attempts, budget)| CeilingsLayer {
            cpu_millis: cpu,
            memory_bytes: memory,
            disk_bytes: disk,
            processes,
            time: seconds.map(Duration::from_secs),
            attempts,
            budget: budget.map(Money::from_micros),
        },
    )
}

fn gate() -> impl Strategy<Value = GateLayer> {
    let approver = select(vec!["user:ann", "user:ben", "team:web", "role:approver"])
        .prop_map(|text| text.parse().unwrap());
    (
        option::of(select(vec![PlanGate::Optional, PlanGate::Required])),
        option::of(select(vec![FourEyes::NotRequired, FourEyes::Required])),
        option::of(btree_set(approver, 0..3)),
        option::of((0..4u64).prop_map(Duration::from_secs)),
    )
        .prop_map(|(plan, four_eyes, approvers, timeout)| GateLayer {
            plan,
            four_eyes,
            approvers,
            timeout,
        })
}

fn triggers() -> impl Strategy<Value = TriggersLayer> {
    let bots = btree_set(select(vec!["renovate", "dependabot"]).prop_map(str::to_owned), 0..2);
    (option::of(btree_set(select(&TriggerKind::ALL[..]), 0..6)), option::of(bots))
        .prop_map(|(kinds, bots)| TriggersLayer { kinds, bots })
}

fn budgets() -> impl Strategy<Value = Budgets> {
    let one = (
        select(&BudgetScope::ALL[..2]),
        select(&BudgetPeriod::ALL[..2]),
        (0..4u64).prop_map(Money::from_micros),
    );
    proptest::collection::vec(one, 0..4).prop_map(|all| all.into_iter().collect())
}

/// Boxed, because a strategy of this many parts does not fit on a test's stack.
fn layer_of(kind: LayerKind) -> BoxedStrategy<Layer> {
    (
        (phases(kind).boxed(), ceilings().boxed(), gate().boxed()),
        option::of(select(vec![Tier::Verified, Tier::Standard, Tier::Untrusted])),
        option::of(select(&Autonomy::ALL[..])),
        triggers().boxed(),
        option::of(select(&NewPackages::ALL[..])),
        budgets().boxed(),
    )
        .prop_map(move |(first, tier, autonomy, triggers, new_packages, budgets)| {
            let (egress, ceilings, gate) = first;
            Layer { kind, egress, ceilings, tier, gate, autonomy, triggers, new_packages, budgets }
        })
        .boxed()
}

fn organisation() -> BoxedStrategy<Layer> {
    layer_of(LayerKind::Organisation)
}

fn layer() -> BoxedStrategy<Layer> {
    let kinds = [LayerKind::Platform, LayerKind::Repository, LayerKind::Approval];
    select(kinds.to_vec()).prop_flat_map(layer_of).boxed()
}

fn policy() -> BoxedStrategy<Policy> {
    (organisation(), option::of(layer()))
        .prop_map(|(organisation, below)| {
            effective(&organisation, &below.into_iter().collect::<Vec<_>>()).policy
        })
        .boxed()
}

fn request() -> impl Strategy<Value = Outgoing> {
    let http = (select(&Method::ALL[..3]), select(&PATHS[..]))
        .prop_map(|(method, path)| Reach::Http { method, path: path.parse().unwrap() });
    let reach = prop_oneof![3 => http, 1 => Just(Reach::Tunnel)];
    (select(&HOSTS[..]), select(&[443u16, 8443][..]), reach, btree_set(bundle(), 0..2)).prop_map(
        |(host, port, reach, bundles)| Outgoing {
            host: host.parse().unwrap(),
            port,
            reach,
            bundles,
        },
    )
}

fn person() -> impl Strategy<Value = Candidate> {
    let one = |name: &'static str| btree_set(Just(name.to_owned()), 0..2);
    (select(vec!["ann", "ben"]), one("web"), one("approver"))
        .prop_map(|(user, teams, roles)| Candidate { user: user.to_owned(), teams, roles })
}

fn allows(policy: &Policy, phase: EgressPhase, request: &Outgoing) -> bool {
    policy.egress.judge(phase, request) == Verdict::Allowed
}

fn is_within(inner: &Ceilings, outer: &Ceilings) -> bool {
    inner.narrow(outer) == *inner
}

/// Whether `person` may approve a plan that `requester` asked for.
fn permits(gate: &Gate, person: &Candidate, requester: &str) -> bool {
    let own_is_fine = match gate.four_eyes {
        FourEyes::NotRequired => true,
        FourEyes::Required => person.user != requester,
    };
    own_is_fine && gate.approvers.permit(person)
}

proptest! {
    #[test]
    fn narrowing_allows_exactly_what_both_allow(
        a in policy(), b in policy(), phase in select(&EgressPhase::ALL[..]), request in request(),
    ) {
        let both = narrow(&a, &b);
        let expected = allows(&a, phase, &request) && allows(&b, phase, &request);
        prop_assert_eq!(allows(&both, phase, &request), expected);
    }

    #[test]
    fn narrowing_lets_exactly_those_approve_whom_both_let(
        a in policy(), b in policy(), person in person(), requester in select(vec!["ann", "ben"]),
    ) {
        let both = narrow(&a, &b).gate;
        let expected =
            permits(&a.gate, &person, requester) && permits(&b.gate, &person, requester);
        prop_assert_eq!(permits(&both, &person, requester), expected);
    }

    #[test]
    fn nothing_in_a_narrowed_policy_exceeds_either(a in policy(), b in policy()) {
        let both = narrow(&a, &b);
        for one in [&a, &b] {
            prop_assert!(is_within(&both.ceilings, &one.ceilings));
            prop_assert!(both.tier >= one.tier);
            prop_assert!(both.autonomy <= one.autonomy);
            prop_assert!(both.new_packages >= one.new_packages);
            prop_assert!(both.gate.plan >= one.gate.plan);
            prop_assert!(
                both.gate.four_eyes == FourEyes::Required
                    || one.gate.four_eyes == FourEyes::NotRequired
            );
            prop_assert!(both.gate.timeout <= one.gate.timeout);
            prop_assert!(both.triggers.kinds.is_subset(&one.triggers.kinds));
            prop_assert!(both.triggers.bots.is_subset(&one.triggers.bots));
            for (scope, period, limit) in one.budgets.iter() {
                prop_assert!(both.budgets.get(scope, period).is_some_and(|least| least <= limit));
            }
        }
    }

    #[test]
    fn saying_it_twice_changes_nothing(a in policy()) {
        prop_assert_eq!(narrow(&a, &a), a);
    }

    #[test]
    fn the_order_of_narrowing_does_not_matter(a in policy(), b in policy(), c in policy()) {
        prop_assert_eq!(narrow(&narrow(&a, &b), &c), narrow(&a, &narrow(&b, &c)));
        prop_assert_eq!(narrow(&a, &b), narrow(&b, &a));
    }

    #[test]
    fn what_no_rule_allows_is_denied(
        phase in select(&EgressPhase::ALL[..]), request in request(), below in layer(),
    ) {
        let silent = Layer::silent(LayerKind::Organisation);
        let policy = effective(&silent, &[below]).policy;
        prop_assert!(!allows(&policy, phase, &request));
    }

    #[test]
    fn a_deny_wins_over_every_allow(
        organisation in organisation(), below in layer(),
        phase in select(&EgressPhase::ALL[..]), request in request(),
    ) {
        let policy = effective(&organisation, from_ref(&below)).policy;
        let denied = [&organisation, &below].into_iter().any(|layer| {
            let rules = layer.egress.get(&phase);
            rules.is_some_and(|rules| rules.deny.iter().any(|rule| rule.matches(&request)))
        });
        prop_assert!(!(denied && allows(&policy, phase, &request)));
    }

    #[test]
    fn a_lower_layer_never_widens(
        organisation in organisation(), middle in layer(), low in layer(),
        phase in select(&EgressPhase::ALL[..]), request in request(),
    ) {
        let outer = effective(&organisation, from_ref(&middle)).policy;
        let inner = effective(&organisation, &[middle, low]).policy;
        prop_assert_eq!(&narrow(&outer, &inner), &inner);
        prop_assert!(!allows(&inner, phase, &request) || allows(&outer, phase, &request));
    }

    /// A wish about hosts that is not reported is granted, unless someone denies it.
    #[test]
    fn what_is_not_reported_is_granted(
        organisation in organisation(), below in layer(),
        phase in select(&EgressPhase::ALL[..]), request in request(),
    ) {
        let Effective { policy, widenings } = effective(&organisation, from_ref(&below));
        let reported = |rule: &Rule| widenings.iter().any(|widening| match &widening.what {
            Wish::Reach { phase: at, rule: told, .. } => *at == phase && told == rule,
            Wish::OpenPhase { phase: at } => *at == phase,
            Wish::RaiseLimit(_) | Wish::LightenTier { .. } | Wish::SkipPlan | Wish::SkipFourEyes
            | Wish::WaitLonger | Wish::MoreAutonomy { .. } | Wish::ListenTo(_)
            | Wish::AdmitBot(_) | Wish::EasePackages { .. } => false,
        });
        let unreported = below.egress.get(&phase).is_some_and(|rules| {
            rules.allow.iter().any(|rule| rule.matches(&request) && !reported(rule))
        });
        let denied = matches!(
            policy.egress.judge(phase, &request),
            Verdict::Denied(Denial::Forbidden { .. })
        );
        prop_assert!(!unreported || denied || allows(&policy, phase, &request));
    }

    /// Every limit that is lowered without a report is taken as it was asked for.
    #[test]
    fn a_limit_is_granted_or_reported(organisation in organisation(), below in layer()) {
        let Effective { policy, widenings } = effective(&organisation, from_ref(&below));
        let reported =
            widenings.iter().any(|widening| widening.what == Wish::RaiseLimit(LimitKind::Cpu));
        if let Some(asked) = below.ceilings.cpu_millis {
            prop_assert_eq!(policy.ceilings.cpu_millis == asked, !reported);
        }
    }
}

#[test]
fn a_wish_beyond_the_parent_is_told_and_has_no_effect() {
    let rules = |layer, allow: &[&str]| Rules {
        layer,
        allow: allow
            .iter()
            .map(|text| match text.parse() {
                Ok(bundle) => Rule::Bundle(bundle),
                Err(_not_a_bundle) => Rule::reading(text.parse().unwrap()),
            })
            .collect(),
        deny: BTreeSet::new(),
    };
    let organisation = Layer {
        egress: BTreeMap::from([(
            EgressPhase::Implement,
            rules(LayerKind::Organisation, &["github", "*.example.com"]),
        )]),
        ceilings: CeilingsLayer { cpu_millis: Some(4000), ..CeilingsLayer::default() },
        tier: Some(Tier::Standard),
        gate: GateLayer {
            plan: Some(PlanGate::Required),
            four_eyes: Some(FourEyes::Required),
            ..GateLayer::default()
        },
        autonomy: Some(Autonomy::HumanReviews),
        ..Layer::silent(LayerKind::Organisation)
    };
    let wished = ["github", "registry:npm", "docs.example.com", "evil.test"];
    let repository = Layer {
        egress: BTreeMap::from([
            (EgressPhase::Implement, rules(LayerKind::Repository, &wished)),
            (EgressPhase::Setup, rules(LayerKind::Repository, &["github"])),
        ]),
        ceilings: CeilingsLayer { cpu_millis: Some(8000), ..CeilingsLayer::default() },
        tier: Some(Tier::Verified),
        gate: GateLayer {
            plan: Some(PlanGate::Optional),
            four_eyes: Some(FourEyes::NotRequired),
            ..GateLayer::default()
        },
        autonomy: Some(Autonomy::ChecksMerge),
        ..Layer::silent(LayerKind::Repository)
    };
    let Effective { policy, widenings } = effective(&organisation, &[repository]);
    let told: Vec<String> = widenings.iter().map(Widening::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    the repository asks for egress in setup, which nobody above has opened
    the repository asks for `registry:npm` in implement, which the organisation does not allow
    the repository asks for `evil.test:443 GET|HEAD|OPTIONS /**` in implement, which the organisation does not allow
    the repository asks for more cpu than it may have
    the repository makes the plan optional, but it is required
    the repository waives four eyes, but they are required
    the repository asks for tier `verified`, but `standard` is the least
    the repository asks for autonomy 3, but 1 is the most
    ");
    assert_eq!(policy.ceilings.cpu_millis, 4000);
    assert_eq!(policy.tier, Tier::Standard);
    assert_eq!(policy.gate.plan, PlanGate::Required);
    assert_eq!(policy.autonomy, Autonomy::HumanReviews);
}

#[test]
fn a_denial_says_who_and_why() {
    let ask = Outgoing {
        host: "secret.example.com".parse().unwrap(),
        port: 443,
        reach: Reach::Http { method: Method::Get, path: "/".parse().unwrap() },
        bundles: BTreeSet::new(),
    };
    let wide = Rule::reading("*.example.com".parse().unwrap());
    let secret = Rule::reading("secret.example.com".parse().unwrap());
    let organisation = |deny: &[&Rule]| {
        let rules = Rules {
            layer: LayerKind::Organisation,
            allow: BTreeSet::from([wide.clone()]),
            deny: deny.iter().map(|rule| (*rule).clone()).collect(),
        };
        Egress::of(BTreeMap::from([(EgressPhase::Review, rules)]))
    };
    let platform =
        Egress::of(BTreeMap::from([(EgressPhase::Review, Rules::closed(LayerKind::Platform))]));
    let tell = |egress: &Egress, phase| match egress.judge(phase, &ask) {
        Verdict::Allowed => "allowed".to_owned(),
        Verdict::Denied(denial) => denial.to_string(),
    };
    let told = [
        tell(&organisation(&[]), EgressPhase::Review),
        tell(&organisation(&[]), EgressPhase::Setup),
        tell(&organisation(&[&secret]), EgressPhase::Review),
        tell(&organisation(&[]).narrow(&platform), EgressPhase::Review),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
    allowed
    no policy allows anything in this phase
    the organisation denies `secret.example.com:443 GET|HEAD|OPTIONS /**`
    no rule of the platform allows it
    ");
}
