//! What the values at the paths mean, in each dialect.
//!
//! | dialect | says | counts as input |
//! |---|---|---|
//! | Anthropic Messages | `usage`, and `message.usage` at the beginning of a stream; cumulative | what was neither read from a cache nor written to one |
//! | `OpenaiChat` | `usage`, in the last chunk of a stream | all of the prompt; what came from a cache is taken off |
//! | `OpenaiResponses` | `usage`, or `response.usage` in the last event | as above |
//! | Gemini | `usageMetadata`, cumulative | as above, and what tools put in |

use serde_json::Value;

use crate::ask::{Dialect, Usage};

/// What is looked for in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    Model,
    Usage,
    Type,
    /// Why the model stopped.
    Finish,
    Error,
}

pub(super) const PATHS: [(Path, &str); 13] = [
    (Path::Model, "model"),
    (Path::Model, "message.model"),
    (Path::Model, "response.model"),
    (Path::Model, "modelVersion"),
    (Path::Usage, "usage"),
    (Path::Usage, "message.usage"),
    (Path::Usage, "response.usage"),
    (Path::Usage, "usageMetadata"),
    (Path::Type, "type"),
    (Path::Finish, "candidates.finishReason"),
    (Path::Finish, "promptFeedback.blockReason"),
    (Path::Error, "error"),
    (Path::Error, "response.error"),
];

#[derive(Debug)]
pub(super) struct Tally {
    dialect: Dialect,
    usage: Usage,
    /// Whether anything was told.
    told: Told,
    /// Whether the answer said that it is at its end.
    ended: Ended,
    /// Whether it is an error, which costs nothing.
    failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    InThisEvent,
    Before,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    Yes,
}

/// No model's name is longer.
const LONGEST_NAME: usize = 200;

impl Tally {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            usage: Usage::default(),
            told: Told::Nothing,
            ended: Ended::No,
            failed: false,
        }
    }

    pub(super) fn found(&mut self, path: Path, value: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(value) else { return };
        match path {
            Path::Model => {
                if let Some(name) =
                    value.as_str().filter(|name| !name.is_empty() && name.len() <= LONGEST_NAME)
                {
                    self.usage.model = Some(name.to_owned());
                }
            }
            Path::Usage if value.is_object() => {
                self.told = Told::InThisEvent;
                self.count(&value);
            }
            Path::Type => {
                if value.as_str() == Some("message_stop") {
                    self.ended = Ended::Yes;
                }
            }
            Path::Finish if value.is_string() => self.ended = Ended::Yes,
            Path::Usage | Path::Finish => {}
            Path::Error => self.failed |= !value.is_null(),
        }
    }

    fn count(&mut self, told: &Value) {
        match self.dialect {
            Dialect::AnthropicMessages => {
                let usage = &mut self.usage;
                raise(&mut usage.input_tokens, number(told, "/input_tokens"));
                raise(&mut usage.cache_read_tokens, number(told, "/cache_read_input_tokens"));
                raise(&mut usage.cache_write_tokens, number(told, "/cache_creation_input_tokens"));
                raise(&mut usage.output_tokens, number(told, "/output_tokens"));
            }
            Dialect::OpenaiChat => {
                let cached = number(told, "/prompt_tokens_details/cached_tokens")
                    .or_else(|| number(told, "/prompt_cache_hit_tokens"));
                self.input(number(told, "/prompt_tokens"), cached);
                raise(&mut self.usage.output_tokens, number(told, "/completion_tokens"));
            }
            Dialect::OpenaiResponses => {
                let cached = number(told, "/input_tokens_details/cached_tokens");
                self.input(number(told, "/input_tokens"), cached);
                raise(&mut self.usage.output_tokens, number(told, "/output_tokens"));
                // Only the last event has it.
                self.ended = Ended::Yes;
            }
            Dialect::Gemini => {
                let tools = number(told, "/toolUsePromptTokenCount").unwrap_or(0);
                let prompt =
                    number(told, "/promptTokenCount").map(|prompt| prompt.saturating_add(tools));
                self.input(prompt, number(told, "/cachedContentTokenCount"));
                let thoughts = number(told, "/thoughtsTokenCount").unwrap_or(0);
                let written = number(told, "/candidatesTokenCount").unwrap_or(0);
                raise(&mut self.usage.output_tokens, Some(written.saturating_add(thoughts)));
            }
        }
    }

    /// A number for all input, and one for the part of it that came from a cache.
    fn input(&mut self, all: Option<u64>, cached: Option<u64>) {
        let Some(all) = all else { return };
        let cached = cached.unwrap_or(0).min(all);
        raise(&mut self.usage.cache_read_tokens, Some(cached));
        let fresh = all.saturating_sub(self.usage.cache_read_tokens);
        raise(&mut self.usage.input_tokens, Some(fresh));
    }

    /// The `[DONE]` of a chat.
    pub(super) fn done(&mut self) {
        self.ended = Ended::Yes;
    }

    /// An event of a stream is over. In a chat, the one that tells what was used is the last.
    pub(super) fn event_ends(&mut self) {
        self.told = match (self.told, self.dialect) {
            (Told::Nothing, _) => Told::Nothing,
            (Told::InThisEvent, Dialect::OpenaiChat) => {
                self.ended = Ended::Yes;
                Told::Before
            }
            (Told::Before, Dialect::OpenaiChat) => {
                self.ended = Ended::No;
                Told::Before
            }
            (
                Told::InThisEvent | Told::Before,
                Dialect::AnthropicMessages | Dialect::OpenaiResponses | Dialect::Gemini,
            ) => Told::Before,
        };
    }

    /// An answer that is one value came whole. An error costs nothing.
    pub(super) fn whole(&mut self) {
        self.ended = Ended::Yes;
        if self.failed && self.told == Told::Nothing {
            self.told = Told::Before;
        }
    }

    pub(super) fn usage(self) -> Usage {
        let complete = self.ended == Ended::Yes && self.told != Told::Nothing;
        Usage { complete, ..self.usage }
    }
}

fn number(told: &Value, pointer: &str) -> Option<u64> {
    told.pointer(pointer).and_then(Value::as_u64).map(|number| number.min(MOST))
}

/// More tokens than that is a mistake.
const MOST: u64 = 1_000_000_000_000;

/// What is told again is told about the whole, so it only grows.
fn raise(count: &mut u64, told: Option<u64>) {
    *count = (*count).max(told.unwrap_or(0));
}
