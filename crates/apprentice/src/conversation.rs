//! What was said between the person, the model and the tools, in no provider's language.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The person's words, or the platform's for them.
    User(String),
    /// What stands for the part of the conversation that is no longer sent.
    Summary(String),
    Assistant(Said),
    /// What became of the calls of the entry before; one for each, in their order.
    Results(Vec<CallResult>),
}

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<Thought>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
}

impl Said {
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty()
    }
}

/// What a provider wants back as it gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thought {
    Plain { text: String },
    Signed { text: String, signature: String },
    Sealed { data: String },
}

impl Thought {
    pub fn text(&self) -> &str {
        match self {
            Self::Plain { text } | Self::Signed { text, .. } => text,
            Self::Sealed { .. } => "",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in the session.
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
    /// Gemini wants it back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    Object(Value),
    /// Not an object of JSON; with the reason.
    Malformed(String),
}

impl Arguments {
    /// For sending back to a provider, which insists on an object.
    pub fn object(&self) -> Value {
        match self {
            Self::Object(value) => value.clone(),
            Self::Malformed(_) => Value::Object(serde_json::Map::new()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub id: String,
    pub name: String,
    pub text: String,
    pub end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Done,
    Failed,
}

/// About how many bytes a token has. Code has a little more; guessing high only compacts earlier.
const BYTES_PER_TOKEN: usize = 3;
const TOKENS_AROUND_AN_ENTRY: u64 = 8;

/// A guess of how many tokens it takes.
pub fn tokens_of(text: &str) -> u64 {
    text.len().div_ceil(BYTES_PER_TOKEN) as u64
}

/// How many bytes about `tokens` are.
pub fn bytes_of(tokens: u64) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN)
}

impl Entry {
    pub fn tokens(&self) -> u64 {
        let inside: u64 = match self {
            Self::User(text) | Self::Summary(text) => tokens_of(text),
            Self::Assistant(said) => {
                let thoughts = said.thoughts.iter().map(|thought| match thought {
                    Thought::Plain { .. } => 0,
                    Thought::Signed { text, signature } => tokens_of(text) + tokens_of(signature),
                    Thought::Sealed { data } => tokens_of(data),
                });
                let calls = said.calls.iter().map(|call| {
                    let signature = call.signature.as_deref().map_or(0, tokens_of);
                    let arguments = tokens_of(&call.arguments.object().to_string());
                    TOKENS_AROUND_AN_ENTRY + tokens_of(&call.name) + arguments + signature
                });
                tokens_of(&said.text) + thoughts.sum::<u64>() + calls.sum::<u64>()
            }
            Self::Results(results) => {
                results.iter().map(|it| TOKENS_AROUND_AN_ENTRY + tokens_of(&it.text)).sum()
            }
        };
        inside + TOKENS_AROUND_AN_ENTRY
    }
}

pub fn tokens(entries: &[Entry]) -> u64 {
    entries.iter().map(Entry::tokens).sum()
}

/// Gives every call its result, also when the program ended between the two.
pub fn close(entries: &mut Vec<Entry>) {
    let Some(Entry::Assistant(said)) = entries.last() else { return };
    if said.calls.is_empty() {
        return;
    }
    let results = said.calls.iter().map(|call| unfinished(call, "this was interrupted")).collect();
    entries.push(Entry::Results(results));
}

/// The result of a call that has none.
pub fn unfinished(call: &Call, why: &str) -> CallResult {
    CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: why.to_owned(),
        end: End::Failed,
    }
}
