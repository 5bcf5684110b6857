//! What an agent does, in one language for all of them (AG3).
//!
//! A run is a list of these events. They are what a watcher sees live, what is stored, and what a trace is made of. All of it
//! is said by a program in a sandbox, so it is data: nothing that an event says changes what a task may do.
//!
//! **Invariant:** an event that went through [`AgentEvent::bounded`] has at most [`LIMIT`] bytes of text and a little
//! more, whatever a program said. Texts that grow (messages, thoughts) come in parts instead of being cut.
//!
//! A secret's value that was cut in two is not found any more. So what was not cleaned yet is only [`AgentEvent::roughly_bounded`]:
//! where that cuts, [`AgentEvent::bounded`] leaves out.

use crate::cost::Cost;

/// Bytes of text in one event.
pub const LIMIT: usize = 16 * 1024;

/// Bytes of a title, a name or a path.
pub const LINE_LIMIT: usize = 1024;

/// Entries of a list.
pub const LIST_LIMIT: usize = 64;

/// How many times longer a text may be that was not cleaned yet.
const ROUGHLY: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// What it was told, word for word (CX3), in parts that are numbered from 1.
    Briefed {
        part: u32,
        text: String,
    },
    /// The program runs, and says who it is.
    Started {
        program: String,
        version: Option<String>,
        model: Option<String>,
        session: Option<String>,
    },
    /// What it says. Parts with one number are one message.
    Message {
        number: u32,
        text: String,
    },
    /// What it thinks. Parts with one number are one thought.
    Thought {
        number: u32,
        text: String,
    },
    /// It uses a tool. Told again with the same id when something about it changed.
    ToolCall(ToolCall),
    FileChanged {
        path: String,
    },
    /// Its own list of things to do. Not the plan that a person approves.
    Todo {
        items: Vec<TodoItem>,
    },
    /// It asked whether it may, and this is what the platform said.
    Permission {
        title: String,
        verdict: Verdict,
    },
    /// It needs to know something before it can go on.
    Question {
        text: String,
        choices: Vec<String>,
    },
    /// A person's words reached it.
    Heard {
        text: String,
    },
    /// What the run has used so far, as metered outside the sandbox.
    Usage(Cost),
    /// Something went wrong, and it goes on.
    Trouble {
        text: String,
    },
    /// The last one.
    Finished {
        ending: Ending,
    },
}

/// One use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub id: String,
    pub title: String,
    pub kind: ToolKind,
    pub status: ToolStatus,
    /// What it was given, as the program tells it.
    pub input: Option<String>,
    pub result: Option<String>,
    pub paths: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolKind {
    Read,
    Edit,
    Search,
    Execute,
    Fetch,
    Think,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolStatus {
    Running,
    Done,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoItem {
    pub text: String,
    pub state: TodoState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TodoState {
    Waiting,
    Doing,
    Done,
}

/// What the platform said to a program that asked whether it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    Allowed,
    Denied,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It gave an answer that fits.
    Answered,
    /// It asked, and waits.
    Asked,
    /// It was stopped: by a person, by a limit, by its own fault.
    Stopped { reason: String },
}

impl AgentEvent {
    /// The same with every text within its limit: the middle of what is too long is left out, and that is said.
    #[must_use]
    pub fn bounded(self) -> Self {
        self.within(Bounds { text: LIMIT, line: LINE_LIMIT })
    }

    /// The same, small enough to be held until it is cleaned of secrets and bounded.
    #[must_use]
    pub fn roughly_bounded(self) -> Self {
        self.within(Bounds { text: ROUGHLY * LIMIT, line: ROUGHLY * LINE_LIMIT })
    }

    /// Every text in it that somebody else wrote.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Briefed { text, .. }
            | Self::Message { text, .. }
            | Self::Thought { text, .. }
            | Self::Heard { text }
            | Self::Trouble { text } => vec![text],
            Self::Started { program, version, model, session } => {
                let known = [version, model, session].into_iter().flatten();
                std::iter::once(program).chain(known).collect()
            }
            Self::ToolCall(ToolCall { id, title, kind: _, status: _, input, result, paths }) => {
                let known = [input, result].into_iter().flatten();
                [id, title].into_iter().chain(known).chain(paths).collect()
            }
            Self::FileChanged { path } => vec![path],
            Self::Todo { items } => items.iter_mut().map(|item| &mut item.text).collect(),
            Self::Permission { title, verdict: _ } => vec![title],
            Self::Question { text, choices } => std::iter::once(text).chain(choices).collect(),
            Self::Finished { ending: Ending::Stopped { reason } } => vec![reason],
            Self::Finished { ending: Ending::Answered | Ending::Asked } | Self::Usage(_) => {
                Vec::new()
            }
        }
    }

    fn within(self, bounds: Bounds) -> Self {
        let text = |text: String| shortened(text, bounds.text);
        let line = |text: String| bounds.line(text);
        match self {
            Self::Briefed { part, text: said } => Self::Briefed { part, text: text(said) },
            Self::Started { program, version, model, session } => Self::Started {
                program: line(program),
                version: version.map(line),
                model: model.map(line),
                session: session.map(line),
            },
            Self::Message { number, text: said } => Self::Message { number, text: text(said) },
            Self::Thought { number, text: said } => Self::Thought { number, text: text(said) },
            Self::ToolCall(call) => Self::ToolCall(call.within(bounds)),
            Self::FileChanged { path } => Self::FileChanged { path: line(path) },
            Self::Todo { items } => {
                let bound = |item: TodoItem| TodoItem { text: line(item.text), ..item };
                Self::Todo { items: items.into_iter().take(LIST_LIMIT).map(bound).collect() }
            }
            Self::Permission { title, verdict } => Self::Permission { title: line(title), verdict },
            Self::Question { text: asked, choices } => {
                Self::Question { text: text(asked), choices: bounds.lines(choices) }
            }
            Self::Heard { text: said } => Self::Heard { text: text(said) },
            Self::Usage(cost) => Self::Usage(cost),
            Self::Trouble { text: said } => Self::Trouble { text: text(said) },
            Self::Finished { ending: Ending::Stopped { reason } } => {
                Self::Finished { ending: Ending::Stopped { reason: text(reason) } }
            }
            same @ Self::Finished { ending: Ending::Answered | Ending::Asked } => same,
        }
    }
}

