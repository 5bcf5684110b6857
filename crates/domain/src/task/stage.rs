//! Where a task stands.

use crate::{
    approval::{Approval, Conditions},
    code::{CommitId, PullRequestNumber},
    failure::Failure,
    id::{PersonId, QuestionId},
    phase::Phase,
    plan::PlanHash,
    progress::Footprint,
};

use super::{DoneBecause, PauseReason, Purpose};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Waits for a place; then `next` is prepared.
    Queued {
        next: Work,
    },
    /// A sandbox is opened for `next`.
    Preparing {
        next: Work,
    },
    Working(Work),
    AwaitingAnswer {
        question: QuestionId,
        during: Work,
    },
    AwaitingApproval {
        plan: PlanHash,
    },
    Paused {
        at: Resting,
        why: PauseReason,
    },
    PullRequestOpen {
        mandate: Mandate,
        number: PullRequestNumber,
        head: CommitId,
    },
    /// A follow-up waits for a place.
    Waking {
        mandate: Mandate,
    },
    Done {
        because: DoneBecause,
    },
    Failed {
        failure: Failure,
        during: Work,
    },
    Cancelled {
        by: PersonId,
    },
}

/// What an agent, or the platform, is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    Research,
    Plan,
    Implement(Mandate),
    Verify { mandate: Mandate, commit: CommitId },
    Review { mandate: Mandate, commit: CommitId },
    Deliver { mandate: Mandate, commit: CommitId },
}

/// Where a paused task goes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resting {
    Work(Work),
    Gate { plan: PlanHash },
    Question { question: QuestionId, during: Work },
}

/// An approved plan, and what has come of it so far.
///
/// Its fields are private and it has one maker: nothing is implemented without an [`Approval`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mandate {
    approval: Approval,
    attempt: u8,
    review_round: u8,
    last_failure: Option<Footprint>,
}

impl Mandate {
    pub(super) const fn granted(approval: Approval) -> Self {
        Self { approval, attempt: 1, review_round: 0, last_failure: None }
    }

    pub const fn approval(&self) -> &Approval {
        &self.approval
    }

    /// The attempt under way, from 1.
    pub const fn attempt(&self) -> u8 {
        self.attempt
    }

    /// How often the reviewer has sent the change back.
    pub const fn review_round(&self) -> u8 {
        self.review_round
    }

    pub const fn last_failure(&self) -> Option<Footprint> {
        self.last_failure
    }

    pub(super) fn amended(mut self, conditions: Conditions) -> Self {
        self.approval.conditions = conditions;
        self
    }

    pub(super) fn after_failed_checks(mut self, footprint: Footprint) -> Self {
        self.attempt = self.attempt.saturating_add(1);
        self.last_failure = Some(footprint);
        self
    }

    pub(super) fn after_faults(mut self) -> Self {
        self.review_round = self.review_round.saturating_add(1);
        self.with_fresh_attempts()
    }

    /// A person stepped in: the counting begins again.
    pub(super) fn with_fresh_attempts(mut self) -> Self {
        self.attempt = 1;
        self.last_failure = None;
        self
    }

    pub(super) fn with_fresh_rounds(mut self) -> Self {
        self.review_round = 0;
        self.with_fresh_attempts()
    }
}

impl Work {
    pub const fn phase(&self) -> Phase {
        match self {
            Self::Research => Phase::Research,
            Self::Plan => Phase::Plan,
            Self::Implement(_) => Phase::Implement,
            Self::Verify { .. } => Phase::Verify,
            Self::Review { .. } => Phase::Review,
            Self::Deliver { .. } => Phase::Deliver,
        }
    }

    pub const fn mandate(&self) -> Option<&Mandate> {
        match self {
            Self::Research | Self::Plan => None,
            Self::Implement(mandate)
            | Self::Verify { mandate, .. }
            | Self::Review { mandate, .. }
            | Self::Deliver { mandate, .. } => Some(mandate),
        }
    }

