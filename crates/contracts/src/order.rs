//! What a task is given to go by: who works on it, in which repositories, and within which limits.
//!
//! A person wishes for a task. What that means here (which agents there are, what the policy allows, where repositories are) is written in files
//! of the server, which may change while it runs: so it is asked for when a task is handed over, and frozen in its first event.

use std::future::Future;

use domain::{
    agent::AgentName,
    code::{Access, RepositoryName},
    id::TaskId,
    limits::Limits,
    money::Money,
    people::Person,
    request::{ChannelKind, Trigger},
};

use crate::{forge::ForgeError, sandbox::SandboxError};

pub trait Orders: Send + Sync + 'static {
    /// The task of a wish: its repositories are known from now on and can be read, the agent exists, and the limits are those of the agent, the
    /// server and the policy together with what is wished. The same wish gives the same order while the files are the same.
    fn order(&self, wish: &Wish) -> impl Future<Output = Result<Order, OrderError>> + Send;

    /// The repositories that are known here, by name. Their addresses have nothing secret in them.
    fn repositories(&self)
    -> impl Future<Output = Result<Vec<KnownRepository>, OrderError>> + Send;

    /// The most that any task may spend, as the policy says now.
    fn largest_budget(&self) -> Money;

    /// A task may spend this much from now on. Sandboxes that work now may spend it now; one that rests is told when it wakes.
    fn allow(&self, task: TaskId, budget: Money);
}

/// What somebody would like to have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub by: Person,
    /// Where they said it.
    pub door: ChannelKind,
    pub text: String,
    /// The first is the one that the work is delivered to.
    pub repositories: Vec<WishedRepository>,
    /// The usual one where it is left out.
    pub agent: Option<AgentName>,
    /// The agent's own choice where it is left out.
    pub model: Option<String>,
    /// How often its checks may fail before it asks for help.
    pub attempts: Option<u8>,
    pub budget: Option<Money>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishedRepository {
    pub name: RepositoryName,
    /// Where it is.
    pub url: String,
    /// Where to begin from, if not from the default branch.
    pub revision: Option<String>,
    /// Where it is left out, the first may be changed and the others may be read.
    pub access: Option<Access>,
}

/// What the engine begins a task with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub trigger: Trigger,
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRepository {
    pub name: RepositoryName,
    pub url: String,
}

/// Why nothing is begun. Whoever tells it to a person adds what helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The server has no such agent, or no model that it can speak with.
    #[error("{reason}")]
    Agent { reason: String },
    #[error("the server's policy lets no task be started by this door, `{}`", door.name())]
    ClosedDoor { door: ChannelKind },
    #[error("a task may have {most} attempts at most")]
    TooManyAttempts { most: u64 },
    #[error("a task may spend {most} at most here")]
    BudgetTooLarge { most: Money },
    #[error("tasks begin from the default branch of `{repository}`")]
    Revision { repository: RepositoryName },
    #[error("the agent's file is for {}, and not for `{repository}`", quoted(listed))]
    NotListed { repository: RepositoryName, listed: Vec<RepositoryName> },
    #[error(
        "the agent's file wants `{repository}` from the branch `{branch}`, and tasks begin from the default branch"
    )]
    OtherBranch { repository: RepositoryName, branch: String },
    #[error("a change could not be delivered to `{repository}`, which may only be read")]
    OnlyRead { repository: RepositoryName },
    /// The file lists it, and nobody ever said where it is.
    #[error("the agent's file lists `{repository}`, and this server does not know where it is")]
    Unplaced { repository: RepositoryName },
    #[error("{error}")]
    Unreadable {
        error: SandboxError,
        /// Where its name stands for another repository here: a name that is free.
        taken: Option<Box<Taken>>,
    },
    #[error("`{repository}` is on no branch that a change could go into: {error}")]
    NoBranch { repository: RepositoryName, error: ForgeError },
    #[error(transparent)]
    Forge(ForgeError),
    /// What this server knows of repositories cannot be read.
    #[error("{reason}")]
    Broken { reason: String },
}

/// A repository whose name is that of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// A name that nobody has.
    pub free: String,
    /// Where the one that was wished for is.
    pub url: String,
}

fn quoted(names: &[RepositoryName]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
