//! A computer that belongs to one run.
//!
//! The caller chooses the id, so that every call can be repeated: opening an open sandbox, resting a
//! resting one, destroying one that is gone all succeed and change nothing. Destroying is final: an id
//! that was destroyed is never opened again, even by a call that was on its way meanwhile.

use std::{collections::BTreeMap, future::Future, time::Duration};

use domain::{
    agent::Tier,
    approval::Conditions,
    code::{Access, CommitId, RepositoryName},
    cost::Cost,
    id::{SandboxId, TaskId},
    task::Purpose,
};
use tokio::sync::mpsc;

use crate::Key;

pub trait Sandboxes: Send + Sync + 'static {
    /// What this provider can really do on this host.
    fn capabilities(&self) -> Capabilities;

    /// Opens the sandbox, or wakes it if it rests. Ready for [`Sandboxes::exec`] on return.
    fn open(&self, spec: &Spec) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Runs a command to its end. Dropping the future ends the command and all that it started.
    ///
    /// A repeated `key` gives the first answer, if the command had ended; otherwise it runs again.
    fn exec(
        &self,
        sandbox: SandboxId,
        key: Key,
        command: &Exec,
        streams: Streams,
    ) -> impl Future<Output = Result<Finished, SandboxError>> + Send;

    /// Stops everything and keeps the disk. Costs nothing until it is opened again.
    fn rest(&self, sandbox: SandboxId) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// Removes all of it. Also succeeds when it is already gone.
    fn destroy(&self, sandbox: SandboxId) -> impl Future<Output = Result<(), SandboxError>> + Send;

    /// What all sandboxes of `owner` have used so far, those that are gone included. Never decreases,
    /// so that whoever crashed while writing it down can ask again.
    fn bill(&self, owner: TaskId) -> impl Future<Output = Result<Cost, SandboxError>> + Send;

    /// Every sandbox that exists, whoever made it.
    fn list(&self) -> impl Future<Output = Result<Vec<Listed>, SandboxError>> + Send;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub tiers: Vec<Tier>,
    /// Why a tier is missing, for `lamp doctor`.
    pub missing: BTreeMap<Tier, String>,
}

/// What to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub id: SandboxId,
    pub owner: TaskId,
    pub purpose: Purpose,
    pub image: String,
    pub tier: Tier,
    pub compute: Compute,
    /// What is inside when it is first opened. Waking it changes nothing inside.
    pub sources: Vec<Checkout>,
    /// What the approver allowed, for an implementing sandbox. Applied anew at every opening.
    pub conditions: Option<Conditions>,
}

/// A repository inside the sandbox. From one with [`Access::Read`] nothing is ever taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub repository: RepositoryName,
    pub commit: CommitId,
    pub access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compute {
    pub cpu_millis: u32,
    pub memory_mib: u32,
    pub disk_mib: u32,
    pub lifetime: Duration,
}

impl Default for Compute {
    fn default() -> Self {
        Self {
            cpu_millis: 1_000,
            memory_mib: 4_096,
            disk_mib: 20_480,
            lifetime: Duration::from_hours(2),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    pub argv: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub directory: String,
    /// Ended with everything that it started when this has passed.
    pub limit: Duration,
    /// Bytes of output that are passed on; the rest is dropped and [`Finished::cut`] says so.
    pub output_limit: u64,
}

/// The ends of a command's pipes. Whoever does not read slows the command down; nothing piles up.
#[derive(Debug)]
pub struct Streams {
    pub input: mpsc::Receiver<Input>,
    pub output: mpsc::Sender<Output>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Bytes(Vec<u8>),
    Signal(i32),
    Resize { columns: u16, rows: u16 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Out(Vec<u8>),
    Error(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub ending: Ended,
    pub cut: Cut,
    pub cost: Cost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Killed { signal: i32 },
    TimedOut,
    OutOfMemory { peak_mib: u32 },
}

/// Whether output was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Whole,
    Cut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: SandboxId,
    pub owner: TaskId,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Resting,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no sandbox {id}")]
    NotFound { id: SandboxId },
    #[error("sandbox {id} was destroyed and does not come back")]
    Destroyed { id: SandboxId },
    #[error("this host cannot give the tier `{tier}`: {reason}")]
    TierMissing { tier: Tier, reason: String },
    #[error("the image `{image}` cannot be used: {reason}")]
    Image { image: String, reason: String },
    #[error("there is no program `{program}` in the image")]
    ProgramMissing { program: String },
    /// Full, slow, restarting: try again.
    #[error("the host cannot do it now: {reason}")]
    Busy { reason: String },
    #[error("the sandbox was lost: {reason}")]
    Lost { reason: String },
}
