//! Why a command was not followed. Each is a sentence that can be shown to the person as it is.

use crate::{
    approval::ApprovalRefusal, finding::FindingId, money::Money, phase::Phase, plan::PlanFault,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a task that is {stage} cannot {command}")]
    NotNow { stage: &'static str, command: &'static str },
    #[error(transparent)]
    Gate(#[from] ApprovalRefusal),
    #[error("a {role} may not do that to this task")]
    NotAllowed { role: &'static str },
    #[error("no review of this task has found `{finding}`")]
    NoSuchFinding { finding: FindingId },
    #[error("that finding was dismissed already")]
    DismissedAlready,
    #[error("the reason cannot be kept: {why}")]
    Reason { why: String },
    #[error("that question is no longer open")]
    StaleQuestion,
    #[error("the task cannot be retried from `{from}`: it has not come that far")]
    NotThatFar { from: Phase },
    #[error("a budget of {to} is not more than the {least} that is allowed or spent already")]
    BudgetTooSmall { to: Money, least: Money },
    #[error(
        "a budget of {to} is more than the {most} that the policy lets one task spend: `limits.budget` in policy.yaml and lamp.yaml"
    )]
    BudgetTooLarge { to: Money, most: Money },
    #[error("the approval limits what this task may spend: amend it to allow more")]
    BudgetOfApproval,
    #[error(
        "`{0}` is not a path that can be allowed: write `src` or `src/login.rs`, without `*` or a `/` at the end"
    )]
    ConditionPath(String),
    #[error("`{text}` cannot be allowed: {why}")]
    Condition { text: String, why: String },
    #[error("the task has spent {spent} of {budget}; raise its budget first")]
    OverBudget { spent: Money, budget: Money },
    #[error(
        "this pull request's head has woken the task {limit} times already; push or merge it by hand"
    )]
    TooManyFollowUps { limit: u8 },
    #[error("the failed check is of an older commit; the pull request has moved on")]
    StaleHead,
    #[error("the task has heard that already")]
    HeardAlready,
    #[error("the text is empty")]
    EmptyText,
    #[error("the text has {length} bytes, and {limit} are allowed")]
    TextTooLong { length: usize, limit: usize },
    #[error("the plan cannot be shown to a person: {0}")]
    Plan(#[from] PlanFault),
}
