//! The rules as tables: what each layer says, and what that leaves.

use std::collections::BTreeSet;

use contracts::order::{Wish, WishedRepository};
use domain::{
    id::{PersonId, TaskId},
    money::Money,
    people::{Person, Role},
    policy::{EgressPhase, Method, Outgoing, Reach, Rule, Verdict},
    request::ChannelKind,
};

use crate::{
    agents::tests::said,
    layers::Layers,
    network::{Asked, Models, Request, grant},
    order::order,
};

/// What a host of each layer's words is.
struct Row {
    policy: &'static str,
    platform: &'static str,
    asked: Option<&'static [&'static str]>,
    approved: Option<&'static [&'static str]>,
    reached: &'static [&'static str],
}

const HOSTS: [&str; 4] = ["a.example.com", "b.example.com", "c.example.com", "d.example.com"];

fn rules(words: &[&str]) -> Vec<Rule> {
    words.iter().map(|word| config::rules::rule(word).unwrap()).collect()
}

fn get(host: &str) -> Outgoing {
    Outgoing {
        host: host.parse().unwrap(),
        port: 443,
        reach: Reach::Http { method: Method::Get, path: "/".parse().unwrap() },
        bundles: BTreeSet::new(),
    }
}

/// A sandbox reaches what organisation, platform, agent and approver all allow, and nothing else; what an agent asks for beyond the others is
/// refused before anything is made.
#[test]
fn a_sandbox_reaches_what_every_layer_allows_and_nothing_else() {
    const ALL: &str = "allow: [a.example.com, b.example.com, c.example.com]";
    const TWO: &str = "egress: { implement: { allow: [a.example.com, b.example.com] } }\n";
    const NOT_A: &str =
        "egress: { implement: { allow: [a.example.com, b.example.com], deny: [a.example.com] } }\n";
    let none = Row { policy: ALL, platform: "", asked: None, approved: None, reached: &[] };
    let table = [
        Row { reached: &["a.example.com", "b.example.com", "c.example.com"], ..none },
        Row { platform: TWO, reached: &["a.example.com", "b.example.com"], ..none },
        Row { platform: NOT_A, reached: &["b.example.com"], ..none },
        Row { asked: Some(&["b.example.com"]), reached: &["b.example.com"], ..none },
        Row { asked: Some(&[]), reached: &[], ..none },
        Row { approved: Some(&["c.example.com"]), reached: &["c.example.com"], ..none },
        Row { approved: Some(&["d.example.com"]), reached: &[], ..none },
        Row {
            platform: TWO,
            asked: Some(&["a.example.com", "b.example.com"]),
            approved: Some(&["b.example.com", "c.example.com"]),
            reached: &["b.example.com"],
            ..none
        },
        Row { policy: "allow: []", reached: &[], ..none },
        // What is beyond the others is told, and nothing is made.
        Row { asked: Some(&["d.example.com"]), reached: &["refused"], ..none },
        Row { platform: TWO, asked: Some(&["c.example.com"]), reached: &["refused"], ..none },
        Row { platform: NOT_A, asked: Some(&["a.example.com"]), reached: &["refused"], ..none },
    ];
    for (number, row) in table.iter().enumerate() {
        let policy = format!("version: 1\negress: {{ implement: {{ {} }} }}\n", row.policy);
        let layers = Layers::of(&said(row.platform, &[("policy.yaml", &policy)])).unwrap();
        let asked = row.asked.map(rules);
        let hosts = row.approved.map(|all| all.iter().map(|&host| host.to_owned()).collect());
        let request = Request {
            task: TaskId::from_u128(1),
            phase: EgressPhase::Implement,
            asked: match &asked {
                None => Asked::Everything,
                Some(rules) => Asked::Written { rules, models: Models::AsWritten },
            },
            model: None,
            hosts: hosts.as_ref(),
        };
        let reached: Vec<&str> = match grant(&layers, request) {
            Err(_) => vec!["refused"],
            Ok(granted) => {
                let egress = &granted.network.egress;
                let may = |host: &&str| {
                    egress.judge(EgressPhase::Implement, &get(host)) == Verdict::Allowed
                };
                HOSTS.into_iter().filter(may).collect()
            }
        };
        assert_eq!(reached, row.reached, "row {number}");
    }
}

