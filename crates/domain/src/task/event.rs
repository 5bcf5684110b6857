//! What has happened to a task. Stored as it is, never changed, never refused.

use std::collections::BTreeSet;

use crate::{
    approval::Conditions,
    code::{CommitId, PullRequestNumber},
    cost::Cost,
    digest::Digest,
    failure::Failure,
    finding::FindingId,
    id::{PersonId, QuestionId, SandboxId},
    limits::Limits,
    money::Money,
    phase::Phase,
    plan::{Plan, PlanHash},
    progress::Footprint,
    question::Question,
    request::Request,
};

use super::{Leftovers, Remark};

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a history has one request, and it is read as a whole"
)]
pub enum Event {
    Requested {
        request: Request,
        limits: Limits,
    },
    Admitted,
    Prepared {
        sandbox: SandboxId,
        commit: CommitId,
        left: Leftovers,
    },
    QuestionAsked {
        question: Question,
        session: Option<String>,
    },
    Answered {
        question: QuestionId,
        by: PersonId,
        text: String,
    },
    Researched {
        notes: Digest,
        session: Option<String>,
    },
    PlanSubmitted {
        plan: Plan,
        session: Option<String>,
    },
    Approved {
        plan: PlanHash,
        by: PersonId,
        conditions: Conditions,
    },
    Rejected {
        plan: PlanHash,
        by: PersonId,
        comment: String,
    },
    Implemented {
        /// What the task began from. The change is the difference to it.
        base: CommitId,
        commit: CommitId,
        difference: Digest,
        /// What was changed, and what a person should look at twice.
        record: Digest,
        session: Option<String>,
    },
    ChecksPassed {
        evidence: Digest,
    },
    ChecksFailed {
        footprint: Footprint,
        evidence: Digest,
        verdict: Verdict,
    },
    ReviewPassed {
        evidence: Digest,
    },
    ReviewFoundFaults {
        evidence: Digest,
        /// Empty in histories that were written before findings had names.
        findings: BTreeSet<FindingId>,
        verdict: Verdict,
    },
    FindingDismissed {
        finding: FindingId,
        by: PersonId,
        why: Option<String>,
    },
    PullRequestOpened {
        number: PullRequestNumber,
        receipt: Digest,
    },
    Woken {
        cause: WakeCause,
    },
    Messaged {
        by: PersonId,
        text: String,
    },
    Amended {
        by: PersonId,
        conditions: Conditions,
    },
    BudgetRaised {
        by: PersonId,
        to: Money,
    },
    Charged {
        phase: Phase,
        cost: Cost,
        verdict: Verdict,
    },
    Paused {
        why: PauseReason,
    },
    Resumed {
        by: PersonId,
    },
    Retried {
        by: PersonId,
        from: Phase,
    },
    Done {
        because: DoneBecause,
    },
    Failed {
        failure: Failure,
    },
    Cancelled {
        by: PersonId,
    },
}

/// What a bad piece of news means. Decided once and kept with the event, so that a limit which changes
/// later does not change what happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    GoesOn,
    /// The task pauses and asks for help.
    Stops(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseReason {
    Asked { by: PersonId },
    Failure(Failure),
}

/// What woke a task whose pull request was open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeCause {
    Comment {
        by: PersonId,
        text: String,
    },
    FailedCheck {
        check: String,
    },
    /// What others said on the pull request since it was last looked at.
    Remarks(Vec<Remark>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DoneBecause {
    Merged,
    PullRequestClosed,
    TakenOver,
}

impl Event {
    /// The stable name of this kind of event: the key that stored history, webhooks and the API use.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Requested { .. } => "requested",
            Self::Admitted => "admitted",
            Self::Prepared { .. } => "prepared",
            Self::QuestionAsked { .. } => "question_asked",
            Self::Answered { .. } => "answered",
            Self::Researched { .. } => "researched",
            Self::PlanSubmitted { .. } => "plan_submitted",
            Self::Approved { .. } => "approved",
            Self::Rejected { .. } => "rejected",
            Self::Implemented { .. } => "implemented",
            Self::ChecksPassed { .. } => "checks_passed",
            Self::ChecksFailed { .. } => "checks_failed",
            Self::ReviewPassed { .. } => "review_passed",
            Self::ReviewFoundFaults { .. } => "review_found_faults",
            Self::FindingDismissed { .. } => "finding_dismissed",
            Self::PullRequestOpened { .. } => "pull_request_opened",
            Self::Woken { .. } => "woken",
            Self::Messaged { .. } => "messaged",
            Self::Amended { .. } => "amended",
            Self::BudgetRaised { .. } => "budget_raised",
            Self::Charged { .. } => "charged",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::Retried { .. } => "retried",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// The blob that this event refers to, which must be kept as long as the event.
    pub const fn blob(&self) -> Option<Digest> {
        match self {
            Self::Researched { notes: blob, .. }
            | Self::Implemented { record: blob, .. }
            | Self::PullRequestOpened { receipt: blob, .. }
            | Self::ChecksPassed { evidence: blob }
            | Self::ChecksFailed { evidence: blob, .. }
            | Self::ReviewPassed { evidence: blob }
            | Self::ReviewFoundFaults { evidence: blob, .. } => Some(*blob),
            Self::Requested { .. }
            | Self::Admitted
            | Self::Prepared { .. }
            | Self::QuestionAsked { .. }
            | Self::Answered { .. }
            | Self::PlanSubmitted { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::FindingDismissed { .. }
            | Self::Woken { .. }
            | Self::Messaged { .. }
            | Self::Amended { .. }
            | Self::BudgetRaised { .. }
            | Self::Charged { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Retried { .. }
            | Self::Done { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. } => None,
        }
    }

    /// The person who made this happen, if one did.
    pub const fn person(&self) -> Option<PersonId> {
        match self {
            Self::Requested { request, .. } => Some(request.author),
            Self::Answered { by, .. }
            | Self::Approved { by, .. }
            | Self::Rejected { by, .. }
            | Self::FindingDismissed { by, .. }
            | Self::Messaged { by, .. }
            | Self::Amended { by, .. }
            | Self::BudgetRaised { by, .. }
            | Self::Resumed { by }
            | Self::Retried { by, .. }
            | Self::Cancelled { by }
            | Self::Paused { why: PauseReason::Asked { by } }
            | Self::Woken { cause: WakeCause::Comment { by, .. } } => Some(*by),
            Self::Admitted
            | Self::Prepared { .. }
            | Self::QuestionAsked { .. }
            | Self::Researched { .. }
            | Self::PlanSubmitted { .. }
            | Self::Implemented { .. }
            | Self::ChecksPassed { .. }
            | Self::ChecksFailed { .. }
            | Self::ReviewPassed { .. }
            | Self::ReviewFoundFaults { .. }
            | Self::PullRequestOpened { .. }
            | Self::Woken { cause: WakeCause::FailedCheck { .. } | WakeCause::Remarks(_) }
            | Self::Charged { .. }
            | Self::Paused { why: PauseReason::Failure(_) }
            | Self::Done { .. }
            | Self::Failed { .. } => None,
        }
    }
}
