//! Why a sandbox did not do what it was asked.

use domain::{agent::Tier, id::SandboxId};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no sandbox {id}")]
    NotFound { id: SandboxId },
    #[error("sandbox {id} was destroyed and does not come back")]
    Destroyed { id: SandboxId },
    #[error("sandbox {id} rests: open it first")]
    Resting { id: SandboxId },
    #[error("the name `{name}` belongs to sandbox {id}")]
    NameTaken { name: String, id: SandboxId },
    #[error("this host cannot give the tier `{tier}`: {reason}")]
    TierMissing { tier: Tier, reason: String },
    #[error("{reason}")]
    Limit { reason: String },
    #[error("the image `{image}` cannot be used: {reason}")]
    Image { image: String, reason: String },
    /// The setup script of an image failed; `log` is the end of what it said.
    #[error("the setup failed: {reason}")]
    Setup { reason: String, log: String },
    #[error("the repository `{repository}` cannot be brought in: {reason}")]
    Source { repository: String, reason: String },
    #[error("the hook `{hook}` failed: {reason}")]
    Hook { hook: String, reason: String },
    #[error("there is no program `{program}` in the image")]
    ProgramMissing { program: String },
    #[error("the directory `{directory}` in the sandbox cannot be entered: {reason}")]
    Directory { directory: String, reason: String },
    #[error("this sandbox cannot do that: {reason}")]
    Unsupported { reason: String },
    /// Everything that there is has been promised to others.
    #[error("{reason}")]
    NoRoom { reason: String },
    /// Slow, restarting: try again.
    #[error("the host cannot do it now: {reason}")]
    Busy { reason: String },
    #[error("the sandbox was lost: {reason}")]
    Lost { reason: String },
}
