//! The rules, told as stories, and then attacked with random commands.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing")]

mod dismissing;
mod properties;
mod stories;

use std::collections::BTreeSet;

use super::*;
use crate::{
    approval::{Conditions, FourEyes, GateRules},
    code::{Access, CommitId, PullRequestNumber},
    digest::Digest,
    failure::{Failure, FailureKind},
    finding::FindingId,
    id::{QuestionId, TaskId},
    people::{Person, Role},
    phase::Phase,
    plan::{Plan, PlanHash},
    progress::Footprint,
    question::Question,
    request::{ChannelKind, RepositoryUse, Source},
};

const ANN: PersonId = PersonId::from_u128(1);
const BOB: PersonId = PersonId::from_u128(2);

fn person(id: PersonId, role: Role) -> Person {
    Person { id, role, teams: BTreeSet::new() }
}

fn ann() -> Person {
    person(ANN, Role::Delegator)
}

fn bob() -> Person {
    person(BOB, Role::Approver)
}

fn requested(limits: Limits) -> Event {
    let request = Request {
        text: "fix the flaky login test".to_owned(),
        author: ANN,
        role: Role::Delegator,
        source: Source { channel: ChannelKind::Cli, thread: String::new() },
        repositories: vec![RepositoryUse {
            name: "acme/web".parse().unwrap(),
            access: Access::Write,
        }],
        agent: "fix-issue".parse().unwrap(),
        definition: None,
        model: None,
        quotes: Vec::new(),
        parent: None::<TaskId>,
    };
    Event::Requested { request, limits }
}

fn limits() -> Limits {
    Limits { attempts: 2, follow_ups: 1, ..Limits::default() }
}

fn plan(number: u32) -> Plan {
    let mut plan = crate::plan::tests::sample();
    plan.summary = format!("plan {number}");
    plan
}

fn commit(number: u32) -> CommitId {
    format!("{number:040x}").parse().unwrap()
}

fn remark(name: &str) -> Remark {
    let (by, text) = ("carol".to_owned(), "also the docs".to_owned());
    let speaker = Speaker::Known;
    Remark { kind: RemarkKind::Comment, name: name.to_owned(), by, speaker, text }
}

fn evidence() -> Digest {
    Digest::of(b"evidence")
}

fn ask(by: Person, ask: Ask) -> Command {
    Command::Ask { by, ask }
}

fn approve(number: u32) -> Command {
    ask(bob(), Ask::Approve { plan: plan(number).hash(), conditions: Conditions::default() })
}

fn report(report: Report) -> Command {
    Command::Report(report)
}

fn admitted_and_prepared() -> [Command; 2] {
    let (sandbox, left) = (SandboxId::from_u128(1), Leftovers::default());
    [report(Report::Admitted), report(Report::Prepared { sandbox, commit: commit(0), left })]
}

fn researched_and_planned(number: u32) -> [Command; 2] {
    [
        report(Report::Researched { notes: evidence(), session: Some("s".to_owned()) }),
        report(Report::PlanWritten { plan: plan(number), session: None }),
    ]
}

fn implemented(number: u32) -> Command {
    let difference = Digest::of(&number.to_be_bytes());
    report(Report::Implemented {
        base: commit(0),
        commit: commit(number),
        difference,
        record: evidence(),
        session: None,
    })
}

fn checks_failed(name: &str, number: u32) -> Command {
    let change = Digest::of(&number.to_be_bytes());
    let footprint = Footprint::new(&[name.to_owned()], change);
    report(Report::ChecksFailed { footprint, evidence: evidence() })
}

fn finding(what: &str) -> FindingId {
    FindingId::of("src/login.rs", what, "an empty name")
}

fn faults(what: &[&str]) -> Command {
    let findings = what.iter().map(|what| finding(what)).collect();
    report(Report::ReviewFoundFaults { evidence: evidence(), findings })
}

fn to_the_gate() -> Vec<Command> {
    admitted_and_prepared().into_iter().chain(researched_and_planned(1)).collect()
}

fn to_implementing() -> Vec<Command> {
    let mut commands = to_the_gate();
    commands.push(approve(1));
    commands.extend(admitted_and_prepared());
    commands
}

fn to_the_pull_request() -> Vec<Command> {
    let mut commands = to_implementing();
    commands.extend([
        implemented(1),
        report(Report::ChecksPassed { evidence: evidence() }),
        report(Report::ReviewPassed { evidence: evidence() }),
        report(Report::Delivered { number: PullRequestNumber(42), receipt: evidence() }),
    ]);
    commands
}

fn name(command: &Command) -> &'static str {
    match command {
        Command::Ask { ask, .. } => ask.name(),
        Command::Report(report) => report.name(),
    }
}

/// Plays `commands` against a new task and tells the story, one line each.
fn story(limits: Limits, commands: Vec<Command>) -> String {
    let mut task = Task::replay([&requested(limits)]).unwrap();
    let mut lines = Vec::new();
    for command in commands {
        let asked = name(&command);
        match decide(&task, command) {
            Ok(event) => {
                task = task.after(&event);
                lines.push(format!("{asked:<20} -> {}", task.stage.name()));
            }
            Err(refusal) => lines.push(format!("{asked:<20} -x {refusal}")),
        }
    }
    lines.join("\n")
}
