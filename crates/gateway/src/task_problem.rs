//! Why a task or a pull request did not do what was asked, as problems.

use contracts::{
    forge::{ForgeError, PullError},
    order::{OrderError, Taken},
};
use domain::{approval::ApprovalRefusal, request::TriggerRefusal, task::Refusal};
use engine::{SubmitError, WhyError};
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

impl From<OrderError> for Trouble {
    fn from(error: OrderError) -> Self {
        let code = match &error {
            OrderError::ClosedDoor { .. } => Code::Forbidden,
            OrderError::TooManyAttempts { .. } | OrderError::BudgetTooLarge { .. } => Code::Limit,
            OrderError::Agent { .. }
            | OrderError::Revision { .. }
            | OrderError::NotListed { .. }
            | OrderError::OtherBranch { .. }
            | OrderError::OnlyRead { .. }
            | OrderError::Unplaced { .. }
            | OrderError::Unreadable { .. }
            | OrderError::NoBranch { .. } => Code::BadRequest,
            OrderError::Forge(error) => of_forge(error),
            OrderError::Broken { .. } => Code::Internal,
        };
        let problem = Problem::new(code, error.to_string());
        Self(match help_with_order(&error) {
            Some(help) => problem.with_help(help),
            None => problem,
        })
    }
}

/// What can be done about a task that is not begun.
fn help_with_order(error: &OrderError) -> Option<String> {
    match error {
        OrderError::ClosedDoor { door } => {
            Some(format!("add `{}` to `triggers.allow` of policy.yaml", door.name()))
        }
        OrderError::TooManyAttempts { .. } => {
            Some("ask for fewer, or raise `limits.attempts` in the server's files".to_owned())
        }
        OrderError::BudgetTooLarge { .. } => Some(
            "ask for less, or raise `limits.budget` where it is set: policy.yaml, lamp.yaml or the agent's file"
                .to_owned(),
        ),
        OrderError::Revision { .. } => Some(
            "leave the revision out; for another branch, say in the request what it should look at"
                .to_owned(),
        ),
        OrderError::NotListed { repository, .. } => Some(format!(
            "take another agent with `--agent`, such as `builtin`, or add `{repository}` to `sandbox.repositories` of the file"
        )),
        OrderError::OtherBranch { .. } => Some(
            "take `branch` out of the file; in the request, say what it should look at".to_owned(),
        ),
        OrderError::OnlyRead { .. } => {
            Some("name the repository that is to be changed first".to_owned())
        }
        OrderError::Unplaced { repository } => Some(format!(
            "name it once with `--repo {repository}=ADDRESS`, or take it out of the agent's file"
        )),
        OrderError::Unreadable { taken, .. } => Some(match taken.as_deref() {
            Some(Taken { free, url }) => {
                format!("give it a name of its own: `--repo {free}={url}`")
            }
            None => {
                "look at the repository's address, and whether this server may read it".to_owned()
            }
        }),
        OrderError::NoBranch { .. } => {
            Some("go to a branch there first: `git checkout BRANCH`".to_owned())
        }
        OrderError::Agent { .. } | OrderError::Forge(_) | OrderError::Broken { .. } => None,
    }
}

impl From<ForgeError> for Trouble {
    fn from(error: ForgeError) -> Self {
        Self(Problem::new(of_forge(&error), error.to_string()))
    }
}

/// What a repository that cannot be read means for whoever wants to look at it.
const fn of_forge(error: &ForgeError) -> Code {
    match error {
        ForgeError::NoRepository(_) => Code::NotFound,
        ForgeError::Busy { .. } => Code::Busy,
        ForgeError::Refused { .. } => Code::BadRequest,
        ForgeError::NothingChanged | ForgeError::Rejected { .. } | ForgeError::TakenOver { .. } => {
            Code::Internal
        }
    }
}

impl From<WhyError> for Trouble {
    fn from(error: WhyError) -> Self {
        match error {
            WhyError::NoLine { reason } => Self(
                Problem::new(Code::BadRequest, reason)
                    .with_help("name a line of a file as it is on the default branch"),
            ),
            WhyError::Forge(error) => error.into(),
            WhyError::Note(error) => Self(Problem::new(Code::Busy, error.to_string())),
            WhyError::Store(error) => Self(Problem::new(Code::Internal, error.to_string())),
        }
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

#[cfg(test)]
mod tests {
    use contracts::sandbox::SandboxError;
    use domain::{code::RepositoryName, money::Money, request::ChannelKind};

    use super::*;

    #[test]
    fn a_task_that_is_not_begun_says_why_and_what_helps() {
        let web = || -> RepositoryName { "web".parse().unwrap() };
        let unreadable = |taken| OrderError::Unreadable {
            error: SandboxError::Source { repository: "web".to_owned(), reason: "gone".to_owned() },
            taken,
        };
        let free = Taken { free: "web-2".to_owned(), url: "/srv/web".to_owned() };
        let rejected = || ForgeError::Rejected { reason: "no".to_owned() };
        let all = [
            OrderError::Agent { reason: "this server has no agent `x`".to_owned() },
            OrderError::ClosedDoor { door: ChannelKind::Cli },
            OrderError::TooManyAttempts { most: 2 },
            OrderError::BudgetTooLarge { most: Money::from_dollars(3) },
            OrderError::Revision { repository: web() },
            OrderError::NotListed { repository: "shop".parse().unwrap(), listed: vec![web()] },
            OrderError::OtherBranch { repository: web(), branch: "next".to_owned() },
            OrderError::OnlyRead { repository: web() },
            OrderError::Unplaced { repository: web() },
            unreadable(None),
            unreadable(Some(Box::new(free))),
            OrderError::NoBranch { repository: web(), error: rejected() },
            OrderError::Forge(ForgeError::NoRepository(web())),
            OrderError::Forge(rejected()),
            OrderError::Broken { reason: "the disk is gone".to_owned() },
        ];
        let told = all.map(|error| {
            let Trouble(Problem { code, message, help, .. }) = error.into();
            let help = help.map(|help| format!("\n  {help}")).unwrap_or_default();
            format!("{code:?}: {message}{help}")
        });
        insta::assert_snapshot!(told.join("\n"));
    }
}
