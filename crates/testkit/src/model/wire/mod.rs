//! The languages that models are spoken to in: one file each, and how a path tells which.

mod anthropic;
mod chat;
mod gemini;
mod lists;
mod ollama;
mod responses;

use serde_json::Value;

use super::{
    conversation::Conversation,
    reply::{Event, Framing, Reply},
    request::Request,
    usage::Usage,
};

pub(super) use lists::models;

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

/// What a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Answer(Wire),
    /// How many tokens something has.
    Count(Wire),
    /// Which models there are, or what one of them is.
    Models(Wire),
    /// Whether anybody is there.
    Greeting,
    /// The path is none that a model has.
    Unknown,
    /// The path has another method.
    Method(Wire),
}

/// Finds out what a request wants. Any prefix of a path will do.
pub(super) fn wanted(request: &Request) -> Wanted {
    let path = request.path().trim_end_matches('/');
    let found = post(path);
    match (request.method.as_str(), found) {
        ("POST", Some(wanted)) => wanted,
        ("HEAD", _) => Wanted::Greeting,
        ("GET", None) => lists::wanted(request, path),
        (_, Some(Wanted::Answer(wire) | Wanted::Count(wire))) => Wanted::Method(wire),
        (_, _) => Wanted::Unknown,
    }
}

fn post(path: &str) -> Option<Wanted> {
    let table = [
        ("/messages/count_tokens", Wanted::Count(Wire::Anthropic)),
        ("/messages", Wanted::Answer(Wire::Anthropic)),
        ("/chat/completions", Wanted::Answer(Wire::Chat)),
        ("/responses", Wanted::Answer(Wire::Responses)),
        ("/api/chat", Wanted::Answer(Wire::Ollama)),
    ];
    if let Some((_, wanted)) = table.into_iter().find(|(end, _)| path.ends_with(end)) {
        return Some(wanted);
    }
    let (_, operation) = gemini::operation(path)?;
    match operation {
        "generateContent" | "streamGenerateContent" => Some(Wanted::Answer(Wire::Gemini)),
        "countTokens" => Some(Wanted::Count(Wire::Gemini)),
        _ => None,
    }
}

impl Wire {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages",
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    pub(super) fn read(self, body: &Value, path: &str) -> Conversation {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Gemini => gemini::read(body, path),
            Self::Ollama => ollama::read(body),
        }
    }

    pub(super) fn whole(self, reply: &Reply) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(reply),
            Self::Chat => chat::whole(reply),
            Self::Responses => responses::whole(reply),
            Self::Gemini => gemini::whole(reply),
            Self::Ollama => ollama::whole(reply),
        }
    }

    pub(super) fn stream(self, reply: &Reply, asked: &Conversation) -> Vec<Event> {
        match self {
            Self::Anthropic => anthropic::stream(reply),
            Self::Chat => chat::stream(reply, asked.tells),
            Self::Responses => responses::stream(reply),
            Self::Gemini => gemini::stream(reply),
            Self::Ollama => ollama::stream(reply),
        }
    }

    pub(super) fn framing(self) -> Framing {
        match self {
            Self::Anthropic | Self::Chat | Self::Responses | Self::Gemini => Framing::Events,
            Self::Ollama => Framing::Lines,
        }
    }

    /// What is understood by who is told this in this language.
    pub(super) fn understood(self, usage: Usage) -> Usage {
        match self {
            Self::Anthropic | Self::Chat | Self::Responses | Self::Gemini => usage,
            // It has no word for what came from a cache.
            Self::Ollama => Usage { input: usage.prompt(), cached: 0, output: usage.output },
        }
    }

    /// How many tokens, in this language.
    pub(super) fn count(self, tokens: usize) -> Value {
        match self {
            Self::Anthropic => serde_json::json!({ "input_tokens": tokens }),
            Self::Gemini => serde_json::json!({ "totalTokens": tokens }),
            Self::Chat | Self::Responses | Self::Ollama => Value::Null,
        }
    }

    /// The body of an error.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, message),
            Self::Chat | Self::Responses => chat::error(status, message),
            Self::Gemini => gemini::error(status, message),
            Self::Ollama => serde_json::json!({ "error": message }),
        }
    }
}

/// When everything was made: answers are the same on every day.
const CREATED: u64 = 1_767_225_600;
