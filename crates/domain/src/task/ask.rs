//! What a person's wish means for a task.

use crate::{
    approval::{ApprovalRefusal, Conditions},
    people::{Action, Person},
    plan::stays_inside,
    request::Request,
};

use super::{
    Ask, Event, PauseReason, Refusal, Resting, Stage, Task, WakeCause,
    after::{is_over_budget, work_from},
};

#[expect(clippy::too_many_lines, reason = "one table of rules is read as a whole")]
pub(super) fn decide(task: &Task, by: &Person, ask: Ask) -> Result<Event, Refusal> {
    match (&task.stage, ask) {
        (
            Stage::AwaitingApproval { plan: waiting }
            | Stage::Paused { at: Resting::Gate { plan: waiting }, .. },
            Ask::Approve { plan, conditions },
        ) => {
            task.limits.gate.check(plan, *waiting, by, task.requester)?;
            within_budget(task)?;
            well_written(&conditions)?;
            Ok(Event::Approved { plan, by: by.id, conditions })
        }

        (
            Stage::AwaitingApproval { plan: waiting }
            | Stage::Paused { at: Resting::Gate { plan: waiting }, .. },
            Ask::Reject { plan, comment },
        ) => {
            may(task, by, Action::Steer)?;
            if plan != *waiting {
                return Err(ApprovalRefusal::StalePlan { offered: plan, waiting: *waiting }.into());
            }
            Ok(Event::Rejected { plan, by: by.id, comment: readable(comment)? })
        }

        (
            Stage::AwaitingAnswer { question: open, .. }
            | Stage::Paused { at: Resting::Question { question: open, .. }, .. },
            Ask::Answer { question, text },
        ) => {
            may(task, by, Action::Steer)?;
            if question != *open {
                return Err(Refusal::StaleQuestion);
            }
            within_budget(task)?;
            Ok(Event::Answered { question, by: by.id, text: readable(text)? })
        }

        (Stage::PullRequestOpen { .. }, Ask::Message { text }) => {
            may(task, by, Action::Steer)?;
            within_budget(task)?;
            wake(task, WakeCause::Comment { by: by.id, text: readable(text)? })
        }
        (
            Stage::Queued { .. }
            | Stage::Preparing { .. }
            | Stage::Working(_)
            | Stage::AwaitingAnswer { .. }
            | Stage::AwaitingApproval { .. }
            | Stage::Paused { .. }
            | Stage::Waking { .. },
            Ask::Message { text },
        ) => {
            may(task, by, Action::Steer)?;
            Ok(Event::Messaged { by: by.id, text: readable(text)? })
        }

        (
            Stage::Queued { .. }
            | Stage::Preparing { .. }
            | Stage::Working(_)
            | Stage::AwaitingAnswer { .. }
            | Stage::AwaitingApproval { .. }
            | Stage::Waking { .. },
            Ask::Pause,
        ) => {
            may(task, by, Action::Steer)?;
            Ok(Event::Paused { why: PauseReason::Asked { by: by.id } })
        }

        (Stage::Paused { .. }, Ask::Resume) => {
            may(task, by, Action::Steer)?;
            within_budget(task)?;
            Ok(Event::Resumed { by: by.id })
        }

        (Stage::Failed { .. } | Stage::Paused { .. }, Ask::Retry { from }) => {
            may(task, by, Action::Steer)?;
            within_budget(task)?;
            if work_from(&task.stage, from).is_none() {
                return Err(Refusal::NotThatFar { from });
            }
            Ok(Event::Retried { by: by.id, from })
        }

        (stage @ Stage::Paused { .. }, Ask::Amend { conditions }) => {
            let Some(mandate) = stage.mandate() else {
                return Err(Refusal::NotNow {
                    stage: stage.name(),
                    command: Ask::Amend { conditions }.name(),
                });
            };
            let plan = mandate.approval().plan;
            task.limits.gate.check(plan, plan, by, task.requester)?;
            well_written(&conditions)?;
            Ok(Event::Amended { by: by.id, conditions })
        }

        (
            Stage::Queued { .. }
            | Stage::Preparing { .. }
            | Stage::Working(_)
            | Stage::AwaitingAnswer { .. }
            | Stage::AwaitingApproval { .. }
            | Stage::Paused { .. }
            | Stage::PullRequestOpen { .. }
            | Stage::Waking { .. }
            | Stage::Failed { .. },
            Ask::RaiseBudget { to },
        ) => {
            may(task, by, Action::Widen)?;
            // What an approver limited, only an amended approval widens, with all that the gate asks.
            if task.stage.mandate().is_some_and(|it| it.approval().conditions.budget.is_some()) {
                return Err(Refusal::BudgetOfApproval);
            }
            let least = task.spent.money.max(task.limits.budget);
            if to <= least {
                return Err(Refusal::BudgetTooSmall { to, least });
            }
            Ok(Event::BudgetRaised { by: by.id, to })
        }

        (
            Stage::Queued { .. }
            | Stage::Preparing { .. }
            | Stage::Working(_)
            | Stage::AwaitingAnswer { .. }
            | Stage::AwaitingApproval { .. }
            | Stage::Paused { .. }
            | Stage::PullRequestOpen { .. }
            | Stage::Waking { .. },
            Ask::Cancel,
        ) => {
            may(task, by, Action::Steer)?;
            Ok(Event::Cancelled { by: by.id })
        }

        // The rest is refused. Every name is written out, so that a new stage or a new wish does not
        // compile until someone has thought about it.
        (
            stage @ (Stage::Queued { .. }
            | Stage::Preparing { .. }
            | Stage::Working(_)
            | Stage::AwaitingAnswer { .. }
            | Stage::AwaitingApproval { .. }
            | Stage::Paused { .. }
            | Stage::PullRequestOpen { .. }
            | Stage::Waking { .. }
            | Stage::Done { .. }
            | Stage::Failed { .. }
            | Stage::Cancelled { .. }),
            ask @ (Ask::Approve { .. }
            | Ask::Reject { .. }
            | Ask::Answer { .. }
            | Ask::Message { .. }
            | Ask::Pause
            | Ask::Resume
            | Ask::Cancel
            | Ask::Retry { .. }
            | Ask::Amend { .. }
            | Ask::RaiseBudget { .. }),
        ) => Err(Refusal::NotNow { stage: stage.name(), command: ask.name() }),
    }
}

