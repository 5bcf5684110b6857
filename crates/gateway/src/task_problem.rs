//! Why a task or a pull request did not do what was asked, as problems.

use contracts::forge::PullError;
use domain::{approval::ApprovalRefusal, request::TriggerRefusal, task::Refusal};
use engine::SubmitError;
use store::StoreError;
use wire::error::{Code, Problem};

use crate::problem::Trouble;

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self(of_store(&error))
    }
}

impl From<SubmitError> for Trouble {
    fn from(error: SubmitError) -> Self {
        Self(match &error {
            SubmitError::Refused(refusal) => refused(refusal),
            SubmitError::NotStarted(refusal) => not_started(refusal),
            SubmitError::Store(error) => of_store(error),
        })
    }
}

impl From<PullError> for Trouble {
    fn from(error: PullError) -> Self {
        let code = match &error {
            PullError::NoRepository(_) | PullError::NoPull { .. } => Code::NotFound,
            PullError::Busy { .. } => Code::Busy,
            PullError::Moved { .. } | PullError::OtherBase { .. } => Code::Stale,
            PullError::BranchGone { .. }
            | PullError::DefaultBranch { .. }
            | PullError::Ended { .. }
            | PullError::Conflicts { .. }
            | PullError::NotMerged { .. }
            | PullError::BuiltUpon { .. }
            | PullError::Rejected { .. } => Code::NotNow,
            PullError::Refused { .. } => Code::BadRequest,
            PullError::Unreadable { .. } => Code::Internal,
        };
        let problem = Problem::new(code, error.to_string());
        Self(match help(&error) {
            Some(help) => problem.with_help(help),
            None => problem,
        })
    }
}

/// What can be done about a pull request that does not do what was asked.
fn help(error: &PullError) -> Option<String> {
    match error {
        PullError::Conflicts { number, .. } => Some(format!(
            "merge it by hand: `git merge` of its branch into the base, then push; it is noticed by itself. Or close it with `lamp pr close \
             {number}` and hand the request over again with `lamp run`, which begins from the newest base: a comment or a message goes on \
             from the task's own branch, without what came to the base since"
        )),
        PullError::NoPull { repository, .. } => {
            Some(format!("`lamp pr list --repo {repository}` shows those that there are"))
        }
        PullError::Busy { .. } => Some("try again in a moment".to_owned()),
        PullError::NoRepository(_)
        | PullError::Moved { .. }
        | PullError::OtherBase { .. }
        | PullError::BranchGone { .. }
        | PullError::DefaultBranch { .. }
        | PullError::Ended { .. }
        | PullError::NotMerged { .. }
        | PullError::BuiltUpon { .. }
        | PullError::Refused { .. }
        | PullError::Unreadable { .. }
        | PullError::Rejected { .. } => None,
    }
}

pub(crate) fn of_store(error: &StoreError) -> Problem {
    let code = match error {
        StoreError::NoTask { .. } => Code::NotFound,
        StoreError::Exists { .. } => Code::KeyReused,
        StoreError::Conflict { .. }
        | StoreError::Locked(_)
        | StoreError::DiskFull(_)
        | StoreError::Unreachable(_) => Code::Busy,
        StoreError::NoRepository { .. } => Code::BadRequest,
        // It is closed when the server ends, and only then.
        StoreError::Closed => Code::Stopped,
        StoreError::LeaseLost
        | StoreError::Unreadable { .. }
        | StoreError::Damaged(_)
        | StoreError::Database(_) => Code::Internal,
    };
    let problem = Problem::new(code, error.to_string());
    match error {
        StoreError::Exists { .. } => Problem {
            message: "this idempotency key was used for another task".to_owned(),
            ..problem
                .with_help("use a new key for a new task; the same key only repeats the same call")
        },
        StoreError::NoTask { .. } => {
            problem.with_help("`lamp list` shows the tasks that there are")
        }
        StoreError::Conflict { .. }
        | StoreError::Locked(_)
        | StoreError::DiskFull(_)
        | StoreError::Unreachable(_) => problem.with_help("try again in a moment"),
        StoreError::NoRepository { .. }
        | StoreError::LeaseLost
        | StoreError::Unreadable { .. }
        | StoreError::Damaged(_)
        | StoreError::Database(_)
        | StoreError::Closed => problem,
    }
}

fn not_started(refusal: &TriggerRefusal) -> Problem {
    let code = match refusal {
        TriggerRefusal::NotAllowed { .. } | TriggerRefusal::UnknownBot { .. } => Code::Forbidden,
        TriggerRefusal::Empty | TriggerRefusal::NoRepository => Code::BadRequest,
        TriggerRefusal::TooLong { .. } => Code::TooLarge,
    };
    Problem::new(code, refusal.to_string())
}

/// The sentence of the rules, with the code to act upon.
pub(crate) fn refused(refusal: &Refusal) -> Problem {
    let code = match refusal {
        Refusal::Gate(ApprovalRefusal::StalePlan { .. })
        | Refusal::StaleQuestion
        | Refusal::DismissedAlready
        | Refusal::HeardAlready
        | Refusal::StaleHead => Code::Stale,
        Refusal::Gate(
            ApprovalRefusal::Role { .. } | ApprovalRefusal::OwnPlan | ApprovalRefusal::NotListed,
        )
        | Refusal::NotAllowed { .. } => Code::Forbidden,
        Refusal::NotNow { .. }
        | Refusal::NotThatFar { .. }
        | Refusal::BudgetTooSmall { .. }
        | Refusal::BudgetTooLarge { .. }
        | Refusal::BudgetOfApproval
        | Refusal::OverBudget { .. }
        | Refusal::TooManyFollowUps { .. } => Code::NotNow,
        Refusal::NoSuchFinding { .. } => Code::NotFound,
        Refusal::ConditionPath(_)
        | Refusal::Condition { .. }
        | Refusal::Reason { .. }
        | Refusal::EmptyText => Code::BadRequest,
        Refusal::TextTooLong { .. } => Code::TooLarge,
        Refusal::Plan(_) => Code::Internal,
    };
    Problem::new(code, refusal.to_string())
}
