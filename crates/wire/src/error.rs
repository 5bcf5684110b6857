//! What every refusal looks like: `application/problem+json` (RFC 9457).
//!
//! `type`, `title`, `status` and `detail` are those of the RFC; `code` and `help` are ours. The same stands once more below `error`, for
//! clients that are older than the RFC's form here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of every answer that is not a success.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refusal {
    /// The kind of problem: the same for the same `code`.
    #[serde(rename = "type", default)]
    #[schema(example = "urn:lamplighter:problem:not_found")]
    pub kind: String,
    /// The kind in words: the same for the same `code`.
    #[serde(default)]
    #[schema(example = "Not found")]
    pub title: String,
    /// The status of the answer.
    #[serde(default)]
    #[schema(example = 404, minimum = 400, maximum = 599)]
    pub status: u16,
    /// What is wrong this time: one sentence, without a full stop.
    #[serde(default)]
    #[schema(example = "there is no task `t_01jb`")]
    pub detail: String,
    #[serde(default = "unknown")]
    pub code: Code,
    /// What to do about it, where we know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The same once more.
    pub error: Problem,
}

const fn unknown() -> Code {
    Code::Unknown
}

impl Refusal {
    /// How `problem` is told with this status.
    pub fn new(problem: Problem, status: u16) -> Self {
        Self {
            kind: format!("urn:lamplighter:problem:{}", problem.code.name()),
            title: problem.code.title(),
            status,
            detail: problem.message.clone(),
            code: problem.code,
            help: problem.help.clone(),
            error: problem,
        }
    }
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
    /// The address does not take this method.
    MethodNotAllowed,
    /// The body is not JSON, or does not say so.
    MediaType,
    /// A task does not allow this where it stands now.
    NotNow,
    /// Another plan, question or commit is the newest by now.
    Stale,
    /// The idempotency key was used for something else.
    KeyReused,
    /// Too many calls in a short time.
    TooMany,
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

impl Code {
    /// As it is written in an answer.
    pub fn name(self) -> String {
        let written = serde_json::to_value(self).ok();
        written.as_ref().and_then(serde_json::Value::as_str).unwrap_or("unknown").to_owned()
    }

    /// The same, to be read.
    fn title(self) -> String {
        let words = self.name().replace('_', " ");
        let mut letters = words.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_problem_document_that_old_clients_read_too() {
        let problem =
            Problem::new(Code::NotFound, "there is no task `t_1`").with_help("look again");
        let told = serde_json::to_string_pretty(&Refusal::new(problem.clone(), 404)).unwrap();
        insta::assert_snapshot!(told, @r#"
        {
          "type": "urn:lamplighter:problem:not_found",
          "title": "Not found",
          "status": 404,
          "detail": "there is no task `t_1`",
          "code": "not_found",
          "help": "look again",
          "error": {
            "code": "not_found",
            "message": "there is no task `t_1`",
            "help": "look again"
          }
        }
        "#);
        let old = r#"{"error":{"code":"of_the_future","message":"m"}}"#;
        let read: Refusal = serde_json::from_str(old).unwrap();
        assert_eq!(read.error, Problem::new(Code::Unknown, "m"));
    }
}
