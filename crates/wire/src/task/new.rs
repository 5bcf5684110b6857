//! What to hand over.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use super::repository::Access;
use super::shown::Task;

/// The most repositories that one task may name.
pub const REPOSITORIES: usize = 16;

/// The most attempts that may work side by side.
pub const PARALLEL: u8 = 8;

/// The most bytes of an `Idempotency-Key`.
pub const KEY_LIMIT: usize = 255;

/// A task to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// What is wanted, in a person's words. At most 65,536 bytes.
    #[schema(
        min_length = 1,
        max_length = 65_536,
        pattern = r"\S",
        example = "fix the flaky login test"
    )]
    pub text: String,
    /// Where. The first is the one that the work is delivered to.
    #[schema(min_items = 1, max_items = 16)]
    pub repositories: Vec<NewRepository>,
    /// Which agent works: a name from `agents/*.yaml`, or a program. The server's usual one when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[a-z][a-z0-9-]{0,63}$", example = "claude-code")]
    pub agent: Option<String>,
    /// Which model it asks; its own choice when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub model: Option<String>,
    /// How often its checks may fail before it asks for help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub attempts: Option<u8>,
    /// How many begin the same task side by side, so that a person can pick one; one when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 8)]
    pub parallel: Option<u8>,
    /// Who works on each of them, where that differs. There are at least as many attempts as are named here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 8)]
    pub variants: Vec<Variant>,
    /// What each of them may spend, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, example = 5_000_000)]
    pub budget_micros: Option<u64>,
}

impl NewTask {
    /// How many begin it side by side.
    pub fn attempts_side_by_side(&self) -> usize {
        usize::from(self.parallel.unwrap_or(1)).max(self.variants.len())
    }

    /// The wish of attempt `number`, from 0.
    #[must_use]
    pub fn attempt(&self, number: usize) -> Self {
        let variant = self.variants.get(number).cloned().unwrap_or_default();
        Self {
            agent: variant.agent.or_else(|| self.agent.clone()),
            model: variant.model.or_else(|| self.model.clone()),
            variants: Vec::new(),
            parallel: None,
            ..self.clone()
        }
    }
}

/// Who works on one of several attempts. What is left out is as the task says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[a-z][a-z0-9-]{0,63}$", example = "codex")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub model: Option<String>,
}

/// A repository that a task works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRepository {
    /// `owner/name`, or one word.
    #[schema(
        max_length = 200,
        pattern = r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$",
        example = "acme/web"
    )]
    pub name: String,
    /// Where it is: a path on the server, `file://`, `https://` or an SSH address.
    #[schema(min_length = 1, max_length = 4096, example = "https://git.example.com/acme/web.git")]
    pub url: String,
    /// A branch, a tag or a commit to begin from; the default branch when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub revision: Option<String>,
    /// Whether it may be changed. The first may when it is left out, the others may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
}

/// What was begun: one task, or one for each parallel attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BegunTasks {
    pub tasks: Vec<Task>,
}
