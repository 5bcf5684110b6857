//! A coding agent at work in a sandbox, whatever program it is.
//!
//! One run is one phase: the agent gets its task and a mode, tells what it does as a stream of
//! [`AgentEvent`]s, and ends with an [`Outcome`]. What it answers is data. Nothing that it says can
//! approve, and success is what the platform's checks say, not what the agent claims.

mod answer;
mod error;
mod meter;
mod program;

use std::{future::Future, time::Duration};

use domain::{
    agent::AgentName,
    approval::Conditions,
    code::CommitId,
    cost::Cost,
    id::{SandboxId, TaskId},
    money::Money,
    plan::Plan,
};
use tokio::sync::mpsc;

use crate::Key;

pub use answer::{Answer, Finding, MARK, Outcome};
pub use domain::transcript::AgentEvent;
pub use error::AgentError;
pub use meter::{Exchanges, ModelMeter};
pub use program::{Presence, Steering};

pub trait Agents: Send + Sync + 'static {
    /// Runs one phase. Dropping the future stops the agent and all that it started.
    ///
    /// Events that nobody reads hold the agent up; they never pile up without bound.
    fn run(
        &self,
        run: &Run,
        words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> impl Future<Output = Result<Outcome, AgentError>> + Send;

    /// What the models have cost `task` so far, as metered outside the sandbox. Never decreases, so
    /// that whoever crashed while writing it down can ask again; runs that were stopped count too.
    ///
    /// Nothing is spent without a grant for the run's sandbox. Once that was withdrawn
    /// ([`SecretSource::revoke`](crate::secret::SecretSource::revoke)) the run costs nothing more, even if whoever
    /// started it is late and goes on: so there is a last bill.
    fn bill(&self, task: TaskId) -> impl Future<Output = Result<Cost, AgentError>> + Send;
}

/// What the agent is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub key: Key,
    pub task: TaskId,
    pub sandbox: SandboxId,
    pub agent: AgentName,
    pub mode: Mode,
    /// Where the repositories are, inside. The first is the one to work in.
    pub directories: Vec<String>,
    /// The commit that the task's own change in the first of them began from: what the change says to those who review it, or who go on
    /// with it, is no more than a part of it. None where there is no change yet, or where that is not known.
    pub base: Option<CommitId>,
    pub brief: Brief,
    /// Continue this memory; start a new one if there is none.
    pub session: Option<String>,
    pub limit: Duration,
    /// What is left to spend.
    pub budget: Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    Research,
    Plan,
    Implement,
    Review,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Research, Self::Plan, Self::Implement, Self::Review];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Implement => "implement",
            Self::Review => "review",
        }
    }
}

/// What the agent is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// The request, in the words of someone who may instruct.
    pub request: String,
    /// Who that is.
    pub author: String,
    /// Others' words. Data.
    pub quotes: Vec<String>,
    /// What people said since: comments on a plan, answers, messages, comments on the pull request.
    pub guidance: Vec<String>,
    /// What the checks or the reviewer found, from newest to oldest.
    pub feedback: Vec<String>,
    /// What reviewers found and a person dismissed: nobody needs to mend it or to find it again.
    pub dismissed: Vec<String>,
    /// The approved plan, and what its approver allows.
    pub approved: Option<(Plan, Conditions)>,
    /// What goes on around the task.
    pub surroundings: Surroundings,
}

/// What goes on around a task, as far as the platform knows it (CX1). What is in the repository itself, an agent is told from there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// How the checks stand on the commit that the work begins from.
    pub base_checks: Option<String>,
    /// Open issues that are labelled for agents, as titles.
    pub issues: Vec<String>,
    /// Other work that is under way.
    pub in_flight: Vec<InFlight>,
}

/// A task or a branch that somebody else works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    pub title: String,
    pub branch: String,
    pub paths: Vec<String>,
}

/// A person's words to a running agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(pub String);
