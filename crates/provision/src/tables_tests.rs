//! The rules as tables: what each layer says, and what that leaves.

use std::collections::BTreeSet;

use domain::{
    id::TaskId,
    policy::{EgressPhase, Method, Outgoing, Reach, Rule, Verdict},
};

use crate::{
    agents::tests::said,
    layers::Layers,
    network::{Asked, Models, Request, grant},
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
