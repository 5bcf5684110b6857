//! The plan, as the person sees it who decides about it: everything that its hash covers.

use std::io;

use domain::plan::Plan;

use crate::paper::{Ink, Paper};

pub(crate) fn show(paper: &Paper, plan: &Plan) -> io::Result<()> {
    let rule = "─".repeat(76);
    paper.line(format_args!("  ┌{rule}"))?;
    let name = paper.ink(Ink::Heading, format_args!("Plan {}", plan.hash().short()));
    paper.line(format_args!("  │ {name}"))?;
    let files = plan.files.iter().map(|file| format!("{} ({})", file.path, file.why)).collect();
    let sections: [(&str, Vec<String>); 7] = [
        ("summary", vec![plan.summary.clone()]),
        ("files", files),
        ("tests", plan.tests.clone()),
        ("then", vec![plan.expected_behaviour.clone()]),
        ("commands", plan.commands.clone()),
        ("hosts", plan.hosts.clone()),
        ("risks", plan.risks.clone()),
    ];
    for (name, items) in sections {
        section(paper, name, &items)?;
    }
    section(paper, "estimate", &[estimate(plan)])?;
    let hash = paper.ink(Ink::Quiet, format_args!("sha-256 {}", plan.hash()));
    paper.line(format_args!("  │ {hash}"))?;
    paper.line(format_args!("  └{rule}"))
}

fn section(paper: &Paper, name: &str, items: &[String]) -> io::Result<()> {
    let first = items.first().map_or("none", String::as_str);
    let name = paper.ink(Ink::Quiet, format_args!("{name:<9}"));
    paper.line(format_args!("  │ {name} {first}"))?;
    items.iter().skip(1).try_for_each(|item| paper.line(format_args!("  │ {:9} {item}", "")))
}

/// Without history no figure is made up.
fn estimate(plan: &Plan) -> String {
    let time = plan.estimate.time.map(|time| format!("{} minutes", time.as_secs().div_ceil(60)));
    let cost = plan.estimate.cost.map(|cost| cost.to_string());
    let known: Vec<String> = [time, cost].into_iter().flatten().collect();
    if known.is_empty() { "unknown: no history to go by".to_owned() } else { known.join(", ") }
}
