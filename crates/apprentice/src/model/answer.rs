//! Puts an answer together from the pieces of a stream, and refuses what is too much.

use serde_json::Value;

use super::Failure;
use crate::conversation::{Arguments, Call, Said, Thought};

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub said: Said,
    pub end: AnswerEnd,
    pub usage: Usage,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// It said all, or waits for its calls.
    Whole,
    MaxTokens,
    Refusal,
    /// It tried to call something, but the provider could not read it.
    MalformedCall,
}

/// What an answer took, in tokens. `input` does not include what came from the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Part of `output`.
    pub thinking: u64,
}

impl Usage {
    /// A number of tokens above this is a lie or a mistake.
    const MOST: u64 = 1_000_000_000;

    pub fn total(&self) -> u64 {
        self.context().saturating_add(self.output)
    }

    /// How much the model looked at.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.thinking = self.thinking.saturating_add(other.thinking);
    }
}

/// Sets `slot` to the number at `path`, if there is one.
pub(super) fn count(slot: &mut u64, from: &Value, path: &str) {
    if let Some(number) = from.pointer(path).and_then(Value::as_u64) {
        *slot = number.min(Usage::MOST);
    }
}

const MOST_TEXT: usize = 1 << 20;
const MOST_THOUGHTS: usize = 4 << 20;
const MOST_ARGUMENTS: usize = 1 << 20;
/// What is deeper could be written down, but not be read again.
const DEEPEST_ARGUMENTS: usize = 16;
const MOST_CALLS: usize = 32;
const LONGEST_NAME: usize = 200;

/// An answer that is still coming.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) usage: Usage,
    text: String,
    thoughts: Vec<Thought>,
    thought_bytes: usize,
    calls: Vec<DraftCall>,
    end: Option<AnswerEnd>,
    refused: bool,
    done: bool,
}

#[derive(Debug)]
struct DraftCall {
    /// By what the stream tells calls apart.
    index: u64,
    id: String,
    name: String,
    arguments: DraftArguments,
    signature: Option<String>,
}

#[derive(Debug)]
enum DraftArguments {
    Text(String),
    Value(Value),
}

impl Draft {
    pub(super) fn text(&mut self, piece: &str) -> Result<(), Failure> {
        self.text.push_str(piece);
        limit(self.text.len(), MOST_TEXT, "it says too much")
    }

    /// Another piece of a thought that is shown.
    pub(super) fn thought(&mut self, piece: &str) -> Result<(), Failure> {
        match self.thoughts.last_mut() {
            Some(Thought::Plain { text }) => text.push_str(piece),
            Some(Thought::Signed { .. } | Thought::Sealed { .. }) | None => {
                self.thoughts.push(Thought::Plain { text: piece.to_owned() });
            }
        }
        self.thought_of(piece.len())
    }

    /// The thought before has this signature.
    pub(super) fn sign(&mut self, piece: &str) -> Result<(), Failure> {
        match self.thoughts.last_mut() {
            Some(Thought::Signed { signature, .. }) => signature.push_str(piece),
            Some(thought @ Thought::Plain { .. }) => {
                let text = thought.text().to_owned();
                *thought = Thought::Signed { text, signature: piece.to_owned() };
            }
            Some(Thought::Sealed { .. }) | None => {
                let (text, signature) = (String::new(), piece.to_owned());
                self.thoughts.push(Thought::Signed { text, signature });
            }
        }
        self.thought_of(piece.len())
    }

    /// What is thought next is another thought.
    pub(super) fn next_thought(&mut self) {
        self.thoughts.push(Thought::Plain { text: String::new() });
    }

    pub(super) fn sealed(&mut self, data: &str) -> Result<(), Failure> {
        self.thoughts.push(Thought::Sealed { data: data.to_owned() });
        self.thought_of(data.len())
    }

    fn thought_of(&mut self, bytes: usize) -> Result<(), Failure> {
        self.thought_bytes += bytes;
        limit(self.thought_bytes, MOST_THOUGHTS, "it thinks too much")
    }

