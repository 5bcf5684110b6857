//! What happened to a task: one shape for each kind, told apart by `kind`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    checks::Headline,
    plan::{Conditions, Plan},
    shown::{Failure, Person, Question},
    usage::Spent,
};
use crate::{money::Money, time::Time};

pub use super::repository::RepositoryUse;

/// One event, with its number and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordedEvent {
    /// From 1, without gaps.
    pub number: u64,
    pub at: Time,
    pub event: TaskEvent,
}

/// Events of one task, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    pub events: Vec<RecordedEvent>,
    /// Give it as `after` to go on. The same as was given when nothing is new.
    pub next: u64,
    /// Whether there are more right now.
    pub more: bool,
}

/// What a setup or a hook had done to a checkout before the agent got it. It is nobody's change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Leftovers {
    /// Files of the commit that were changed, and are as in the commit again. Some of their names.
    pub restored: Vec<String>,
    /// What is there beside the commit, or otherwise than in it: the agent's only where the agent changes it. Some of the names.
    pub left: Vec<String>,
    /// How many more names there are.
    pub more: u64,
}

impl Leftovers {
    pub const fn is_empty(&self) -> bool {
        self.restored.is_empty() && self.left.is_empty() && self.more == 0
    }
}

/// What happened, told apart by `kind`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskEvent {
    /// A person handed it over: what is wanted, and how far it may go by itself. Always the first.
    Requested { request: Box<TaskRequest>, limits: TaskLimits },
    /// Its turn came: it left the queue.
    Admitted {},
    /// A sandbox was made for it, with the repositories inside.
    Prepared {
        /// Its id.
        sandbox: String,
        /// What was checked out in it.
        commit: String,
        /// What a setup or a hook had done to the checkout before the agent got it.
        #[serde(default, skip_serializing_if = "Leftovers::is_empty")]
        left: Leftovers,
    },
    /// The agent cannot go on without an answer, and the task waits for one.
    QuestionAsked {
        question: Question,
        /// Where the agent goes on later, if it can.
        session: Option<String>,
    },
    /// A person answered the question.
    Answered {
        /// The id of the question.
        question: String,
        by: Person,
        text: String,
    },
    /// The agent has looked around and knows enough to plan.
    Researched {
        /// The hash of the agent's notes.
        notes: String,
        /// Where the agent goes on later, if it can.
        session: Option<String>,
    },
    /// A plan is there, and waits at the gate. The newest one counts.
    PlanSubmitted {
        plan: Plan,
        /// Where the agent goes on later, if it can.
        session: Option<String>,
    },
    /// A person let this plan through the gate. Only after it anything is changed.
    Approved {
        /// The hash of the plan.
        plan: String,
        by: Person,
        conditions: Conditions,
    },
    /// A person sent this plan back, with what should be different.
    Rejected {
        /// The hash of the plan.
        plan: String,
        by: Person,
        comment: String,
    },
    /// The agent has made its change, and it was taken out of the sandbox as a commit.
    Implemented {
        /// What the task began from. The change is the difference to it.
        base: String,
        /// What the agent made of it.
        commit: String,
        /// The hash of the difference: the same change has the same.
        difference: String,
        /// The hash of the document that says what was changed, and what to look at twice.
        record: String,
        /// Where the agent goes on later, if it can.
        session: Option<String>,
    },
    /// Tests ran on the exact commit, in a clean sandbox, and all is good.
    ChecksPassed {
        /// The hash of the document that says what ran and how it went.
        evidence: String,
        /// What the checks say together. Left out where the document cannot be read: then no check stopped the change, and no more is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headline: Option<Headline>,
    },
    /// Nothing got worse: something fails as it did before, or what failed is gone.
    ChecksNotWorse {
        /// The hash of the document that says what ran and how it went.
        evidence: String,
        headline: Headline,
    },
    /// Nothing was proven: nothing ran that could have failed, or no test did.
    ChecksUnproven {
        /// The hash of the document that says what ran and how it went.
        evidence: String,
        headline: Headline,
    },
    /// The checks do not hold. The agent tries again, unless something stops the task.
    ChecksFailed {
        footprint: AttemptFootprint,
        /// The hash of the document that says what ran and how it went.
        evidence: String,
        /// What stops the task because of it, if it does.
        stopped_by: Option<Failure>,
    },
    /// The reviewer, who can change nothing, has nothing against the change, or only what a person dismissed.
    ReviewPassed {
        /// The hash of the document that the reviewer left.
        evidence: String,
    },
    /// The reviewer found faults. The agent mends them, unless something stops the task.
    ReviewFoundFaults {
        /// The hash of the document that the reviewer left.
        evidence: String,
        /// The ids of what was found.
        #[serde(default)]
        findings: Vec<String>,
        /// What stops the task because of it, if it does.
        stopped_by: Option<Failure>,
    },
    /// A person said that this finding does not count: in no later round, and whoever finds it again.
    FindingDismissed {
        /// Its id.
        finding: String,
        by: Person,
        /// In their words, if they gave a reason.
        why: Option<String>,
    },
    /// The change was delivered as a pull request, with its receipt.
    PullRequestOpened {
        /// Its number at the forge.
        number: u64,
        /// The hash of its receipt.
        receipt: String,
    },
    /// Something happened at its pull request, and the task works on, on the same branch.
    Woken { cause: WakeCause },
    /// A person told the agent something. It is heard in the next step.
    Messaged { by: Person, text: String },
    /// A person changed the conditions of the approved plan.
    Amended { by: Person, conditions: Conditions },
    /// A person allowed it to spend more.
    BudgetRaised {
        by: Person,
        /// What it may spend in all.
        to: Money,
    },
    /// A step was paid for.
    Charged {
        /// The phase that the step belongs to.
        phase: String,
        cost: Spent,
        /// What stops the task because of it, if it does.
        stopped_by: Option<Failure>,
    },
    /// It stands still until a person resumes it.
    Paused { why: PauseReason },
    /// A person let it go on where it stood.
    Resumed { by: Person },
    /// A person had it begin again at a phase.
    Retried {
        by: Person,
        /// The phase.
        from: String,
    },
    /// It is over: its pull request was merged or closed, or a person took it over.
    Done {
        /// `merged`, `pull_request_closed` or `taken_over`.
        because: String,
    },
    /// It is over without what was wanted.
    Failed { failure: Failure },
    /// A person ended it.
    Cancelled { by: Person },
    /// A kind that this client is too old to know.
    #[serde(other)]
    Unknown,
}