impl ToolCall {
    fn within(self, bounds: Bounds) -> Self {
        // Half of it each, so that a call has no more text than a message.
        let half = |text: String| shortened(text, bounds.text / 2);
        Self {
            id: bounds.line(self.id),
            title: bounds.line(self.title),
            input: self.input.map(half),
            result: self.result.map(half),
            paths: bounds.lines(self.paths),
            ..self
        }
    }
}

/// How long texts may be, in bytes.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    text: usize,
    line: usize,
}

impl Bounds {
    fn line(self, text: String) -> String {
        shortened(text, self.line)
    }

    fn lines(self, texts: Vec<String>) -> Vec<String> {
        texts.into_iter().take(LIST_LIMIT).map(|text| self.line(text)).collect()
    }
}

/// The beginning and the end of a text that is too long, and between them how much is missing.
pub fn shortened(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let note = format!("\n[… {} bytes left out …]\n", text.len().saturating_sub(limit));
    let room = limit.saturating_sub(note.len());
    let head = floor(&text, room / 2);
    let tail = ceiling(&text, text.len().saturating_sub(room - room / 2));
    format!(
        "{}{note}{}",
        text.get(..head).unwrap_or_default(),
        text.get(tail..).unwrap_or_default()
    )
}

/// A text in parts of at most `limit` bytes. An empty one has none.
pub fn parts(text: &str, limit: usize) -> Vec<&str> {
    let mut rest = text;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        // At least one character, so that it ends.
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let (part, after) = rest.split_at(floor(rest, limit).max(first));
        parts.push(part);
        rest = after;
    }
    parts
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

fn ceiling(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_long_keeps_its_beginning_and_its_end() {
        let text = format!("begin{}end", "x".repeat(10_000));
        let short = shortened(text, 200);
        assert!(short.starts_with("begin") && short.ends_with("end"), "{short}");
        assert!(short.contains("9808 bytes left out"), "{short}");
    }

    #[test]
    fn every_text_of_an_event_is_given() {
        let x = || "x".to_owned();
        let call = ToolCall {
            id: x(),
            title: x(),
            kind: ToolKind::Edit,
            status: ToolStatus::Done,
            input: Some(x()),
            result: Some(x()),
            paths: vec![x(), x()],
        };
        let events = [
            (1, AgentEvent::Briefed { part: 1, text: x() }),
            (
                4,
                AgentEvent::Started {
                    program: x(),
                    version: Some(x()),
                    model: Some(x()),
                    session: Some(x()),
                },
            ),
            (1, AgentEvent::Message { number: 1, text: x() }),
            (1, AgentEvent::Thought { number: 1, text: x() }),
            (6, AgentEvent::ToolCall(call)),
            (1, AgentEvent::FileChanged { path: x() }),
            (1, AgentEvent::Todo { items: vec![TodoItem { text: x(), state: TodoState::Done }] }),
            (1, AgentEvent::Permission { title: x(), verdict: Verdict::Denied }),
            (2, AgentEvent::Question { text: x(), choices: vec![x()] }),
            (1, AgentEvent::Heard { text: x() }),
            (0, AgentEvent::Usage(Cost::ZERO)),
            (1, AgentEvent::Trouble { text: x() }),
            (1, AgentEvent::Finished { ending: Ending::Stopped { reason: x() } }),
        ];
        for (texts, mut event) in events {
            let given = event.texts_mut();
            assert_eq!(given.len(), texts);
            given.into_iter().for_each(String::clear);
            assert!(!format!("{event:?}").contains("\"x\""), "{event:?}");
        }
    }

    #[test]
    fn what_a_rough_cut_goes_through_is_left_out_afterwards() {
        let value = "0123456789abcdef";
        for shift in 0..value.len() {
            let text = format!("{}{}", "x".repeat(shift), value.repeat(2 * ROUGHLY * LIMIT / 16));
            let held = AgentEvent::Trouble { text }.roughly_bounded();
            let AgentEvent::Trouble { text } = held else { panic!("{held:?}") };
            assert!(text.len() <= ROUGHLY * LIMIT);
            // As long as the value, so that all stays at its place.
            let clean = AgentEvent::Trouble { text: text.replace(value, "****************") };
            let AgentEvent::Trouble { text } = clean.bounded() else { panic!() };
            assert!(text.len() <= LIMIT && !text.contains('a'), "{shift}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_its_limit(text in "\\PC{0,600}", limit in 64_usize..400) {
            let short = shortened(text.clone(), limit);
            prop_assert!(short.len() <= limit.max(text.len().min(limit)));
            prop_assert!(text.len() > limit || short == text);
        }

        #[test]
        fn parts_are_the_whole(text in "\\PC{0,300}", limit in 0_usize..40) {
            let parts = parts(&text, limit);
            prop_assert_eq!(parts.concat(), text.as_str());
            prop_assert!(parts.iter().all(|part| part.len() <= limit.max(4)));
        }
    }
}
