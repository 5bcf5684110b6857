//! An examination, for people and for programs.

use std::io::Write;

use serde::Serialize;
use terminal::{colors::Colors, format::write_json};

use super::{
    Examination, Verdict,
    finding::{Finding, Group, Need, Shortfall, State, Topic},
    tier::Tier,
};

const WHAT_COULD_BE: &str =
    "this is what the host could give; `lamp up` tries it and says what it does give";

pub fn print_text(
    examination: &Examination,
    colors: Colors,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for group in Group::ALL {
        writeln!(out, "{}", colors.strong(group.title()))?;
        for finding in examination.findings.iter().filter(|it| it.topic.group() == group) {
            print_finding(finding, colors, out)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{} ({WHAT_COULD_BE})", colors.strong("Tiers of isolation"))?;
    for tier in &examination.tiers {
        let stands = if tier.is_available() {
            colors.good(format!("{:<9}", "possible"))
        } else {
            colors.warning(format!("{:<9}", "not here"))
        };
        writeln!(out, "  {stands} {:<16} {}", tier.name, reason(tier))?;
    }
    writeln!(out, "\n{}", summary(examination, colors))?;
    Ok(())
}

fn print_finding(finding: &Finding, colors: Colors, out: &mut impl Write) -> anyhow::Result<()> {
    let name = format!("{:<9}", finding.state.name());
    let state = match finding.state {
        State::Ok => colors.good(name),
        State::Limited(_) => colors.warning(name),
        State::Missing(_) => colors.bad(name),
    };
    writeln!(out, "  {state} {:<16} {}", finding.topic.name(), finding.measured)?;
    if let Some(Shortfall { follows, remedy }) = finding.state.shortfall() {
        writeln!(out, "{:29}{} {follows}", "", colors.weak("follows:"))?;
        writeln!(out, "{:29}{}  {remedy}", "", colors.weak("remedy:"))?;
    }
    Ok(())
}

fn reason(tier: &Tier) -> String {
    if !tier.is_available() {
        return format!("without {}", tier.lacks.join(", "));
    }
    if tier.limited_by.is_empty() {
        return String::from("all that it requires is there");
    }
    format!("limited by {}", tier.limited_by.join(", "))
}

fn summary(examination: &Examination, colors: Colors) -> String {
    let names = |wanted: fn(&Finding) -> bool| {
        let found = examination.findings.iter().filter(|finding| wanted(finding));
        found.map(|finding| finding.topic.name()).collect::<Vec<_>>().join(", ")
    };
    if examination.verdict() == Verdict::CannotRun {
        let stops = names(|it| it.need == Need::Essential && matches!(it.state, State::Missing(_)));
        return format!("{} Essential, and missing: {stops}.", colors.bad("lamp cannot run here."));
    }
    let missing = names(|it| it.need != Need::Extra && matches!(it.state, State::Missing(_)));
    let limited = names(|it| matches!(it.state, State::Limited(_)));
    let mut text = colors.good("lamp can run here.").to_string();
    if !missing.is_empty() {
        text = format!("{text} Missing: {missing}.");
    }
    if !limited.is_empty() {
        text = format!("{text} Limited: {limited}.");
    }
    text
}

#[derive(Debug, Serialize)]
struct PrintedExamination<'a> {
    /// Rises when a key changes its meaning or goes away.
    version: u32,
    can_run: bool,
    findings: Vec<PrintedFinding<'a>>,
    tiers: Vec<PrintedTier<'a>>,
    tiers_note: &'static str,
}

#[derive(Debug, Serialize)]
struct PrintedFinding<'a> {
    name: &'static str,
    group: &'static str,
    state: &'static str,
    essential: bool,
    measured: &'a str,
    follows: Option<&'a str>,
    remedy: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct PrintedTier<'a> {
    name: &'static str,
    available: bool,
    lacks: &'a [&'static str],
    limited_by: &'a [&'static str],
}

pub fn print_json(examination: &Examination, out: &mut impl Write) -> anyhow::Result<()> {
    let findings = examination.findings.iter().map(|finding| {
        let Finding { topic, need, state, measured } = finding;
        let shortfall = state.shortfall();
        PrintedFinding {
            name: Topic::name(*topic),
            group: topic.group().name(),
            state: state.name(),
            essential: *need == Need::Essential,
            measured,
            follows: shortfall.map(|it| it.follows.as_str()),
            remedy: shortfall.map(|it| it.remedy.as_str()),
        }
    });
    let tiers = examination.tiers.iter().map(|tier| PrintedTier {
        name: tier.name,
        available: tier.is_available(),
        lacks: &tier.lacks,
        limited_by: &tier.limited_by,
    });
    let printed = PrintedExamination {
        version: 1,
        can_run: examination.verdict() == Verdict::CanRun,
        findings: findings.collect(),
        tiers: tiers.collect(),
        tiers_note: WHAT_COULD_BE,
    };
    write_json(&printed, out)
}
