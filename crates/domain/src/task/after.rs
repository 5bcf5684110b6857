//! What is true once something has happened. Never refuses: what happened, happened.

use crate::{
    approval::Approval,
    code::CommitId,
    cost::Cost,
    failure::{Failure, FailureKind},
    phase::Phase,
};

use super::{
    Event, FollowUps, HeldBack, Mandate, PauseReason, Resting, Stage, Task, Verdict, Words, Work,
    Workspace,
};

impl Task {
    /// The task once `event` has happened.
    #[must_use]
    pub fn after(mut self, event: &Event) -> Self {
        self.note(event);
        let cleared = self.held_back.as_ref().filter(|_| self.is_cleared()).map(|it| &it.commit);
        self.stage = stage_after(self.stage, event, cleared);
        self.held_back = match (self.held_back, self.stage.work()) {
            // Whatever was said, the agent hears it now.
            (Some(held), Some(Work::Implement(_))) if matches!(event, Event::Prepared { .. }) => {
                Some(HeldBack { words: Words::Heard, ..held })
            }
            (held, Some(Work::Implement(_))) => held,
            (
                _,
                None
                | Some(
                    Work::Research
                    | Work::Plan
                    | Work::Verify { .. }
                    | Work::Review { .. }
                    | Work::Deliver { .. },
                ),
            ) => None,
        };
        self
    }

    /// Everything that an event changes besides the stage.
    fn note(&mut self, event: &Event) {
        match event {
            Event::Requested { request, limits } => *self = Self::begin(request, limits),
            Event::Prepared { sandbox, commit, left: _ } => {
                if let Stage::Preparing { next } = &self.stage {
                    let purpose = next.purpose();
                    self.workspace =
                        Some(Workspace { sandbox: *sandbox, purpose, commit: commit.clone() });
                }
            }
            Event::QuestionAsked { session, .. }
            | Event::Researched { session, .. }
            | Event::PlanSubmitted { session, .. }
            | Event::Implemented { session, .. } => {
                if session.is_some() {
                    self.session.clone_from(session);
                }
            }
            Event::Woken { cause } => {
                self.hear(cause);
                if let Stage::PullRequestOpen { head, .. } = &self.stage {
                    let same = self.follow_ups.take().filter(|so_far| so_far.head == *head);
                    let count = same.map_or(1, |so_far| so_far.count.saturating_add(1));
                    self.follow_ups = Some(FollowUps { head: head.clone(), count });
                }
            }
            Event::ReviewFoundFaults { findings, .. } => {
                self.found.extend(findings);
                if let Stage::Working(Work::Review { commit, .. }) = &self.stage {
                    let (commit, findings) = (commit.clone(), findings.clone());
                    self.held_back = Some(HeldBack { commit, findings, words: Words::Heard });
                }
            }
            Event::FindingDismissed { finding, .. } => {
                self.dismissed.insert(*finding);
            }
            // An agent that is at work hears it at once.
            Event::Messaged { .. } | Event::Answered { .. } | Event::Retried { .. } => {
                if let (Some(held), false) =
                    (&mut self.held_back, matches!(self.stage, Stage::Working(_)))
                {
                    held.words = Words::Waiting;
                }
            }
            Event::PullRequestOpened { number, .. } => self.pull_request = Some(*number),
            Event::BudgetRaised { to, .. } => self.limits.budget = *to,
            Event::Charged { cost, .. } => self.spent = self.spent + *cost,
            // The sandbox goes when the task ends; a retry gets a fresh one.
            Event::Done { .. } | Event::Failed { .. } | Event::Cancelled { .. } => {
                self.workspace = None;
            }
            Event::Admitted
            | Event::Approved { .. }
            | Event::Rejected { .. }
            | Event::ChecksPassed { .. }
            | Event::ChecksFailed { .. }
            | Event::ReviewPassed { .. }
            | Event::Amended { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. } => {}
        }
    }
}

