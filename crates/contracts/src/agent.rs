//! A coding agent at work in a sandbox, whatever program it is.
//!
//! One run is one phase: the agent gets its task and a mode, tells what it does as a stream of
//! [`AgentEvent`]s, and ends with an [`Outcome`]. What it answers is data. Nothing that it says can
//! approve, and success is what the platform's checks say, not what the agent claims.

use std::{future::Future, time::Duration};

use domain::{
    agent::AgentName,
    approval::Conditions,
    cost::Cost,
    id::{SandboxId, TaskId},
    money::Money,
    plan::Plan,
};
use tokio::sync::mpsc;

use crate::Key;

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

/// What the agent is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// The request, in the words of someone who may instruct.
    pub request: String,
    /// Others' words. Data.
    pub quotes: Vec<String>,
    /// What people said since: comments on a plan, answers, messages, comments on the pull request.
    pub guidance: Vec<String>,
    /// What the checks or the reviewer found, from newest to oldest.
    pub feedback: Vec<String>,
    /// The approved plan, and what its approver allows.
    pub approved: Option<(Plan, Conditions)>,
}

/// A person's words to a running agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(pub String);

/// What an agent does, in one language for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    Message { text: String },
    Thought { text: String },
    ToolCall { id: String, title: String, status: ToolStatus, result: Option<String> },
    FileChanged { path: String },
    Usage(Cost),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolStatus {
    Running,
    Done,
    Failed,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub answer: Answer,
    pub session: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It needs to know something before it can go on.
    Question {
        text: String,
        choices: Vec<String>,
    },
    Notes(String),
    Plan(Plan),
    /// The work in the sandbox is ready to be looked at.
    Change,
    Review(Vec<Finding>),
}

/// A fault that a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: u32,
    pub what: String,
    pub failing_input: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error("the model cannot be reached now: {reason}")]
    Busy { reason: String },
    #[error("the agent stopped: {reason}")]
    Stopped { reason: String, last_lines: String },
    #[error("the agent's answer could not be understood: {reason}")]
    Unusable { reason: String, last_lines: String },
    #[error("the budget is used up")]
    OverBudget,
    #[error("`{host}` is not allowed")]
    EgressBlocked { host: String },
    /// The agent left what its approver allowed.
    #[error("outside of the approved plan: {what}")]
    Drift { what: String },
    #[error("the sandbox ran out of memory at {peak_mib} MiB")]
    OutOfMemory { peak_mib: u32 },
    #[error("the sandbox was lost: {reason}")]
    SandboxLost { reason: String },
}
