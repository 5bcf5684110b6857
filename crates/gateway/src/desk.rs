//! Agents, as the server offers them: which programs there are, and one at work in a sandbox.

use contracts::{
    agent::{AgentError, AgentEvent, Outcome, Words},
    sandbox::Listed,
};
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use wire::{
    agent::{Agents, AgentsInside, StartAgent},
    error::{Code, Problem},
};

/// Has agents work. `lamp` plugs the crew in here.
pub trait AgentDesk: Send + Sync + 'static {
    fn list(&self) -> Agents;

    /// Which programs a sandbox has.
    fn inside<'a>(&'a self, sandbox: &'a Listed) -> BoxFuture<'a, Result<AgentsInside, Problem>>;

    /// Has a program work in a sandbox. Dropping the future ends it with all that it started.
    fn work<'a>(
        &'a self,
        sandbox: &'a Listed,
        start: &'a StartAgent,
        words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Result<Outcome, Unworked>>;
}

/// Why there is no outcome.
#[derive(Debug)]
pub enum Unworked {
    /// It was never begun.
    Refused(Problem),
    Failed(AgentError),
}

/// For a server without agents.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAgents;

fn none() -> Problem {
    Problem::new(Code::Unsupported, "this server has no agents")
}

impl AgentDesk for NoAgents {
    fn list(&self) -> Agents {
        Agents { agents: Vec::new(), models: Vec::new() }
    }

    fn inside<'a>(&'a self, _sandbox: &'a Listed) -> BoxFuture<'a, Result<AgentsInside, Problem>> {
        Box::pin(async { Err(none()) })
    }

    fn work<'a>(
        &'a self,
        _sandbox: &'a Listed,
        _start: &'a StartAgent,
        _words: mpsc::Receiver<Words>,
        _events: mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Result<Outcome, Unworked>> {
        Box::pin(async { Err(Unworked::Refused(none())) })
    }
}
