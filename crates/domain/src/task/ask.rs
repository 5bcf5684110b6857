//! What a person's wish means for a task.

use crate::{
    approval::{ApprovalRefusal, Conditions},
    money::Money,
    people::{Action, Person},
    plan::stays_inside,
    policy::HostPattern,
    request::Request,
    visible::is_visible,
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
            Ask::Dismiss { finding, why },
        ) => {
            may(task, by, Action::Widen)?;
            if !task.found.contains(&finding) {
                return Err(Refusal::NoSuchFinding { finding });
            }
            if task.dismissed.contains(&finding) {
                return Err(Refusal::DismissedAlready);
            }
            let why = why.map(reason).transpose()?;
            Ok(Event::FindingDismissed { finding, by: by.id, why })
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
            | Ask::RaiseBudget { .. }
            | Ask::Dismiss { .. }),
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

pub(super) fn within_budget(task: &Task) -> Result<(), Refusal> {
    if is_over_budget(task, task.spent) {
        return Err(Refusal::OverBudget { spent: task.spent.money, budget: task.budget() });
    }
    Ok(())
}

/// Bytes of one path, host, command or reason: a receipt holds no longer text.
const LINE_LIMIT: usize = 2000;

/// The largest budget (in millionths of a dollar) and time (in milliseconds) that every reader of a receipt gets right.
const NUMBER_LIMIT: u64 = (1 << 53) - 1;

/// A path that could never match would forbid everything, or nothing, without anyone noticing. What could not stand in a receipt would stop the
/// task when all its work is done. So both are refused here, where the approver can still write it in another way.
fn well_written(conditions: &Conditions) -> Result<(), Refusal> {
    let Conditions { paths, hosts, commands, budget, time } = conditions;
    for path in paths.iter().flatten() {
        short_and_visible(path)?;
        if !stays_inside(path) || path.contains(['*', '?']) {
            return Err(Refusal::ConditionPath(path.clone()));
        }
    }
    for host in hosts.iter().flatten() {
        short_and_visible(host)?;
        let read = host.parse::<HostPattern>();
        read.map_err(|error| refused(host, &error.to_string()))?;
    }
    for command in commands.iter().flatten() {
        short_and_visible(command)?;
        if command.trim().is_empty() {
            return Err(refused(command, "a command has at least one word"));
        }
    }
    let money = budget.map(Money::as_micros).unwrap_or_default();
    let millis = time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    match [money, millis].into_iter().find(|number| *number > NUMBER_LIMIT) {
        None => Ok(()),
        Some(number) => Err(refused(&number.to_string(), "it is more than a receipt can tell")),
    }
}

/// One line that shows all that it says.
fn short_and_visible(text: &str) -> Result<(), Refusal> {
    unreceivable(text).map_or(Ok(()), |why| Err(refused(text, &why)))
}

/// Why a receipt cannot hold `text` as one line, if it cannot.
fn unreceivable(text: &str) -> Option<String> {
    if text.len() > LINE_LIMIT {
        return Some(format!("it has {} bytes, and a receipt holds {LINE_LIMIT}", text.len()));
    }
    let hidden = text.chars().find(|it| !is_visible(*it) || matches!(it, '\n' | '\t'))?;
    Some(format!("it has the character U+{:04X}, which nobody sees", u32::from(hidden)))
}

/// Why a finding was dismissed, as the receipt will say it.
fn reason(text: String) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::EmptyText);
    }
    unreceivable(&text).map_or(Ok(text), |why| Err(Refusal::Reason { why }))
}

/// Shown so that what nobody sees is seen, and not all of what is long.
fn refused(text: &str, why: &str) -> Refusal {
    const SHOWN: usize = 100;
    let mut shown = String::new();
    for letter in text.chars().take(SHOWN) {
        if is_visible(letter) && !matches!(letter, '\n' | '\t') {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    // Whoever else speaks of it may not have shown it so.
    let why = why.chars().filter(|it| is_visible(*it)).take(4 * SHOWN).collect();
    Refusal::Condition { text: shown, why }
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
