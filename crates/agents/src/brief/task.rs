//! The task for a program that is no agent: the same that an agent is told, as JSON and without advice.

use contracts::agent::{Brief, InFlight, Mode};
use domain::{approval::Conditions, transcript::shortened};
use serde_json::{Value, json};

use super::{quote::TEXTS, visible};
use crate::answer::PlanShape;

/// Lines of each list, and bytes of each.
const MOST: usize = 20;
const LINE: usize = 300;

/// Bytes of the request, and of the state of the checks.
const REQUEST: usize = 64 * 1024;
const CHECKS: usize = 8 * 1024;

/// One line of JSON. It has the same keys in every mode, so that a script can rely on them.
pub fn task(mode: Mode, brief: &Brief, directories: &[String]) -> String {
    let approved = brief.approved.as_ref();
    let around = &brief.surroundings;
    let value = json!({
        "mode": mode.name(),
        "directories": directories,
        "request": text(&brief.request, REQUEST),
        "author": text(&brief.author, LINE),
        "quotes": TEXTS.first(&brief.quotes, visible).texts,
        "guidance": TEXTS.last(&brief.guidance, visible).texts,
        "feedback": TEXTS.first(&brief.feedback, visible).texts,
        "dismissed": TEXTS.last(&brief.dismissed, visible).texts,
        "plan": approved.map(|(plan, _)| PlanShape::of(plan)),
        "conditions": approved.map(|(_, allowed)| conditions(allowed)),
        "base_checks": around.base_checks.as_deref().map(|it| text(it, CHECKS)),
        "issues": lines(&around.issues),
        "in_flight": around.in_flight.iter().take(MOST).map(in_flight).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn text(text: &str, limit: usize) -> String {
    visible(&shortened(text.to_owned(), limit))
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().take(MOST).map(|it| text(it, LINE)).collect()
}

fn in_flight(it: &InFlight) -> Value {
    json!({
        "title": text(&it.title, LINE),
        "branch": text(&it.branch, LINE),
        "paths": lines(&it.paths),
    })
}

/// `null` where the approver said nothing.
fn conditions(it: &Conditions) -> Value {
    json!({
        "paths": it.paths,
        "hosts": it.hosts,
        "commands": it.commands,
        "budget_micros": it.budget.map(domain::money::Money::as_micros),
        "seconds": it.time.map(|time| time.as_secs()),
    })
}