    /// A call begins, or goes on if one with this index is there.
    pub(super) fn call(&mut self, index: u64, id: &str, name: &str) -> Result<(), Failure> {
        limit(id.len().max(name.len()), LONGEST_NAME, "a name of a call is too long")?;
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
            }
            return Ok(());
        }
        limit(self.calls.len() + 1, MOST_CALLS, "it calls too many tools at once")?;
        let arguments = DraftArguments::Text(String::new());
        let (id, name) = (id.to_owned(), name.to_owned());
        self.calls.push(DraftCall { index, id, name, arguments, signature: None });
        Ok(())
    }

    pub(super) fn arguments(&mut self, index: u64, piece: &str) -> Result<(), Failure> {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else {
            return Err(Failure::bad_answer("arguments of no call"));
        };
        match &mut call.arguments {
            DraftArguments::Text(text) => {
                text.push_str(piece);
                limit(text.len(), MOST_ARGUMENTS, "the arguments of a call are too large")
            }
            DraftArguments::Value(_) => Err(Failure::bad_answer("a call has two arguments")),
        }
    }

    /// A call that comes as a whole.
    pub(super) fn whole_call(
        &mut self,
        id: &str,
        name: &str,
        arguments: &Value,
        signature: Option<&str>,
    ) -> Result<(), Failure> {
        limit(
            arguments.to_string().len(),
            MOST_ARGUMENTS,
            "the arguments of a call are too large",
        )?;
        self.thought_of(signature.map_or(0, str::len))?;
        let index = self.calls.iter().map(|call| call.index + 1).max().unwrap_or(0);
        self.call(index, id, name)?;
        if let Some(call) = self.calls.last_mut() {
            call.arguments = DraftArguments::Value(arguments.clone());
            call.signature = signature.map(ToOwned::to_owned);
        }
        Ok(())
    }

    /// How many calls have begun.
    pub(super) fn call_count(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn ends(&mut self, end: AnswerEnd) {
        self.end = Some(end);
    }

    /// However it ends, it is a refusal.
    pub(super) fn refused(&mut self) {
        self.refused = true;
    }

    /// Nothing more is to come.
    pub(super) fn done(&mut self) {
        self.done = true;
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// The answer, if its end was told.
    pub(super) fn finish(self) -> Result<Answer, Failure> {
        let Some(end) = self.end else {
            return Err(Failure::unreachable("the answer was cut off"));
        };
        let end = if self.refused { AnswerEnd::Refusal } else { end };
        let calls = self.calls.into_iter().map(|call| {
            let arguments = match call.arguments {
                DraftArguments::Value(value) => object(value),
                // A tool without arguments is called with nothing at all.
                DraftArguments::Text(text) if text.trim().is_empty() => {
                    Arguments::Object(Value::Object(serde_json::Map::new()))
                }
                DraftArguments::Text(text) => match serde_json::from_str(&text) {
                    Ok(value) => object(value),
                    Err(error) => Arguments::Malformed(format!("they are no JSON: {error}")),
                },
            };
            let (id, name, signature) = (call.id, call.name, call.signature);
            Call { id, name, arguments, signature }
        });
        let mut thoughts = self.thoughts;
        thoughts.retain(|it| !matches!(it, Thought::Plain { text } if text.is_empty()));
        let said = Said { thoughts, text: self.text, calls: calls.collect() };
        Ok(Answer { said, end, usage: self.usage })
    }
}

fn object(value: Value) -> Arguments {
    match value {
        Value::Object(_) if depth(&value) > DEEPEST_ARGUMENTS => {
            Arguments::Malformed(format!("they are nested deeper than {DEEPEST_ARGUMENTS}"))
        }
        Value::Object(_) => Arguments::Object(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Arguments::Malformed("they are no object".to_owned())
        }
    }
}

/// As deep as the reader of JSON lets anything be, so this ends.
fn depth(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(items) => 1 + items.values().map(depth).max().unwrap_or(0),
    }
}

fn limit(found: usize, most: usize, what: &str) -> Result<(), Failure> {
    if found > most { Err(Failure::bad_answer(what)) } else { Ok(()) }
}
