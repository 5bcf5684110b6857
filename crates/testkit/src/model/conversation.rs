//! A conversation as a script sees it, whichever wire format it came in.

use serde_json::{Map, Value};

use super::toolbox::Tool;

/// What a request brings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) turns: Vec<Turn>,
    pub(super) tools: Vec<Tool>,
    pub(super) delivery: Delivery,
    /// What the answer must look like, if that was asked for.
    pub(super) schema: Option<Value>,
    pub(super) tells: Tells,
}

/// One message, as far as it matters for finding one's place in a script. Results of tools are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// One text of the user's. A message with several of them is several turns.
    User(String),
    /// The model spoke, and called nothing.
    Said,
    /// The model called a tool.
    Called,
}

/// How the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Stream,
    Whole,
}

/// Whether a stream tells what was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    Usage,
    Nothing,
}

/// What programs put before a prompt, or between two, by themselves. No script is looked for in it.
const HOUSEKEEPING: [&str; 5] = [
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
];

impl Turn {
    /// What the user said, if it was the user who said it.
    pub(super) fn prompt(&self) -> Option<&str> {
        match self {
            Self::User(text) => {
                let begin = text.trim_start();
                let own = HOUSEKEEPING.iter().any(|mark| begin.starts_with(mark));
                (!own && !begin.is_empty()).then_some(text)
            }
            Self::Said | Self::Called => None,
        }
    }
}

impl Conversation {
    /// How many answers of the model came after this turn. An answer that called nothing counts when the user spoke after it.
    pub(super) fn answers_after(&self, start: usize) -> usize {
        let after = self.turns.get(start..).unwrap_or_default();
        // What a program adds by itself stands for nobody.
        let meant = |turn: &&Turn| !matches!(turn, Turn::User(_)) || turn.prompt().is_some();
        let spoken: Vec<&Turn> = after.iter().filter(meant).collect();
        let next = spoken.iter().skip(1).map(|turn| turn.prompt()).chain(std::iter::once(None));
        spoken
            .iter()
            .zip(next)
            .filter(|(turn, prompted)| match turn {
                Turn::Called => true,
                Turn::Said => prompted.is_some(),
                Turn::User(_) => false,
            })
            .count()
    }

    /// Everything that might say in which directory the program works.
    pub(super) fn surroundings(&self) -> impl Iterator<Item = &str> {
        let said = self.turns.iter().filter_map(|turn| match turn {
            Turn::User(text) => Some(text.as_str()),
            Turn::Said | Turn::Called => None,
        });
        std::iter::once(self.system.as_str()).chain(said)
    }

    /// What the user said before the last prompt and was answered by the model. What a program adds by itself is nothing.
    pub(super) fn remembered(&self) -> Vec<String> {
        let last = self.turns.iter().rposition(|turn| turn.prompt().is_some());
        let before = self.turns.get(..last.unwrap_or_default()).unwrap_or_default();
        let answered = before.iter().rposition(|turn| matches!(turn, Turn::Said | Turn::Called));
        let answered = before.get(..answered.unwrap_or_default()).unwrap_or_default();
        answered.iter().filter_map(Turn::prompt).map(str::to_owned).collect()
    }

    pub(super) fn last_prompt(&self) -> Option<&str> {
        self.turns.iter().rev().find_map(Turn::prompt)
    }
}

/// The text of a content that is a string, or a list of blocks with texts.
pub(super) fn text_of(content: Option<&Value>) -> String {
    texts(content).join("\n")
}

/// Each text of a content.
pub(super) fn texts(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block.as_str().or_else(|| text(block, "text")))
            .map(str::to_owned)
            .collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}

/// The user's turns of a content.
pub(super) fn user_turns(content: Option<&Value>) -> Vec<Turn> {
    texts(content).into_iter().map(Turn::User).collect()
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

pub(super) fn delivery(body: &Value) -> Delivery {
    match body.get("stream") {
        Some(Value::Bool(true)) => Delivery::Stream,
        Some(_) | None => Delivery::Whole,
    }
}
