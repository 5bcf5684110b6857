//! Anthropic's Messages.
//!
//! Two marks tell it what to keep for the next request: the end of the system's words (the tools stand before them), and the end of the
//! conversation.

use serde_json::{Value, json};

use super::{
    Failure, Question,
    answer::{AnswerEnd, Draft, count},
};
use crate::{
    conversation::{End, Entry, Said, Thought},
    object::with,
};

pub(super) fn body(model: &str, question: &Question<'_>) -> Value {
    let body = json!({
        "model": model,
        "max_tokens": question.max_output_tokens,
        "stream": true,
        "system": [{ "type": "text", "text": question.system, "cache_control": { "type": "ephemeral" } }],
        "messages": messages(question.entries),
    });
    if question.tools.is_empty() {
        return body;
    }
    let tool = |offer: &crate::tools::Offer| json!({ "name": offer.name, "description": offer.about, "input_schema": offer.schema });
    with(body, "tools", question.tools.iter().map(tool).collect::<Value>())
}

/// Neighbours of one role are one message; its last part is marked.
fn messages(entries: &[Entry]) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for entry in entries {
        let (role, parts) = match entry {
            Entry::User(text) | Entry::Summary(text) => ("user", vec![text_part(text)]),
            Entry::Assistant(said) => ("assistant", said_parts(said)),
            Entry::Results(results) => {
                let part = |it: &crate::conversation::CallResult| {
                    let failed = it.end == End::Failed;
                    json!({ "type": "tool_result", "tool_use_id": it.id, "content": it.text, "is_error": failed })
                };
                ("user", results.iter().map(part).collect())
            }
        };
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(parts),
            Some(_) | None => turns.push((role, parts)),
        }
    }
    let last = turns.last_mut().and_then(|(_, parts)| parts.last_mut());
    if let Some(Value::Object(part)) = last {
        part.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
    turns.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn said_parts(said: &Said) -> Vec<Value> {
    let mut parts: Vec<Value> = said
        .thoughts
        .iter()
        .filter_map(|thought| match thought {
            Thought::Plain { .. } => None,
            Thought::Signed { text, signature } => {
                Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
            }
            Thought::Sealed { data } => Some(json!({ "type": "redacted_thinking", "data": data })),
        })
        .collect();
    if !said.text.trim().is_empty() {
        parts.push(text_part(&said.text));
    }
    parts.extend(said.calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments.object() })
    }));
    parts
}

fn text_part(text: &str) -> Value {
    // An empty part is refused.
    let text = if text.trim().is_empty() { "(empty)" } else { text };
    json!({ "type": "text", "text": text })
}

pub(super) fn take(event: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let word = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or("");
    let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
    match word("/type") {
        "message_start" => usage(event.pointer("/message/usage"), draft),
        "content_block_start" => match word("/content_block/type") {
            "text" => return draft.text(word("/content_block/text")),
            "tool_use" => {
                return draft.call(index, word("/content_block/id"), word("/content_block/name"));
            }
            "thinking" => {
                // Each block has a signature of its own.
                draft.next_thought();
                return draft.thought(word("/content_block/thinking"));
            }
            "redacted_thinking" => return draft.sealed(word("/content_block/data")),
            _ => {}
        },
        "content_block_delta" => match word("/delta/type") {
            "text_delta" => return draft.text(word("/delta/text")),
            "input_json_delta" => return draft.arguments(index, word("/delta/partial_json")),
            "thinking_delta" => return draft.thought(word("/delta/thinking")),
            "signature_delta" => return draft.sign(word("/delta/signature")),
            _ => {}
        },
        "message_delta" => {
            usage(event.get("usage"), draft);
            match word("/delta/stop_reason") {
                "" => {}
                "max_tokens" | "model_context_window_exceeded" => draft.ends(AnswerEnd::MaxTokens),
                "refusal" => draft.ends(AnswerEnd::Refusal),
                _ => draft.ends(AnswerEnd::Whole),
            }
        }
        "message_stop" => draft.done(),
        _ => {}
    }
    Ok(())
}

fn usage(from: Option<&Value>, draft: &mut Draft) {
    let Some(from) = from else { return };
    count(&mut draft.usage.input, from, "/input_tokens");
    count(&mut draft.usage.output, from, "/output_tokens");
    count(&mut draft.usage.cache_read, from, "/cache_read_input_tokens");
    count(&mut draft.usage.cache_write, from, "/cache_creation_input_tokens");
}
