//! What is remembered of each request: enough to say what a program sent, and nothing that is a secret.

use serde::Serialize;

use super::usage::Usage;

/// One request, and what was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub method: String,
    /// Without the query, where some put keys.
    pub path: String,
    /// The names of the headers, in order.
    pub headers: Vec<String>,
    /// The hash of the key that was shown; see [`key_hash`](super::key_hash).
    pub key: Option<String>,
    /// The language, if the request was for an answer.
    pub wire: Option<&'static str>,
    pub model: String,
    /// The names of the tools that it declared.
    pub tools: Vec<String>,
    /// Messages of the conversation, without results of tools.
    pub turns: usize,
    /// The end of what the user said last.
    pub prompt: String,
    /// All that the user has said before that, and the model has answered: what a program shows of its memory.
    #[serde(skip)]
    pub remembered: Vec<String>,
    /// Which step of how many, if one was played: `2/5`.
    pub step: Option<String>,
    /// What the answer was: `calls Write`, `says`, `error 429`, `hangs`, `aside`, `models`, …
    pub what: String,
    /// None where nobody ever answers.
    pub status: Option<u16>,
    /// What the answer says that was used, if it is read to its end.
    pub told: Option<Usage>,
}

/// How much of a prompt is remembered.
const TAIL: usize = 400;

/// The end of a text.
pub(super) fn tail(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(TAIL);
    text.chars().skip(skipped).collect()
}