    pub const fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Research | Self::Plan | Self::Implement(_) => None,
            Self::Verify { commit, .. }
            | Self::Review { commit, .. }
            | Self::Deliver { commit, .. } => Some(commit),
        }
    }

    pub const fn purpose(&self) -> Purpose {
        match self.mandate() {
            None => Purpose::Research,
            Some(_) => Purpose::Implement,
        }
    }

    pub(super) fn with_mandate(self, change: impl FnOnce(Mandate) -> Mandate) -> Self {
        match self {
            Self::Research => Self::Research,
            Self::Plan => Self::Plan,
            Self::Implement(mandate) => Self::Implement(change(mandate)),
            Self::Verify { mandate, commit } => Self::Verify { mandate: change(mandate), commit },
            Self::Review { mandate, commit } => Self::Review { mandate: change(mandate), commit },
            Self::Deliver { mandate, commit } => Self::Deliver { mandate: change(mandate), commit },
        }
    }
}

impl Stage {
    /// The stage in words, as every page and message shows it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "queued",
            Self::Preparing { .. } => "preparing",
            Self::Working(work) => work.phase().doing(),
            Self::AwaitingAnswer { .. } => "waiting for an answer",
            Self::AwaitingApproval { .. } => "awaiting approval",
            Self::Paused { .. } => "paused",
            Self::PullRequestOpen { .. } => "pull request open",
            Self::Waking { .. } => "waking for a follow-up",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// The hash of the plan that waits for a decision.
    pub const fn waiting_plan(&self) -> Option<PlanHash> {
        match self {
            Self::AwaitingApproval { plan } | Self::Paused { at: Resting::Gate { plan }, .. } => {
                Some(*plan)
            }
            Self::Queued { .. }
            | Self::Preparing { .. }
            | Self::Working(_)
            | Self::AwaitingAnswer { .. }
            | Self::Paused { at: Resting::Work(_) | Resting::Question { .. }, .. }
            | Self::PullRequestOpen { .. }
            | Self::Waking { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. } => None,
        }
    }

    /// The work that is under way, prepared, queued or interrupted in this stage.
    pub const fn work(&self) -> Option<&Work> {
        match self {
            Self::Queued { next: work }
            | Self::Preparing { next: work }
            | Self::Working(work)
            | Self::AwaitingAnswer { during: work, .. }
            | Self::Paused {
                at: Resting::Work(work) | Resting::Question { during: work, .. },
                ..
            }
            | Self::Failed { during: work, .. } => Some(work),
            Self::AwaitingApproval { .. }
            | Self::Paused { at: Resting::Gate { .. }, .. }
            | Self::PullRequestOpen { .. }
            | Self::Waking { .. }
            | Self::Done { .. }
            | Self::Cancelled { .. } => None,
        }
    }

    /// The approved plan that this stage stands on, if it stands behind the gate.
    pub const fn mandate(&self) -> Option<&Mandate> {
        match self {
            Self::PullRequestOpen { mandate, .. } | Self::Waking { mandate } => Some(mandate),
            Self::Queued { .. }
            | Self::Preparing { .. }
            | Self::Working(_)
            | Self::AwaitingAnswer { .. }
            | Self::AwaitingApproval { .. }
            | Self::Paused { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. } => match self.work() {
                None => None,
                Some(work) => work.mandate(),
            },
        }
    }

    /// The phase whose clock runs in this stage.
    pub const fn phase(&self) -> Option<Phase> {
        match self {
            Self::Preparing { .. } => Some(Phase::Prepare),
            Self::Working(work) => Some(work.phase()),
            Self::Queued { .. }
            | Self::AwaitingAnswer { .. }
            | Self::AwaitingApproval { .. }
            | Self::Paused { .. }
            | Self::PullRequestOpen { .. }
            | Self::Waking { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. } => None,
        }
    }

    /// Does a task in this stage hold one of the places of the queue?
    pub const fn standing(&self) -> Standing {
        match self {
            Self::Queued { .. } | Self::Waking { .. } => Standing::NeedsPlace,
            Self::Preparing { .. } | Self::Working(_) => Standing::HoldsPlace,
            Self::AwaitingAnswer { .. }
            | Self::AwaitingApproval { .. }
            | Self::Paused { .. }
            | Self::PullRequestOpen { .. } => Standing::Rests,
            Self::Done { .. } | Self::Failed { .. } | Self::Cancelled { .. } => Standing::Over,
        }
    }
}

/// How a stage stands to the queue's places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    NeedsPlace,
    HoldsPlace,
    Rests,
    Over,
}
