//! The first version of everything that an agent can do. Shipped: not to be changed, only to be succeeded.
//!
//! A line of the table holds the kind, the event and the body's fields in the order in which they are written.

use domain::transcript::{self, AgentEvent, TodoState, ToolKind, ToolStatus, Verdict};
use serde::{Deserialize, Serialize};

use crate::stored::{shape::Shape, text::Text, v1::cost::Cost};

pub(super) const VERSION: i64 = 1;

macro_rules! events {
    (
        $($kind:literal = $name:ident { $($field:ident: $shape:ty),+ };)+
        $(whole $record_kind:literal = $record:ident($record_shape:ty);)+
    ) => {
        $(
            #[derive(Debug, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            struct $name {
                $(
                    #[serde(deserialize_with = "serde::Deserialize::deserialize")]
                    $field: $shape,
                )+
            }
        )+

        /// The kind and the body of `event`.
        pub(super) fn encode(event: &AgentEvent) -> (&'static str, String) {
            match event {
                $(AgentEvent::$name { $($field),+ } => {
                    ($kind, write(&$name { $($field: Shape::of($field)),+ }))
                })+
                $(AgentEvent::$record(value) => {
                    ($record_kind, write(&<$record_shape as Shape>::of(value)))
                })+
            }
        }

        /// The event that `body` tells of, unless there is no such kind.
        pub(super) fn decode(kind: &str, body: &str) -> Option<serde_json::Result<AgentEvent>> {
            match kind {
                $($kind => Some(serde_json::from_str(body).map(|$name { $($field),+ }| {
                    AgentEvent::$name { $($field: Shape::value($field)),+ }
                })),)+
                $($record_kind => Some(
                    serde_json::from_str::<$record_shape>(body)
                        .map(|shape| AgentEvent::$record(shape.value()))
                ),)+
                _unknown => None,
            }
        }

        #[cfg(test)]
        pub(super) const KINDS: &[&str] = &[$($kind,)+ $($record_kind,)+];
    };
}

events! {
    "briefed" = Briefed { part: u32, text: String };
    "started" = Started {
        program: String,
        version: Option<String>,
        model: Option<String>,
        session: Option<String>
    };
    "message" = Message { number: u32, text: String };
    "thought" = Thought { number: u32, text: String };
    "file_changed" = FileChanged { path: String };
    "todo" = Todo { items: Vec<TodoItem> };
    "permission" = Permission { title: String, verdict: Text<Verdict> };
    "question" = Question { text: String, choices: Vec<String> };
    "heard" = Heard { text: String };
    "trouble" = Trouble { text: String };
    "finished" = Finished { ending: Ending };
    whole "tool_call" = ToolCall(ToolUse);
    whole "usage" = Usage(Cost);
}

record! {
    ToolUse of transcript::ToolCall {
        id: String,
        title: String,
        kind: Text<ToolKind>,
        status: Text<ToolStatus>,
        input: Option<String>,
        result: Option<String>,
        paths: Vec<String>,
    }
}

record! {
    TodoItem of transcript::TodoItem {
        text: String,
        state: Text<TodoState>,
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Ending {
    Answered,
    Asked,
    Stopped { reason: String },
}

impl Shape for Ending {
    type Of = transcript::Ending;

    fn of(value: &transcript::Ending) -> Self {
        match value {
            transcript::Ending::Answered => Self::Answered,
            transcript::Ending::Asked => Self::Asked,
            transcript::Ending::Stopped { reason } => Self::Stopped { reason: reason.clone() },
        }
    }

    fn value(self) -> transcript::Ending {
        match self {
            Self::Answered => transcript::Ending::Answered,
            Self::Asked => transcript::Ending::Asked,
            Self::Stopped { reason } => transcript::Ending::Stopped { reason },
        }
    }
}

/// Shapes hold texts, numbers, lists and records. Writing those to memory cannot fail; if it ever
/// could, the empty body would be refused when it is read.
fn write(shape: &impl Serialize) -> String {
    serde_json::to_string(shape).unwrap_or_default()
}
