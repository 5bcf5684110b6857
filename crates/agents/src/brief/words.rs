//! What people and checks have said about the work itself: guidance, feedback, and the plan that was approved.

use contracts::agent::Brief;
use domain::{approval::Conditions, plan::Plan, transcript::shortened};

use super::quote::{Quotes, TEXTS, fenced, line, quoted};
use crate::answer::PlanShape;

/// Bytes of an approved plan.
const PLAN: usize = 128 * 1024;

/// Paths, hosts or commands of a condition that are named one by one.
const NAMED: usize = 100;

/// People's later words: the newest of them, in their order.
pub(super) fn guidance(brief: &Brief) -> Quotes {
    TEXTS.last(&brief.guidance, quoted)
}

/// What was found, the newest first.
pub(super) fn feedback(brief: &Brief) -> Quotes {
    TEXTS.first(&brief.feedback, quoted)
}

/// What nobody needs to mend or to find again: the newest of it, in its order.
pub(super) fn dismissed(brief: &Brief) -> Quotes {
    TEXTS.last(&brief.dismissed, quoted)
}

pub(super) fn plan(plan: &Plan) -> String {
    // Plans are plain data, which can always be written.
    let text = serde_json::to_string_pretty(&PlanShape::of(plan)).unwrap_or_default();
    fenced("json", &shortened(text, PLAN))
}

/// What the approver allows, in sentences.
pub(super) fn conditions(conditions: &Conditions) -> Vec<String> {
    let Conditions { paths, hosts, commands, budget, time } = conditions;
    let only = |what: &str, names: Option<&std::collections::BTreeSet<String>>| {
        let names = names?;
        if names.is_empty() {
            return Some(format!("no {what} at all"));
        }
        let listed: Vec<String> =
            names.iter().take(NAMED).map(|it| format!("`{}`", line(it))).collect();
        let more = if names.len() > NAMED { ", and more" } else { "" };
        Some(format!("only these {what}: {}{more}", listed.join(", ")))
    };
    let paths = only("paths, and what is below them", paths.as_ref());
    let hosts = only("hosts", hosts.as_ref());
    let commands = only("commands", commands.as_ref());
    let budget = budget.map(|money| format!("at most {money}"));
    let time = time.map(|time| match time.as_secs() {
        seconds if seconds % 60 == 0 => format!("at most {} minutes", seconds / 60),
        seconds => format!("at most {seconds} seconds"),
    });
    [paths, hosts, commands, budget, time].into_iter().flatten().collect()
}
