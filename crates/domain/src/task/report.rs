//! What the report of a step means for a task.

use crate::failure::{Ending, Failure, FailureKind};

use super::{
    DoneBecause, Event, Heard, PauseReason, Refusal, Remark, Report, Stage, Task, TimeUp, Verdict,
    WakeCause, Work,
    after::is_over_budget,
    ask::{wake, within_budget},
};

#[expect(clippy::too_many_lines, reason = "one table of rules is read as a whole")]
pub(super) fn decide(task: &Task, report: Report) -> Result<Event, Refusal> {
    match (&task.stage, report) {
        (Stage::Queued { .. } | Stage::Waking { .. }, Report::Admitted) => Ok(Event::Admitted),

        (Stage::Preparing { .. }, Report::Prepared { sandbox, commit, left }) => {
            Ok(Event::Prepared { sandbox, commit, left })
        }

        (
            Stage::Working(Work::Research | Work::Plan | Work::Implement(_)),
            Report::Asked { question, session },
        ) => Ok(Event::QuestionAsked { question, session }),

        (Stage::Working(Work::Research), Report::Researched { notes, session }) => {
            Ok(Event::Researched { notes, session })
        }

        (Stage::Working(Work::Plan), Report::PlanWritten { plan, session }) => match plan.fault() {
            None => Ok(Event::PlanSubmitted { plan, session }),
            Some(fault) => Err(fault.into()),
        },

        (
            Stage::Working(Work::Implement(_)),
            Report::Implemented { base, commit, difference, record, session },
        ) => Ok(Event::Implemented { base, commit, difference, record, session }),

        (Stage::Working(Work::Verify { .. }), Report::ChecksPassed { evidence }) => {
            Ok(Event::ChecksPassed { evidence })
        }
        (
            Stage::Working(work @ Work::Verify { mandate, .. }),
            Report::ChecksFailed { footprint, evidence },
        ) => {
            let limit = task.limits.attempts;
            let verdict = if mandate.last_failure() == Some(footprint) {
                stop(
                    work,
                    FailureKind::NoProgress,
                    "the same checks fail with the same change again",
                )
            } else if mandate.attempt() >= limit {
                stop(
                    work,
                    FailureKind::TestLoop,
                    format!("checks still fail after {limit} attempts"),
                )
            } else {
                Verdict::GoesOn
            };
            Ok(Event::ChecksFailed { footprint, evidence, verdict })
        }

        (Stage::Working(Work::Review { .. }), Report::ReviewPassed { evidence }) => {
            Ok(Event::ReviewPassed { evidence })
        }
        (
            Stage::Working(work @ Work::Review { mandate, .. }),
            Report::ReviewFoundFaults { evidence, findings },
        ) => {
            let limit = task.limits.review_rounds;
            // What a person dismissed stays dismissed, however often it is found again (RV1).
            if task.has_dismissed(&findings) {
                return Ok(Event::ReviewPassed { evidence });
            }
            let verdict = if mandate.review_round() >= limit {
                stop(work, FailureKind::ReviewLoop, format!("faults remain after {limit} rounds"))
            } else {
                Verdict::GoesOn
            };
            Ok(Event::ReviewFoundFaults { evidence, findings, verdict })
        }

        (Stage::Working(Work::Deliver { .. }), Report::Delivered { number, receipt }) => {
            Ok(Event::PullRequestOpened { number, receipt })
        }

        (
            Stage::PullRequestOpen { head: newest, .. },
            Report::CheckFailedOnHead { head, check },
        ) => {
            if head != *newest {
                return Err(Refusal::StaleHead);
            }
            if task.heard.contains(&Heard::Check { head, check: check.clone() }) {
                return Err(Refusal::HeardAlready);
            }
            within_budget(task)?;
            wake(task, WakeCause::FailedCheck { check })
        }
        (Stage::PullRequestOpen { .. }, Report::Remarked(remarks)) => {
            let is_new = |remark: &Remark| !task.heard.contains(&remark.heard());
            let fresh: Vec<Remark> = remarks.into_iter().filter(is_new).collect();
            if fresh.is_empty() {
                return Err(Refusal::HeardAlready);
            }
            within_budget(task)?;
            wake(task, WakeCause::Remarks(fresh))
        }
        // A person decided about the pull request. A follow-up may be under way; they win.
        (_, report @ (Report::TakenOver | Report::Merged | Report::PullRequestClosed))
            if has_pull_request(task) =>
        {
            let because = if report == Report::Merged {
                DoneBecause::Merged
            } else if report == Report::PullRequestClosed {
                DoneBecause::PullRequestClosed
            } else {
                DoneBecause::TakenOver
            };
            Ok(Event::Done { because })
        }

        (Stage::Preparing { .. } | Stage::Working(_), Report::Failed(failure)) => {
            Ok(match failure.kind.ending() {
                Ending::Pauses => Event::Paused { why: PauseReason::Failure(failure) },
                Ending::Ends => Event::Failed { failure },
            })
        }

        (
            stage @ (Stage::Preparing { .. } | Stage::Working(_)),
            Report::TimeUp(TimeUp::Phase(phase)),
        ) if stage.phase() == Some(phase) => {
            let limit = task.limits.time.of(phase).as_secs();
            let message = format!("it took longer than {limit} seconds");
            Ok(pause(Failure::new(FailureKind::TimeLimit, phase, message)))
        }
        (Stage::AwaitingApproval { .. }, Report::TimeUp(TimeUp::Approval)) => {
            let message = "nobody approved or rejected the plan in time";
            let phase = crate::phase::Phase::Plan;
            Ok(pause(Failure::new(FailureKind::ApprovalTimeout, phase, message)))
        }
        (Stage::AwaitingAnswer { during, .. }, Report::TimeUp(TimeUp::Answer)) => {
            let message = "nobody answered the question in time";
            Ok(pause(Failure::new(FailureKind::AnswerTimeout, during.phase(), message)))
        }

        // What was used was used, wherever the task stands by now.
        (stage, Report::Charged { phase, cost }) => {
            let spent = task.spent + cost;
            let verdict = match stage {
                Stage::Preparing { .. } | Stage::Working(_) if is_over_budget(task, spent) => {
                    let message = format!("{} of {} spent", spent.money, task.budget());
                    Verdict::Stops(Failure::new(FailureKind::BudgetHit, phase, message))
                }
                Stage::Queued { .. }
                | Stage::Preparing { .. }
                | Stage::Working(_)
                | Stage::AwaitingAnswer { .. }
                | Stage::AwaitingApproval { .. }
                | Stage::Paused { .. }
                | Stage::PullRequestOpen { .. }
                | Stage::Waking { .. }
                | Stage::Done { .. }
                | Stage::Failed { .. }
                | Stage::Cancelled { .. } => Verdict::GoesOn,
            };
            Ok(Event::Charged { phase, cost, verdict })
        }

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
            report @ (Report::Admitted
            | Report::Prepared { .. }
            | Report::Asked { .. }
            | Report::Researched { .. }
            | Report::PlanWritten { .. }
            | Report::Implemented { .. }
            | Report::ChecksPassed { .. }
            | Report::ChecksFailed { .. }
            | Report::ReviewPassed { .. }
            | Report::ReviewFoundFaults { .. }
            | Report::Delivered { .. }
            | Report::CheckFailedOnHead { .. }
            | Report::Remarked(_)
            | Report::Merged
            | Report::PullRequestClosed
            | Report::TakenOver
            | Report::Failed(_)
            | Report::TimeUp(_)),
        ) => Err(Refusal::NotNow { stage: stage.name(), command: report.name() }),
    }
}

fn stop(work: &Work, kind: FailureKind, message: impl Into<String>) -> Verdict {
    Verdict::Stops(Failure::new(kind, work.phase(), message))
}

fn pause(failure: Failure) -> Event {
    Event::Paused { why: PauseReason::Failure(failure) }
}

fn has_pull_request(task: &Task) -> bool {
    task.pull_request.is_some() && task.stage.standing() != super::Standing::Over
}