/// A follow-up, unless this head has had its share of them (PL10).
pub(super) fn wake(task: &Task, cause: WakeCause) -> Result<Event, Refusal> {
    let limit = task.limits.follow_ups;
    let used = match (&task.stage, &task.follow_ups) {
        (Stage::PullRequestOpen { head, .. }, Some(so_far)) if so_far.head == *head => so_far.count,
        _first_for_this_head => 0,
    };
    if used >= limit {
        return Err(Refusal::TooManyFollowUps { limit });
    }
    Ok(Event::Woken { cause })
}

fn may(task: &Task, by: &Person, action: Action) -> Result<(), Refusal> {
    if by.role.may(action, task.relation(by.id)) {
        return Ok(());
    }
    Err(Refusal::NotAllowed { role: by.role.name() })
}

fn within_budget(task: &Task) -> Result<(), Refusal> {
    if is_over_budget(task, task.spent) {
        return Err(Refusal::OverBudget { spent: task.spent.money, budget: task.budget() });
    }
    Ok(())
}

/// A path that could never match would forbid everything, or nothing, without anyone noticing.
fn well_written(conditions: &Conditions) -> Result<(), Refusal> {
    let paths = conditions.paths.iter().flatten();
    let odd = |path: &&String| !stays_inside(path) || path.contains(['*', '?']);
    match paths.into_iter().find(odd) {
        None => Ok(()),
        Some(path) => Err(Refusal::ConditionPath(path.clone())),
    }
}

fn readable(text: String) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::EmptyText);
    }
    if text.len() > Request::TEXT_LIMIT {
        return Err(Refusal::TextTooLong { length: text.len(), limit: Request::TEXT_LIMIT });
    }
    Ok(text)
}