/// Where the task stands. A pair that [`super::decide`] never lets happen leaves the stage as it is.
///
/// `cleared` is the change that a review held back, once a person has dismissed all that was found in it.
#[expect(clippy::too_many_lines, reason = "one table of rules is read as a whole")]
fn stage_after(stage: Stage, event: &Event, cleared: Option<&CommitId>) -> Stage {
    match (event, stage) {
        (Event::Admitted, Stage::Queued { next }) => Stage::Preparing { next },
        (Event::Admitted, Stage::Waking { mandate }) => {
            Stage::Preparing { next: Work::Implement(mandate) }
        }
        // Nothing is left to mend in a change whose findings were all dismissed: it is delivered as it was reviewed.
        (Event::Prepared { .. }, Stage::Preparing { next: Work::Implement(mandate) })
            if let Some(commit) = cleared =>
        {
            Stage::Working(Work::Deliver { mandate, commit: commit.clone() })
        }
        (Event::Prepared { .. }, Stage::Preparing { next }) => Stage::Working(next),

        (Event::QuestionAsked { question, .. }, Stage::Working(during)) => {
            Stage::AwaitingAnswer { question: question.id, during }
        }
        (
            Event::Answered { .. },
            Stage::AwaitingAnswer { during, .. }
            | Stage::Paused { at: Resting::Question { during, .. }, .. },
        ) => Stage::Queued { next: during },

        (Event::Researched { .. }, Stage::Working(Work::Research)) => Stage::Working(Work::Plan),
        (Event::PlanSubmitted { plan, .. }, Stage::Working(Work::Plan)) => {
            Stage::AwaitingApproval { plan: plan.hash() }
        }

        // The gate. The only place where a mandate is made.
        (
            Event::Approved { plan, by, conditions },
            Stage::AwaitingApproval { plan: waiting }
            | Stage::Paused { at: Resting::Gate { plan: waiting }, .. },
        ) if *plan == waiting => {
            let approval = Approval { plan: *plan, by: *by, conditions: conditions.clone() };
            Stage::Queued { next: Work::Implement(Mandate::granted(approval)) }
        }
        (
            Event::Rejected { .. },
            Stage::AwaitingApproval { .. } | Stage::Paused { at: Resting::Gate { .. }, .. },
        ) => Stage::Queued { next: Work::Research },

        (Event::Implemented { commit, .. }, Stage::Working(Work::Implement(mandate))) => {
            Stage::Working(Work::Verify { mandate, commit: commit.clone() })
        }
        (Event::ChecksPassed { .. }, Stage::Working(Work::Verify { mandate, commit })) => {
            Stage::Working(Work::Review { mandate, commit })
        }
        (
            Event::ChecksFailed { footprint, verdict, .. },
            Stage::Working(Work::Verify { mandate, .. }),
        ) => judged(verdict, Work::Implement(mandate.after_failed_checks(*footprint))),
        (Event::ReviewPassed { .. }, Stage::Working(Work::Review { mandate, commit })) => {
            Stage::Working(Work::Deliver { mandate, commit })
        }
        (
            Event::ReviewFoundFaults { verdict, .. },
            Stage::Working(Work::Review { mandate, .. }),
        ) => judged(verdict, Work::Implement(mandate.after_faults())),
        (
            Event::PullRequestOpened { number, .. },
            Stage::Working(Work::Deliver { mandate, commit }),
        ) => Stage::PullRequestOpen { mandate, number: *number, head: commit },
        (Event::Woken { .. }, Stage::PullRequestOpen { mandate, .. }) => {
            Stage::Waking { mandate: mandate.with_fresh_rounds() }
        }

        (Event::Charged { verdict: Verdict::Stops(failure), .. }, stage) => {
            rest(stage, &PauseReason::Failure(failure.clone()))
        }
        (Event::Paused { why }, stage) => rest(stage, why),
        (Event::Resumed { .. }, Stage::Paused { at, why }) => back(at, &why),
        (Event::BudgetRaised { .. }, Stage::Paused { at, why }) if is_budget_hit(&why) => {
            back(at, &why)
        }
        (Event::Amended { conditions, .. }, Stage::Paused { at: Resting::Work(work), .. }) => {
            let next = work.with_mandate(|mandate| mandate.amended(conditions.clone()));
            Stage::Queued { next }
        }
        (
            Event::Amended { conditions, .. },
            Stage::Paused { at: Resting::Question { question, during }, .. },
        ) => {
            let during = during.with_mandate(|mandate| mandate.amended(conditions.clone()));
            Stage::AwaitingAnswer { question, during }
        }
        (Event::Retried { from, .. }, stage) => match work_from(&stage, *from) {
            Some(next) => Stage::Queued { next },
            None => stage,
        },

        (Event::Done { because }, _live) => Stage::Done { because: *because },
        (Event::Failed { failure }, stage) => {
            let during = stage.work().cloned().unwrap_or(Work::Research);
            Stage::Failed { failure: failure.clone(), during }
        }
        (Event::Cancelled { by }, _live) => Stage::Cancelled { by: *by },

        (
            Event::Requested { .. }
            | Event::Admitted
            | Event::Prepared { .. }
            | Event::QuestionAsked { .. }
            | Event::Answered { .. }
            | Event::Researched { .. }
            | Event::PlanSubmitted { .. }
            | Event::Approved { .. }
            | Event::Rejected { .. }
            | Event::Implemented { .. }
            | Event::ChecksPassed { .. }
            | Event::ChecksFailed { .. }
            | Event::ReviewPassed { .. }
            | Event::ReviewFoundFaults { .. }
            | Event::FindingDismissed { .. }
            | Event::PullRequestOpened { .. }
            | Event::Woken { .. }
            | Event::Messaged { .. }
            | Event::Amended { .. }
            | Event::BudgetRaised { .. }
            | Event::Charged { verdict: Verdict::GoesOn, .. }
            | Event::Resumed { .. },
            stage,
        ) => stage,
    }
}

