//! Agents, as the server offers them: which programs there are, and one at work in a sandbox.

use std::time::Duration;

use contracts::{
    agent::{AgentError, AgentEvent, Mode, Outcome, Presence, Steering, Words},
    sandbox::{Compute, Listed, SandboxError},
};
use domain::{code::RepositoryName, policy::ModelProvider};
use futures::future::BoxFuture;
use tokio::sync::mpsc;

/// Has agents work.
pub trait AgentDesk: Send + Sync + 'static {
    /// The programs that this server can work with.
    fn list(&self) -> Offered;

    /// The agents that files define: the server's, and those of a repository that it knows. A sentence, where that cannot be read.
    fn written<'a>(
        &'a self,
        repository: Option<&'a RepositoryName>,
    ) -> BoxFuture<'a, Result<Vec<WrittenAgent>, String>>;

    /// Which programs a sandbox has, by their names.
    fn inside<'a>(
        &'a self,
        sandbox: &'a Listed,
    ) -> BoxFuture<'a, Result<Vec<(String, Presence)>, SandboxError>>;

    /// Has a program work in a sandbox. Dropping the future ends it with all that it started.
    fn work<'a>(
        &'a self,
        sandbox: &'a Listed,
        start: &'a Start,
        words: mpsc::Receiver<Words>,
        events: mpsc::Sender<AgentEvent>,
    ) -> BoxFuture<'a, Result<Outcome, WorkError>>;
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offered {
    pub agents: Vec<Offer>,
    /// Those that `lamp.yaml` sets up.
    pub models: Vec<Model>,
}

/// An agent that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenAgent {
    /// Nothing, where the file is wrong and does not even say it.
    pub name: Option<String>,
    pub file: String,
    /// One word: whose file it is.
    pub origin: &'static str,
    pub commit: Option<String>,
    pub driver: Option<String>,
    pub description: Option<String>,
    /// Why nobody can have it.
    pub problem: Option<String>,
}

/// One program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub name: String,
    pub title: String,
    /// Installed from these, at exactly these versions. Empty: brought along, or the image has it.
    pub packages: Vec<Package>,
    /// The models' languages that it speaks, the best first. Empty: it asks no model.
    pub formats: Vec<String>,
    /// Names of models in `lamp.yaml` that it can work with.
    pub models: Vec<String>,
    pub steering: Steering,
    /// What it needs beside what it builds.
    pub memory_mib: u32,
    /// The layers of an image that has it, in their order.
    pub layers: Vec<Layer>,
    /// Whoever starts it says what is started.
    pub needs_command: bool,
    /// Whoever starts it says which model is asked.
    pub needs_model: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub what: String,
    pub setup: String,
    pub compute: Compute,
}

/// One model provider of `lamp.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub name: String,
    pub provider: ModelProvider,
}

/// What a program is to do. The door has compared it with what is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub agent: String,
    pub mode: Mode,
    pub request: String,
    /// What was said since.
    pub guidance: Vec<String>,
    /// The name of a model in `lamp.yaml`; the first that fits where it is left out.
    pub provider: Option<String>,
    pub model: Option<String>,
    /// What is to be started, for programs that are told.
    pub command: Option<String>,
    pub session: Option<String>,
    /// Where the repositories are, the one to work in first; all in the workspace where there is none.
    pub directories: Vec<String>,
    pub limit: Option<Duration>,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// It was never begun: the files say something else by now.
    #[error("{reason}")]
    Unfit { reason: String },
    /// It was never begun, and nobody asked for anything wrong.
    #[error("{reason}")]
    Broken { reason: String },
    #[error(transparent)]
    Failed(#[from] AgentError),
}
