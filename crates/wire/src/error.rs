//! What every refusal looks like: `{"error": {"code", "message", "help"}}`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refusal {
    pub error: Problem,
}

/// What is wrong, for programs (`code`) and for people (`message`, `help`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub code: Code,
    /// One sentence, without a full stop.
    pub message: String,
    /// What to do about it, where we know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The end of a log, where one tells more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// Stable names, to act upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request itself is wrong.
    BadRequest,
    Unauthorized,
    /// It came from where it must not come from.
    Forbidden,
    NotFound,
    /// It was destroyed, and does not come back.
    Gone,
    NameTaken,
    /// It rests: open it first.
    Resting,
    /// It belongs to a task, which alone may do this.
    BelongsToTask,
    TierMissing,
    Limit,
    Image,
    SetupFailed,
    Source,
    ProgramMissing,
    /// The path inside cannot be used so.
    Path,
    Unsupported,
    TooLarge,
    /// Try again.
    Busy,
    Lost,
    /// The server was stopped meanwhile.
    Stopped,
    /// The agent ended without an answer.
    AgentStopped,
    /// The agent said nothing for too long.
    AgentSilent,
    /// The agent's answer could not be understood.
    AgentUnusable,
    /// The model refused, and would again.
    ModelRefused,
    /// The model cannot be reached now.
    ModelBusy,
    /// There is no money left.
    OverBudget,
    /// It took longer than it may.
    TimeLimit,
    OutOfMemory,
    Internal,
    /// A code that this client is too old to know.
    #[serde(other)]
    Unknown,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None, log: None }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
