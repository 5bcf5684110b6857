//! A plan, as a person reads it before they decide.

use terminal::colors::Colors;
use wire::task::plan::{Conditions, Decision, Estimate, Plan, TaskPlan};

use super::{put::put_line, words};
use crate::amount;

/// What a person is to say yes to is never cut. The domain limits how long a plan may be.
const ALL: usize = usize::MAX;

pub(crate) fn plan(plan: &Plan, colors: Colors) -> String {
    let mut text = format!("{} {}\n\n", colors.strong("Plan"), words::line(&plan.hash, 64));
    text.push_str(&words::block(&plan.summary, 2, ALL));
    let files = plan.files.iter().map(|it| (it.path.as_str(), it.why.as_str()));
    let files: Vec<String> = files
        .map(|(path, why)| format!("{}: {}", words::exact(path), words::line(why, ALL)))
        .collect();
    for (title, entries) in [
        ("Files to change", &files),
        ("Tests", &plan.tests),
        ("Commands", &plan.commands),
        ("Hosts", &plan.hosts),
        ("Risks", &plan.risks),
    ] {
        text.push_str(&list(title, entries, colors));
    }
    if !plan.expected_behaviour.trim().is_empty() {
        put_line!(text, "\n{}", colors.strong("Then"));
        text.push_str(&words::block(&plan.expected_behaviour, 2, ALL));
    }
    put_line!(text, "\n{}  {}", colors.strong("Estimate"), estimate(&plan.estimate));
    text
}

fn list(title: &str, entries: &[String], colors: Colors) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", colors.strong(title));
    for entry in entries {
        put_line!(text, "  - {}", words::exact(entry.trim()));
    }
    text
}

/// What is not known is said so.
fn estimate(estimate: &Estimate) -> String {
    let time = estimate.seconds.map(|it| words::took(std::time::Duration::from_secs(it)));
    match (time, &estimate.cost) {
        (None, None) => "nobody knows: there was nothing like it before".to_owned(),
        (Some(time), None) => format!("{time}; what it costs is not known"),
        (None, Some(cost)) => format!("{}; how long it takes is not known", cost.text),
        (Some(time), Some(cost)) => format!("{time}, {}", cost.text),
    }
}

/// What became of a plan.
pub(crate) fn decision(plan: &TaskPlan) -> String {
    match &plan.decision {
        None if plan.waiting => "It waits for a decision.\n".to_owned(),
        None => "Nobody has decided about it, and it does not wait any more.\n".to_owned(),
        Some(Decision::Approved { by, at, conditions: under }) => {
            let when = amount::moment(at.as_millis());
            let told = format!("Approved by {} at {when}{}\n", words::person(by), dot(under));
            told + &conditions(under)
        }
        Some(Decision::Rejected { by, at, comment }) => {
            let when = amount::moment(at.as_millis());
            let told = format!("Sent back by {} at {when}:\n", words::person(by));
            told + &words::block(comment, 2, ALL)
        }
    }
}

fn dot(conditions: &Conditions) -> &'static str {
    if *conditions == Conditions::default() { "." } else { ", under these conditions:" }
}

/// One line for each condition; nothing where there are none.
pub(crate) fn conditions(conditions: &Conditions) -> String {
    let Conditions { paths, hosts, commands, budget_micros, time_seconds } = conditions;
    let mut text = String::new();
    for (what, entries) in [("paths", paths), ("hosts", hosts), ("commands", commands)] {
        let Some(entries) = entries else { continue };
        let entries: Vec<String> =
            entries.iter().map(|it| format!("`{}`", words::line(it, ALL))).collect();
        let told = if entries.is_empty() { "none".to_owned() } else { entries.join(", ") };
        put_line!(text, "  only these {what}: {told}");
    }
    if let Some(micros) = budget_micros {
        let budget = wire::money::Money::from_micros(*micros).text;
        put_line!(text, "  at most {budget}");
    }
    if let Some(seconds) = time_seconds {
        let time = words::took(std::time::Duration::from_secs(*seconds));
        put_line!(text, "  at most {time}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::samples;

    #[test]
    fn a_plan_is_shown_whole_with_the_hash_that_an_approval_names() {
        insta::assert_snapshot!(plan(&samples::plan(), Colors::OFF));
        let bare = Plan {
            files: Vec::new(),
            tests: Vec::new(),
            commands: Vec::new(),
            hosts: Vec::new(),
            risks: Vec::new(),
            expected_behaviour: String::new(),
            estimate: Estimate::default(),
            ..samples::plan()
        };
        insta::assert_snapshot!(plan(&bare, Colors::OFF));
    }

    #[test]
    fn what_was_said_to_a_plan_is_told() {
        let told = samples::decisions().map(|plan| decision(&plan)).join("---\n");
        insta::assert_snapshot!(told);
    }
}
