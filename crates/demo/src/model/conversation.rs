//! What the agent has sent: which phase it is in, and how far it has come.

use serde::Deserialize;

/// The part of a chat that the script looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conversation {
    pub(super) phase: Option<Phase>,
    /// The prompt of the phase.
    pub(super) prompt: String,
    /// How often the model has spoken since.
    pub(super) steps: usize,
    /// What became of its calls since, the oldest first.
    pub(super) results: Vec<String>,
    pub(super) wish: Wish,
}

/// What the agent is asked for, as the first line of a prompt says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Research,
    Plan,
    Implement,
    Review,
}

/// What the agent wants to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// The next step.
    Next,
    /// The answer alone: what it was could not be used.
    Repair,
}

#[derive(Debug, Deserialize)]
struct Chat {
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: Role,
    #[serde(default)]
    content: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Conversation {
    /// None for what is no streamed chat of texts.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let chat: Chat = serde_json::from_slice(body).ok().filter(|chat: &Chat| chat.stream)?;
        let mut read = Self {
            phase: None,
            prompt: String::new(),
            steps: 0,
            results: Vec::new(),
            wish: Wish::Next,
        };
        for Message { role, content } in chat.messages {
            read.hear(role, content.unwrap_or_default());
        }
        Some(read)
    }

    fn hear(&mut self, role: Role, text: String) {
        match role {
            Role::System => {}
            Role::User => {
                let first = text.lines().next().unwrap_or_default();
                if first.starts_with("# Repair: ") {
                    self.wish = Wish::Repair;
                    return;
                }
                // Any other word of a person begins something new.
                *self = Self {
                    phase: Phase::of(first),
                    prompt: text,
                    steps: 0,
                    results: Vec::new(),
                    wish: Wish::Next,
                };
            }
            Role::Assistant => self.steps += 1,
            Role::Tool => self.results.push(text),
        }
    }

    pub(super) fn last_result(&self) -> &str {
        self.results.last().map_or("", String::as_str)
    }
}

impl Phase {
    fn of(line: &str) -> Option<Self> {
        match line.strip_prefix("# Phase: ")?.trim_end() {
            "research" => Some(Self::Research),
            "plan" => Some(Self::Plan),
            "implement" => Some(Self::Implement),
            "review" => Some(Self::Review),
            _ => None,
        }
    }
}
