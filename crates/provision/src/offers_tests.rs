//! Agents of repositories: which of them there are, and that none gets more for having a file.

use std::collections::BTreeSet;

use config::agent::Pusher;
use contracts::{
    agent::Mode,
    order::{Wish, WishedRepository},
    outfit::Wanted,
    sandbox::Base,
};
use domain::{
    approval::{Approvers, FourEyes},
    id::{PersonId, TaskId},
    limits::Limits,
    people::{Person, Role},
    phase::Phase,
    policy::{EgressPhase, Method, Outgoing, Reach, Verdict},
    request::{ChannelKind, Request},
    task::Purpose,
};
use proptest::{prelude::*, sample::select};

use super::*;
use crate::{agents::tests::said, layers::Layers, order::order, outfit::Sketch, roster};

const SERVER: &str = "models: [{ name: a, provider: anthropic, model: big }, { name: b, provider: openai, model: other }]\n\
    repositories: [{ name: acme/web, secrets: [NPM_TOKEN], images: [node:24] }]\n\
    defaults: { cpu: 2, memory: 2GiB, disk: 10GiB, timeout: 1h, attempts: 4, budget: $5 }\n";

const POLICY: &str = "version: 1\nlimits: { memory: 1GiB, attempts: 3 }\n\
    approval: { approvers: [user:local, team:web], timeout: 12h, four_eyes: true }\negress:\n\
    \x20 setup: { allow: [a.example.com] }\n\
    \x20 research: { allow: ['model:anthropic', 'model:openai', a.example.com] }\n\
    \x20 implement: { allow: ['model:anthropic', 'model:openai', a.example.com, b.example.com], deny: [b.example.com] }\n\
    \x20 review: { allow: ['model:anthropic', 'model:openai'] }\n";

const FIX: &str = "lamp: { version: 1, name: fix }\nagent: { driver: command, command: ./fix }\n\
    sandbox: { repositories: [{ name: any }] }\n";

const HOSTS: [&str; 3] = ["a.example.com", "b.example.com", "c.example.com"];

fn offers(files: &[(&str, &str)]) -> Offers {
    let offer = |(name, text): &(&str, &str)| Offer {
        name: (*name).to_owned(),
        text: Ok((*text).to_owned()),
    };
    Offers {
        repository: "acme/web".parse().unwrap(),
        commit: "c".repeat(40).parse().unwrap(),
        files: files.iter().map(offer).collect(),
    }
}

fn wish(agent: Option<&str>) -> Wish {
    Wish {
        by: Person { id: PersonId::from_u128(1), role: Role::Admin, teams: BTreeSet::new() },
        door: ChannelKind::Cli,
        text: "fix it".to_owned(),
        repositories: vec![WishedRepository {
            name: "acme/web".parse().unwrap(),
            url: "/srv/web".to_owned(),
            revision: None,
            access: None,
        }],
        agent: agent.map(|agent| agent.parse().unwrap()),
        model: None,
        attempts: None,
        budget: None,
    }
}

fn ordered(said: &ServerFiles, agent: Option<&str>) -> Result<(Request, Limits), String> {
    let order = order(said, &Layers::of(said).unwrap(), &wish(agent));
    let order = order.map_err(|error| error.to_string())?;
    Ok((Request::freeze(order.trigger, &[]).unwrap(), order.limits))
}

#[test]
fn a_repository_brings_agents_and_its_only_one_works_where_nobody_says_who() {
    let server = said(SERVER, &[]);
    let said = with_offers(&server, &offers(&[("fix.yaml", FIX), ("theirs.yaml", "tools: []\n")]));
    let (request, _) = ordered(&said, None).unwrap();
    assert_eq!(request.agent.as_str(), "fix");
    let expected = Definition::Repository {
        repository: "acme/web".parse().unwrap(),
        commit: "c".repeat(40).parse().unwrap(),
        file: "agents/fix.yaml".to_owned(),
        digest: Digest::of(FIX.as_bytes()),
    };
    assert_eq!(request.definition, Some(expected));
    let other = FIX.replace("name: fix", "name: other");
    let two = with_offers(&server, &offers(&[("fix.yaml", FIX), ("other.yaml", &other)]));
    assert_eq!(ordered(&two, None).unwrap().0.definition, Some(Definition::BuiltIn));
}