/// Dollars and attempts of a task, as each layer and the wish have them.
struct Limited {
    policy: &'static str,
    platform: &'static str,
    file: &'static str,
    wish: (Option<u64>, Option<u8>),
    held: Result<(u64, u8), &'static str>,
}

/// The nearest word holds (what is wished, the agent's file, the server's defaults), and never more than the policy's and the platform's ceilings. A wish
/// beyond them is refused; what only stands in a file is cut.
#[test]
fn limits_are_the_nearest_word_and_never_more_than_a_ceiling() {
    const USUAL: Limited =
        Limited { policy: "", platform: "", file: "", wish: (None, None), held: Ok((10, 5)) };
    const POLICY: &str = "limits: { budget: $6, attempts: 4 }\n";
    const PLATFORM: &str = "limits: { budget: $5, attempts: 3 }\n";
    const DEFAULTS: &str = "defaults: { budget: $8, attempts: 2 }\n";
    const FILE: &str = "limits: { budget: $7, attempts: 6 }\n";
    let table = [
        USUAL,
        Limited { platform: DEFAULTS, held: Ok((8, 2)), ..USUAL },
        Limited { file: FILE, held: Ok((7, 6)), ..USUAL },
        Limited { platform: DEFAULTS, file: FILE, held: Ok((7, 6)), ..USUAL },
        Limited { policy: POLICY, held: Ok((6, 4)), ..USUAL },
        Limited { policy: POLICY, file: FILE, held: Ok((6, 4)), ..USUAL },
        Limited { policy: POLICY, platform: PLATFORM, file: FILE, held: Ok((5, 3)), ..USUAL },
        Limited { wish: (Some(3), Some(1)), held: Ok((3, 1)), ..USUAL },
        Limited { policy: POLICY, wish: (Some(6), Some(4)), held: Ok((6, 4)), ..USUAL },
        Limited { policy: POLICY, wish: (Some(7), None), held: Err("$6"), ..USUAL },
        Limited { policy: POLICY, wish: (None, Some(5)), held: Err("4 attempts"), ..USUAL },
        Limited { platform: PLATFORM, wish: (Some(6), None), held: Err("$5"), ..USUAL },
        // A file's own word is a ceiling for whoever asks this agent.
        Limited { file: FILE, wish: (Some(8), None), held: Err("$7"), ..USUAL },
    ];
    for (number, row) in table.iter().enumerate() {
        let server =
            format!("models: [{{ name: a, provider: anthropic, model: big }}]\n{}", row.platform);
        let egress = "egress: { research: { allow: ['model:anthropic'] } }\n";
        let policy = format!("version: 1\n{egress}{}", row.policy);
        let file = format!(
            "lamp: {{ version: 1, name: fix }}\nagent: {{ driver: builtin }}\n\
             sandbox: {{ repositories: [{{ name: web }}] }}\n{}",
            row.file
        );
        let mut files = vec![("policy.yaml", policy.as_str())];
        if !row.file.is_empty() {
            files.push(("agents/fix.yaml", file.as_str()));
        }
        let said = said(&server, &files);
        let (dollars, attempts) = row.wish;
        let wish = Wish {
            by: Person { id: PersonId::from_u128(1), role: Role::Admin, teams: BTreeSet::new() },
            door: ChannelKind::Cli,
            text: "fix it".to_owned(),
            repositories: vec![WishedRepository {
                name: "web".parse().unwrap(),
                url: "/srv/web".to_owned(),
                revision: None,
                access: None,
            }],
            agent: None,
            model: None,
            attempts,
            budget: dollars.map(Money::from_dollars),
        };
        let ordered = order(&said, &Layers::of(&said).unwrap(), &wish);
        match (ordered, row.held) {
            (Ok(ordered), Ok((dollars, attempts))) => {
                let held = (ordered.limits.budget, ordered.limits.attempts);
                assert_eq!(held, (Money::from_dollars(dollars), attempts), "row {number}");
            }
            (Err(refused), Err(word)) => {
                assert!(refused.to_string().contains(word), "row {number}: {refused}");
            }
            (ordered, held) => panic!("row {number}: {ordered:?}, and not {held:?}"),
        }
    }
}
