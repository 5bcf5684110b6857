//! Plans, and the conditions of their approvals.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    approval::Conditions,
    id::PersonId,
    money::Money,
    plan::Plan,
    task::{Event, Task},
};
use store::History;
use wire::{
    agent::PlannedFile,
    task::{plan as told, shown},
};

use super::{money, time};

pub(super) fn plan(plan: &Plan) -> told::Plan {
    told::Plan {
        hash: plan.hash().to_string(),
        summary: plan.summary.clone(),
        files: plan
            .files
            .iter()
            .map(|file| PlannedFile { path: file.path.clone(), why: file.why.clone() })
            .collect(),
        tests: plan.tests.clone(),
        expected_behaviour: plan.expected_behaviour.clone(),
        commands: plan.commands.clone(),
        hosts: plan.hosts.clone(),
        risks: plan.risks.clone(),
        estimate: told::Estimate {
            seconds: plan.estimate.time.map(|time| time.as_secs()),
            cost: plan.estimate.cost.map(money),
        },
    }
}

pub(super) fn conditions(conditions: &Conditions) -> told::Conditions {
    let list = |set: &Option<BTreeSet<String>>| set.as_ref().map(|it| it.iter().cloned().collect());
    told::Conditions {
        paths: list(&conditions.paths),
        hosts: list(&conditions.hosts),
        commands: list(&conditions.commands),
        budget_micros: conditions.budget.map(Money::as_micros),
        time_seconds: conditions.time.map(|time| time.as_secs()),
    }
}

pub(crate) fn conditions_in(told: told::Conditions) -> Conditions {
    let set = |list: Option<Vec<String>>| list.map(|it| it.into_iter().collect());
    Conditions {
        paths: set(told.paths),
        hosts: set(told.hosts),
        commands: set(told.commands),
        budget: told.budget_micros.map(Money::from_micros),
        time: told.time_seconds.map(Duration::from_secs),
    }
}

/// The newest plan, and what became of it; `None` before there is one.
pub(crate) fn task_plan(
    history: &History,
    task: &Task,
    name: &dyn Fn(PersonId) -> shown::Person,
) -> Option<told::TaskPlan> {
    let mut newest: Option<told::TaskPlan> = None;
    for recorded in &history.events {
        let at = time(recorded.at);
        match &recorded.event {
            Event::PlanSubmitted { plan: submitted, .. } => {
                let earlier = newest.as_ref().map_or(0, |before| before.earlier + 1);
                newest = Some(told::TaskPlan {
                    plan: plan(submitted),
                    submitted_at: at,
                    waiting: false,
                    decision: None,
                    earlier,
                });
            }
            Event::Approved { by, conditions: on, .. } => {
                let decision =
                    told::Decision::Approved { by: name(*by), at, conditions: conditions(on) };
                decided(&mut newest, decision);
            }
            Event::Rejected { by, comment, .. } => {
                let decision =
                    told::Decision::Rejected { by: name(*by), at, comment: comment.clone() };
                decided(&mut newest, decision);
            }
            Event::Amended { conditions: on, .. } => {
                let decision = newest.as_mut().and_then(|newest| newest.decision.as_mut());
                if let Some(told::Decision::Approved { conditions: held, .. }) = decision {
                    *held = conditions(on);
                }
            }
            Event::Requested { .. }
            | Event::Admitted
            | Event::Prepared { .. }
            | Event::QuestionAsked { .. }
            | Event::Answered { .. }
            | Event::Researched { .. }
            | Event::Implemented { .. }
            | Event::ChecksPassed { .. }
            | Event::ChecksFailed { .. }
            | Event::ReviewPassed { .. }
            | Event::ReviewFoundFaults { .. }
            | Event::FindingDismissed { .. }
            | Event::PullRequestOpened { .. }
            | Event::Woken { .. }
            | Event::Messaged { .. }
            | Event::BudgetRaised { .. }
            | Event::Charged { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::Retried { .. }
            | Event::Done { .. }
            | Event::Failed { .. }
            | Event::Cancelled { .. } => {}
        }
    }
    let waiting = task.stage.waiting_plan().map(|plan| plan.to_string());
    if let Some(newest) = &mut newest {
        newest.waiting = waiting.is_some_and(|hash| hash == newest.plan.hash);
    }
    newest
}

fn decided(newest: &mut Option<told::TaskPlan>, decision: told::Decision) {
    if let Some(newest) = newest {
        newest.decision = Some(decision);
    }
}