#[test]
fn what_the_server_calls_an_agent_stays_what_it_is() {
    let servers = FIX.replace("./fix", "./the-server-s");
    let server = said(SERVER, &[("agents/fix.yaml", &servers)]);
    let said = with_offers(&server, &offers(&[("a.yaml", FIX)]));
    let (request, _) = ordered(&said, Some("fix")).unwrap();
    assert_eq!(request.definition.unwrap().origin(), "server");
    assert_eq!(said.staff.hidden().len(), 1, "and that is told");
    // Also where the server's is wrong: nobody slips in for it.
    let server = crate::agents::tests::said(SERVER, &[("agents/fix.yaml", "lamp: {")]);
    let said = with_offers(&server, &offers(&[("a.yaml", FIX)]));
    let refused = ordered(&said, Some("fix")).unwrap_err();
    assert!(refused.contains("agents/fix.yaml:1:"), "{refused}");
}

#[test]
fn a_wrong_file_breaks_its_own_agent_with_the_line_and_what_helps() {
    let wrong = format!("{FIX}limits: {{ budgets: $1 }}\n");
    let offers = offers(&[("fix.yaml", &wrong)]);
    let said = with_offers(&said(SERVER, &[]), &offers);
    insta::assert_snapshot!(ordered(&said, Some("fix")).unwrap_err(), @r"
    the agent `fix` is broken: acme/web@cccccccccccc:agents/fix.yaml:4:11: `limits` has no key `budgets`
      help: did you mean `budget`?
    ");
    let usual = ordered(&said, None).unwrap_err();
    assert!(usual.contains("agents/fix.yaml:4:11"), "nobody works in its place unasked: {usual}");
    assert!(ordered(&said, Some("builtin")).is_ok(), "others work");
    let unread = Offer { name: "big.yaml".to_owned(), text: Err("it is too large".to_owned()) };
    let offers = Offers { files: vec![unread], ..offers };
    let said = with_offers(&crate::agents::tests::said(SERVER, &[]), &offers);
    assert!(ordered(&said, None).is_ok(), "it may be anybody's");
    assert!(ordered(&said, Some("big")).unwrap_err().contains("too large"));
}

#[test]
fn a_task_works_by_the_definition_that_it_was_begun_with() {
    let server = said(SERVER, &[("agents/own.yaml", &FIX.replace("name: fix", "name: own"))]);
    let (own, _) = ordered(&server, Some("own")).unwrap();
    let (program, _) = ordered(&server, Some("builtin")).unwrap();
    let (fix, _) =
        ordered(&with_offers(&server, &offers(&[("a.yaml", FIX)])), Some("fix")).unwrap();
    // Since then all of them are others.
    let later = FIX.replace("./fix", "./evil");
    let builtin = later.replace("name: fix", "name: builtin");
    let now = said(
        SERVER,
        &[
            ("agents/own.yaml", &later.replace("name: fix", "name: own")),
            ("agents/fix.yaml", &later),
            ("agents/builtin.yaml", &builtin),
        ],
    );
    let command = |request: &Request, text: &str| {
        let frozen = frozen(&now, request.definition.as_ref().unwrap(), text).unwrap();
        let post = roster::place(&frozen, &request.agent, Mode::Implement, None).unwrap().post;
        (post.program.name, post.command)
    };
    assert_eq!(command(&fix, FIX), ("command", Some("./fix".to_owned())));
    let text = FIX.replace("name: fix", "name: own");
    assert_eq!(command(&own, &text), ("command", Some("./fix".to_owned())));
    assert_eq!(command(&program, ""), ("builtin", None));
    // What the server grants is asked anew.
    let secret = format!("{FIX}limits: {{ budget: $1 }}\n")
        .replace("[{ name: any }] }", "[{ name: any }], variables: [{ name: NPM_TOKEN }] }");
    let definition = fix.definition.unwrap();
    assert!(frozen(&now, &definition, &secret).is_ok());
    let withdrawn = said(&SERVER.replace("[NPM_TOKEN]", "[]"), &[]);
    assert!(frozen(&withdrawn, &definition, &secret).unwrap_err().contains("NPM_TOKEN"));
}

/// What a hostile file says, in every key that means something.
fn any_file() -> impl Strategy<Value = String> {
    let one = |all: &[&'static str]| select(all.to_vec());
    let network = || {
        one(&[
            "",
            "a.example.com",
            "a.example.com, b.example.com",
            "c.example.com",
            "'model:openai'",
            "github",
        ])
    };
    let sandbox = (
        one(&[
            "",
            "image: { base: node:24 }, ",
            "image: { base: /etc }, ",
            "image: { base: evil:1 }, ",
        ]),
        one(&[
            "",
            "compute: { cpu: 16, memory: 64GiB, disk: 1TiB, timeout: 24h }, ",
            "compute: { cpu: 0.5, memory: 512MiB }, ",
        ]),
        one(&["", "tier: verified, ", "tier: standard, ", "tier: untrusted, "]),
        one(&["", "push: agent, "]),
        one(&[
            "",
            "variables: [{ name: NPM_TOKEN }], ",
            "variables: [{ name: DEPLOY_KEY }], ",
            "variables: [{ name: NPM_TOKEN, expose: env }], ",
        ]),
        one(&["{ name: any }", "{ name: acme/web }", "{ name: web }, { name: payroll }"]),
    );
    let plan = one(&[
        "",
        "plan: { timeout: 90d }\n",
        "plan: { approvers: [user:mallory], four_eyes: false }\n",
        "plan: { approvers: [team:web] }\n",
    ]);
    let limits = one(&[
        "",
        "limits: { attempts: 20, budget: $100, answer: 90d }\n",
        "limits: { attempts: 1, budget: $1 }\n",
    ]);
    let phases = one(&[
        "",
        "phases: { research: { timeout: 24h }, implement: { timeout: 24h }, review: { timeout: 24h }, verify: { timeout: 24h } }\n",
        "phases: { review: { driver: command, command: echo ok } }\n",
    ]);
    let driver =
        one(&["builtin", "claude-code", "command, command: sh evil", "acp, command: evil"]);
    let rest = (plan, limits, phases, driver, one(&["", "autonomy: 3\n"]));
    (sandbox, rest, network(), network(), network(), network()).prop_map(
        |(sandbox, (plan, limits, phases, driver, autonomy), setup, research, implement, review)| {
            let (image, compute, tier, push, variables, repositories) = sandbox;
            format!(
                "lamp: {{ version: 1, name: fix }}\nagent: {{ driver: {driver} }}\n\
                 sandbox: {{ {image}{compute}{tier}{push}{variables}repositories: [{repositories}] }}\n\
                 egress: {{ setup: [{setup}], research: [{research}], implement: [{implement}], review: [{review}] }}\n\
                 {plan}{limits}{phases}{autonomy}"
            )
        },
    )
}

/// All that a task gets, as it can be compared.
struct Got {
    request: Request,
    limits: Limits,
    sandboxes: Vec<Sandbox>,
}

struct Sandbox {
    tier: domain::agent::Tier,
    compute: contracts::sandbox::Compute,
    base: Base,
    secrets: Vec<String>,
    pusher: Pusher,
    hosts: Vec<&'static str>,
    models: Vec<String>,
}

fn get(host: &str) -> Outgoing {
    Outgoing {
        host: host.parse().unwrap(),
        port: 443,
        reach: Reach::Http { method: Method::Get, path: "/".parse().unwrap() },
        bundles: BTreeSet::new(),
    }
}

fn got(said: &ServerFiles, agent: &str) -> Result<Got, String> {
    let (request, limits) = ordered(said, Some(agent))?;
    let layers = Layers::of(said).unwrap();
    let mut sandboxes = Vec::new();
    for purpose in [Purpose::Research, Purpose::Implement, Purpose::Verify, Purpose::Review] {
        let wanted = Wanted {
            task: TaskId::from_u128(1),
            request: &request,
            purpose,
            conditions: None,
            budget: limits.budget,
            branch: None,
            taken_up: 0,
            asked_at: domain::time::Timestamp::from_millis(0),
            news: None,
        };
        let member = roster::member(said, &request.agent)?;
        let sketch = Sketch { wanted: &wanted, said, layers: &layers, member };
        sketch.refuse_unknown()?;
        for granted in [sketch.network()?, sketch.setup_network()?] {
            let (egress, phase) = (&granted.network.egress, granted.network.phase);
            let may = |host: &&str| egress.judge(phase, &get(host)) == Verdict::Allowed;
            let is_model = |word: &&String| word.starts_with("model:");
            sandboxes.push(Sandbox {
                tier: sketch.tier(),
                compute: sketch.compute(),
                base: sketch.base(),
                secrets: sketch.secrets()?.iter().map(ToString::to_string).collect(),
                pusher: sketch.pusher(),
                hosts: HOSTS.into_iter().filter(may).collect(),
                models: granted.allowed.iter().filter(is_model).cloned().collect(),
            });
        }
    }
    Ok(Got { request, limits, sandboxes })
}

/// What a setup may reach without any file: all that the policy allows one.
fn possible_hosts(said: &ServerFiles) -> Vec<&'static str> {
    let network =
        Layers::of(said).unwrap().for_setup(&contracts::sandbox::Owner::Person(String::new()));
    let may =
        |host: &&str| network.egress.judge(EgressPhase::Setup, &get(host)) == Verdict::Allowed;
    HOSTS.into_iter().filter(may).collect()
}

fn is_within(file: &Got, plain: &Got, setup: &[&str]) {
    assert_eq!(file.request.repositories, plain.request.repositories);
    let (file_limits, plain_limits) = (&file.limits, &plain.limits);
    assert!(file_limits.attempts <= plain_limits.attempts);
    assert!(file_limits.budget <= plain_limits.budget);
    assert!(file_limits.answer_patience <= plain_limits.answer_patience);
    assert!(file_limits.gate.patience <= plain_limits.gate.patience);
    assert_eq!(file_limits.gate.four_eyes, FourEyes::Required);
    for phase in Phase::ALL {
        assert!(file_limits.time.of(phase) <= plain_limits.time.of(phase), "{phase:?}");
    }
    match (&file_limits.gate.approvers, &plain_limits.gate.approvers) {
        (Approvers::Listed { people, teams }, Approvers::Listed { people: most, teams: all }) => {
            assert!(people.is_subset(most) && teams.is_subset(all));
        }
        (file, plain) => panic!("{file:?}, {plain:?}"),
    }
    for (number, (one, other)) in file.sandboxes.iter().zip(&plain.sandboxes).enumerate() {
        assert!(one.tier >= other.tier);
        let (less, more) = (one.compute, other.compute);
        assert!(less.cpu_millis <= more.cpu_millis && less.memory_mib <= more.memory_mib);
        assert!(less.disk_mib <= more.disk_mib && less.processes <= more.processes);
        assert!(less.lifetime <= more.lifetime);
        assert!(one.base == other.base || one.base == Base::Oci("node:24".to_owned()));
        assert!(one.secrets.iter().all(|secret| secret == "NPM_TOKEN"), "{:?}", one.secrets);
        assert_eq!(one.pusher, Pusher::Platform);
        let most: &[&str] = if number % 2 == 0 { &other.hosts } else { setup };
        assert!(one.hosts.iter().all(|host| most.contains(host)), "{:?}", one.hosts);
        assert!(one.models.len() <= 1, "its own at the most: {:?}", one.models);
    }
}

proptest! {
    /// PO2: whatever a repository's file says, its task is refused, or gets no more than one without any file.
    #[test]
    fn no_file_of_a_repository_widens_anything(text in any_file()) {
        let server = said(SERVER, &[("policy.yaml", POLICY)]);
        let plain = got(&server, "builtin").unwrap();
        let offered = with_offers(&server, &offers(&[("fix.yaml", &text)]));
        if let Ok(file) = got(&offered, "fix") {
            is_within(&file, &plain, &possible_hosts(&server));
            // Also when it is read again for a later sandbox of the task.
            let again = frozen(&server, file.request.definition.as_ref().unwrap(), &text).unwrap();
            is_within(&got(&again, "fix").unwrap(), &plain, &possible_hosts(&server));
        }
    }
}

#[test]
fn a_modest_file_is_heard() {
    let server = said(SERVER, &[("policy.yaml", POLICY)]);
    let text = FIX.replace(
        "{ repositories",
        "{ compute: { cpu: 0.5 }, tier: untrusted, variables: [{ name: NPM_TOKEN }], repositories",
    ) + "egress: { implement: [a.example.com] }\nlimits: { budget: $1 }\n";
    let offered = with_offers(&server, &offers(&[("fix.yaml", &text)]));
    let got = got(&offered, "fix").unwrap();
    assert_eq!(got.limits.budget, domain::money::Money::from_dollars(1));
    let work = &got.sandboxes[2];
    assert_eq!((work.compute.cpu_millis, work.tier), (500, domain::agent::Tier::Untrusted));
    assert_eq!(
        (&*work.hosts, &*work.secrets),
        (&["a.example.com"][..], &["NPM_TOKEN".to_owned()][..])
    );
}