fn is_budget_hit(why: &PauseReason) -> bool {
    matches!(why, PauseReason::Failure(Failure { kind: FailureKind::BudgetHit, .. }))
}

fn judged(verdict: &Verdict, next: Work) -> Stage {
    match verdict {
        Verdict::GoesOn => Stage::Working(next),
        Verdict::Stops(failure) => {
            Stage::Paused { at: Resting::Work(next), why: PauseReason::Failure(failure.clone()) }
        }
    }
}

/// A stage put to rest. One that has nothing to rest from stays.
fn rest(stage: Stage, why: &PauseReason) -> Stage {
    let at = match stage {
        Stage::Queued { next } | Stage::Preparing { next } => Resting::Work(next),
        Stage::Working(work) => Resting::Work(work),
        Stage::Waking { mandate } => Resting::Work(Work::Implement(mandate)),
        Stage::AwaitingAnswer { question, during } => Resting::Question { question, during },
        Stage::AwaitingApproval { plan } => Resting::Gate { plan },
        stage @ (Stage::Paused { .. }
        | Stage::PullRequestOpen { .. }
        | Stage::Done { .. }
        | Stage::Failed { .. }
        | Stage::Cancelled { .. }) => return stage,
    };
    Stage::Paused { at, why: why.clone() }
}

/// Where a paused task goes on. After a failure a person has stepped in, so attempts count anew.
fn back(at: Resting, why: &PauseReason) -> Stage {
    let renewed = |work: Work| match why {
        PauseReason::Asked { .. } => work,
        PauseReason::Failure(_) => work.with_mandate(Mandate::with_fresh_rounds),
    };
    match at {
        Resting::Work(work) => Stage::Queued { next: renewed(work) },
        Resting::Gate { plan } => Stage::AwaitingApproval { plan },
        Resting::Question { question, during } => Stage::AwaitingAnswer { question, during },
    }
}

/// The work that a retry from `from` begins with, if the task has come that far.
pub(super) fn work_from(stage: &Stage, from: Phase) -> Option<Work> {
    let work = match stage {
        Stage::Paused { at: Resting::Gate { .. }, .. } => &Work::Plan,
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
        | Stage::Cancelled { .. } => stage.work()?,
    };
    if from > work.phase() {
        return None;
    }
    let fresh = || work.mandate().cloned().map(Mandate::with_fresh_rounds);
    match from {
        // A new plan needs a new approval: the mandate is not carried over.
        Phase::Prepare | Phase::Research => Some(Work::Research),
        Phase::Plan => Some(Work::Plan),
        Phase::Implement => Some(Work::Implement(fresh()?)),
        Phase::Verify => Some(Work::Verify { mandate: fresh()?, commit: work.commit()?.clone() }),
        Phase::Review => Some(Work::Review { mandate: fresh()?, commit: work.commit()?.clone() }),
        Phase::Deliver => Some(Work::Deliver { mandate: fresh()?, commit: work.commit()?.clone() }),
    }
}

pub(super) fn is_over_budget(task: &Task, spent: Cost) -> bool {
    spent.money > task.budget()
}
