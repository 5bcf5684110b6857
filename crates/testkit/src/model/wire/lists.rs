//! Which models there are, as each language lists them.

use serde_json::{Value, json};

use super::{CREATED, Wanted, Wire};
use crate::model::request::Request;

const MODELS: [&str; 2] = ["scripted-model", "scripted-small"];

/// What is wanted by who only reads.
pub(super) fn wanted(request: &Request, path: &str) -> Wanted {
    if path.ends_with("/api/tags") {
        return Wanted::Models(Wire::Ollama);
    }
    let one = path.rsplit_once('/').is_some_and(|(before, _)| before.ends_with("/models"));
    if !path.ends_with("/models") && !one {
        return if path.is_empty() { Wanted::Greeting } else { Wanted::Unknown };
    }
    if request.header("anthropic-version").is_some() {
        return Wanted::Models(Wire::Anthropic);
    }
    let gemini = path.contains("/v1beta/") || request.header("x-goog-api-key").is_some();
    Wanted::Models(if gemini { Wire::Gemini } else { Wire::Chat })
}

/// The list, or the one that the path names. Every name is a model's.
pub(in crate::model) fn models(wire: Wire, path: &str) -> Value {
    let path = path.trim_end_matches('/');
    match path.rsplit_once("/models/") {
        Some((_, name)) => described(wire, name),
        None => listed(wire),
    }
}

fn described(wire: Wire, name: &str) -> Value {
    match wire {
        Wire::Anthropic => json!({
            "type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z",
        }),
        Wire::Chat | Wire::Responses => {
            json!({ "id": name, "object": "model", "created": CREATED, "owned_by": "scripted" })
        }
        Wire::Gemini => json!({
            "name": format!("models/{name}"), "displayName": name, "version": "1",
            "inputTokenLimit": 200_000, "outputTokenLimit": 32_000,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
        Wire::Ollama => json!({ "name": name, "model": name, "size": 1 }),
    }
}

fn listed(wire: Wire) -> Value {
    let all: Vec<Value> = MODELS.iter().map(|name| described(wire, name)).collect();
    match wire {
        Wire::Anthropic => json!({
            "data": all, "has_more": false, "first_id": MODELS.first(), "last_id": MODELS.last(),
        }),
        Wire::Chat | Wire::Responses => json!({ "object": "list", "data": all }),
        Wire::Gemini | Wire::Ollama => json!({ "models": all }),
    }
}