/// A task as it was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskRequest {
    pub text: String,
    pub author: Person,
    /// The author's role when they asked.
    pub role: String,
    pub channel: String,
    /// The thread, issue or address in that channel.
    pub thread: String,
    pub repositories: Vec<RepositoryUse>,
    pub agent: String,
    /// By which definition the agent works. Unknown of tasks that an older server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<AgentDefinition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What others said around it. Data, never instructions.
    pub quotes: Vec<Quote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Where an agent is defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum AgentDefinition {
    /// A program by its own name.
    BuiltIn {},
    /// A file beside the server's `lamp.yaml`.
    Server { file: String, digest: String },
    /// A file of the repository, at a commit of its default branch.
    Repository { repository: String, commit: String, file: String, digest: String },
    /// An origin that this client is too old to know.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quote {
    pub author: String,
    pub text: String,
}

/// How far a task may go by itself. Frozen when it was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskLimits {
    pub attempts: u8,
    pub review_rounds: u8,
    pub follow_ups: u8,
    pub budget: Money,
    pub phases: Vec<PhaseLimit>,
    pub answer_patience_seconds: u64,
    pub gate: GateRules,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PhaseLimit {
    pub phase: String,
    pub seconds: u64,
}

/// How the gate is set for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateRules {
    /// Whether somebody other than the requester must approve.
    pub four_eyes: bool,
    /// Only these may approve, where some are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<ListedApprovers>,
    pub patience_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedApprovers {
    pub people: Vec<Person>,
    pub teams: Vec<String>,
}

/// Where one failed attempt ended: the same twice is no progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptFootprint {
    /// The hash of the failing checks' names.
    pub failing: String,
    /// The hash of the change.
    pub change: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum WakeCause {
    Comment {
        by: Person,
        text: String,
    },
    FailedCheck {
        check: String,
    },
    /// What others said on the pull request since it was last looked at.
    Remarks {
        remarks: Vec<WakeRemark>,
    },
}

/// A comment or a review on a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WakeRemark {
    /// What they call themselves.
    pub by: String,
    /// Whether they came through this server. Whoever did not is quoted to the agent, and instructs nobody.
    #[serde(default)]
    pub known: bool,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum PauseReason {
    Asked { by: Person },
    Failure { failure: Failure },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_from_the_future_does_not_break_an_old_client() {
        let told =
            r#"{"number":7,"at":"2026-11-16T17:42:34.120Z","event":{"kind":"sung","song":1}}"#;
        let read: RecordedEvent = serde_json::from_str(told).unwrap();
        assert_eq!(read.event, TaskEvent::Unknown);
    }
}
