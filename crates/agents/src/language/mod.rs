//! What programs say, line by line, in what we understand of it.
//!
//! A reader is pure: it is given one line as JSON and tells what was heard. So a recorded transcript of a real program is a
//! test, and a new version that says something else shows up as a difference.
//!
//! What a reader does not know, it passes over: programs add kinds of lines with every version. What it knows, it takes strictly:
//! text is text and a number is a number, or the line counts as unknown.

pub mod acp;
pub mod claude;
pub mod codex;
pub mod gemini;

use domain::transcript::{TodoItem, ToolCall, ToolKind, ToolStatus};
use serde_json::Value;

/// One thing that was heard from a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Who it is.
    Hello {
        version: Option<String>,
        model: Option<String>,
    },
    /// What it calls its memory.
    Session(String),
    /// More of a message.
    Text(String),
    /// More of a thought.
    Thought(String),
    /// What was said before is whole; what comes is something new.
    Break,
    Tool(ToolNews),
    Todo(Vec<TodoItem>),
    /// It asks by a tool of its own.
    Question {
        text: String,
        choices: Vec<String>,
    },
    /// Something went wrong, and it goes on.
    Trouble(String),
    /// The turn is over, and this is how.
    Over(Over),
}

/// What is new about the use of a tool. What is `None` has not changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNews {
    pub id: String,
    pub title: Option<String>,
    pub kind: Option<ToolKind>,
    pub status: Option<ToolStatus>,
    pub input: Option<String>,
    pub result: Option<String>,
    /// More of what it says, after what was told before.
    pub more: Option<String>,
    pub paths: Vec<String>,
}

/// How a turn ended, as the program says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// By itself. Whether it came to anything is another question.
    Ended,
    /// Because it was told to stop.
    Cancelled,
    /// The model would not.
    Refused,
    /// The model's answer was cut at its limit.
    CutShort(String),
    /// With a status of the model's, if it tells one.
    Failed { status: Option<u16>, reason: String },
}

impl ToolNews {
    pub fn of(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    /// Joins what is known already with what is new.
    pub fn onto(self, known: ToolCall) -> ToolCall {
        ToolCall {
            id: known.id,
            title: self.title.unwrap_or(known.title),
            kind: self.kind.unwrap_or(known.kind),
            status: self.status.unwrap_or(known.status),
            input: self.input.or(known.input),
            result: match (self.result.or(known.result), self.more) {
                (Some(before), Some(more)) => Some(before + &more),
                (before, more) => before.or(more),
            },
            paths: if self.paths.is_empty() { known.paths } else { self.paths },
        }
    }
}

/// The text at a pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// The same, as something to keep; empty is nothing.
pub(crate) fn owned(value: &Value, pointer: &str) -> Option<String> {
    text(value, pointer).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Something that a person can read: text as it is, anything else as JSON. Nothing for what is empty.
pub(crate) fn readable(value: &Value) -> Option<String> {
    let told = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Object(map) if map.is_empty() => return None,
        Value::Array(list) if list.is_empty() => return None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    (!told.is_empty()).then_some(told)
}

/// The status of a model in a sentence such as `API Error: 429 …`, where a program tells no number.
pub(crate) fn status_in(reason: &str) -> Option<u16> {
    let words = reason.split(|c: char| !c.is_ascii_digit());
    words
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_found_in_a_sentence() {
        assert_eq!(status_in("API Error: 429 too many"), Some(429));
        assert_eq!(status_in("exceeded retry limit, last status: 503 Service"), Some(503));
        assert_eq!(status_in("after 1400 ms and 20 tries, port 8080"), None);
    }
}
