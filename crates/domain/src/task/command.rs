//! What someone wants to happen to a task. May be refused.

use std::collections::BTreeSet;

use crate::{
    approval::Conditions,
    code::{CommitId, PullRequestNumber},
    cost::Cost,
    digest::Digest,
    failure::Failure,
    finding::FindingId,
    id::{QuestionId, SandboxId},
    money::Money,
    people::Person,
    phase::Phase,
    plan::{Plan, PlanHash},
    progress::Footprint,
    question::Question,
};

use super::{Leftovers, Remark};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A person asks, through a door that recognised them.
    Ask { by: Person, ask: Ask },
    /// One of our own steps, or the forge, tells what happened.
    Report(Report),
}

/// What only people can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    Approve {
        plan: PlanHash,
        conditions: Conditions,
    },
    Reject {
        plan: PlanHash,
        comment: String,
    },
    Answer {
        question: QuestionId,
        text: String,
    },
    /// Words for the agent. On an open pull request they wake the task.
    Message {
        text: String,
    },
    Pause,
    Resume,
    Cancel,
    Retry {
        from: Phase,
    },
    /// Let an approved plan go further than its conditions said.
    Amend {
        conditions: Conditions,
    },
    RaiseBudget {
        to: Money,
    },
    /// What the reviewer found is no fault, or one that may stay. It never counts again.
    Dismiss {
        finding: FindingId,
        why: Option<String>,
    },
}

/// What our own steps report. Nothing here passes the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The queue has a place for the task.
    Admitted,
    Prepared {
        sandbox: SandboxId,
        /// What is checked out in it.
        commit: CommitId,
        left: Leftovers,
    },
    Asked {
        question: Question,
        session: Option<String>,
    },
    Researched {
        notes: Digest,
        session: Option<String>,
    },
    PlanWritten {
        plan: Plan,
        session: Option<String>,
    },
    Implemented {
        base: CommitId,
        commit: CommitId,
        /// Of the difference to the base: the same change has the same hash.
        difference: Digest,
        record: Digest,
        session: Option<String>,
    },
    ChecksPassed {
        evidence: Digest,
    },
    ChecksFailed {
        footprint: Footprint,
        evidence: Digest,
    },
    ReviewPassed {
        evidence: Digest,
    },
    ReviewFoundFaults {
        evidence: Digest,
        /// All that was found, also what was dismissed before.
        findings: BTreeSet<FindingId>,
    },
    Delivered {
        number: PullRequestNumber,
        receipt: Digest,
    },
    /// A check of the forge failed on the pull request's head.
    CheckFailedOnHead {
        head: CommitId,
        check: String,
    },
    /// Others said something on the pull request.
    Remarked(Vec<Remark>),
    Merged,
    PullRequestClosed,
    /// A person pushed to the branch: the automation ends (PL10).
    TakenOver,
    Failed(Failure),
    TimeUp(TimeUp),
    Charged {
        phase: Phase,
        cost: Cost,
    },
}

/// What a forge tells about a pull request. The only reports that come from outside the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeNews {
    CheckFailed {
        head: CommitId,
        check: String,
    },
    /// Others commented or reviewed.
    Remarked(Vec<Remark>),
    Merged,
    Closed,
    /// A person pushed to the branch.
    TakenOver,
}

impl From<ForgeNews> for Report {
    fn from(news: ForgeNews) -> Self {
        match news {
            ForgeNews::CheckFailed { head, check } => Self::CheckFailedOnHead { head, check },
            ForgeNews::Remarked(remarks) => Self::Remarked(remarks),
            ForgeNews::Merged => Self::Merged,
            ForgeNews::Closed => Self::PullRequestClosed,
            ForgeNews::TakenOver => Self::TakenOver,
        }
    }
}

/// A timer that ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeUp {
    Phase(Phase),
    Approval,
    Answer,
}

impl Ask {
    /// As in "a task that is done cannot be approved".
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "be approved",
            Self::Reject { .. } => "be rejected",
            Self::Answer { .. } => "take an answer",
            Self::Message { .. } => "take a message",
            Self::Pause => "be paused",
            Self::Resume => "be resumed",
            Self::Cancel => "be cancelled",
            Self::Retry { .. } => "be retried",
            Self::Amend { .. } => "be amended",
            Self::RaiseBudget { .. } => "get a larger budget",
            Self::Dismiss { .. } => "have a finding dismissed",
        }
    }
}

impl Report {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Admitted => "be admitted",
            Self::Prepared { .. } => "be prepared",
            Self::Asked { .. } => "ask a question",
            Self::Researched { .. } => "finish research",
            Self::PlanWritten { .. } => "submit a plan",
            Self::Implemented { .. } => "submit a change",
            Self::ChecksPassed { .. } => "pass its checks",
            Self::ChecksFailed { .. } => "fail its checks",
            Self::ReviewPassed { .. } => "pass its review",
            Self::ReviewFoundFaults { .. } => "fail its review",
            Self::Delivered { .. } => "open a pull request",
            Self::CheckFailedOnHead { .. } => "be woken by a check",
            Self::Remarked(_) => "be woken by a remark",
            Self::Merged => "be merged",
            Self::PullRequestClosed => "have its pull request closed",
            Self::TakenOver => "be taken over",
            Self::Failed(_) => "fail",
            Self::TimeUp(_) => "run out of time",
            Self::Charged { .. } => "be charged",
        }
    }
}
