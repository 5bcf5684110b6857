//! Ollama's own `/api/chat`: one value per line. It streams unless told not to.

use serde_json::{Map, Value, json};

use super::chat;
use crate::model::{
    conversation::{Conversation, Delivery, Tells, Turn, list, text, text_of, user_turns},
    reply::{End, Event, Reply},
};

pub(super) fn read(body: &Value) -> Conversation {
    let (mut turns, mut system) = (Vec::new(), Vec::new());
    for message in list(body, "messages") {
        let content = message.get("content");
        match text(message, "role") {
            Some("system") => system.push(text_of(content)),
            Some("user") => turns.extend(user_turns(content)),
            Some("assistant") => {
                let calls = !list(message, "tool_calls").is_empty();
                turns.push(if calls { Turn::Called } else { Turn::Said });
            }
            // Results of tools, and what else there may be.
            Some(_) | None => {}
        }
    }
    Conversation {
        model: text(body, "model").unwrap_or_default().to_owned(),
        system: system.join("\n"),
        turns,
        tools: list(body, "tools").iter().filter_map(chat::function).collect(),
        delivery: match body.get("stream") {
            Some(Value::Bool(false)) => Delivery::Whole,
            Some(_) | None => Delivery::Stream,
        },
        schema: body.get("format").filter(|format| format.is_object()).cloned(),
        tells: Tells::Usage,
    }
}

const CREATED: &str = "2026-01-01T00:00:00Z";

fn line(reply: &Reply, message: Map<String, Value>) -> Value {
    let mut message = message;
    message.entry("role").or_insert_with(|| "assistant".into());
    message.entry("content").or_insert_with(|| "".into());
    json!({ "model": reply.model, "created_at": CREATED, "message": message, "done": false })
}

fn last(reply: &Reply, message: Map<String, Value>) -> Value {
    let mut value = line(reply, message);
    let reason = match reply.end {
        End::Done | End::Refusal => "stop",
        End::Length => "length",
    };
    if let Some(object) = value.as_object_mut() {
        object.insert("done".to_owned(), true.into());
        object.insert("done_reason".to_owned(), reason.into());
        object.insert("total_duration".to_owned(), 1_000_000.into());
        object.insert("prompt_eval_count".to_owned(), reply.usage.prompt().into());
        object.insert("eval_count".to_owned(), reply.usage.output.into());
    }
    value
}

fn one(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

fn calls(reply: &Reply) -> Option<Value> {
    let call = reply.call.as_ref()?;
    Some(json!([{ "function": { "name": call.name, "arguments": call.arguments.value() } }]))
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = one("content", reply.whole_text().into());
    if let Some(think) = &reply.think {
        message.insert("thinking".to_owned(), json!(think));
    }
    if let Some(calls) = calls(reply) {
        message.insert("tool_calls".to_owned(), calls);
    }
    last(reply, message)
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let event = |message| Event::new(None, &line(reply, message));
    let mut events = Vec::new();
    if let Some(think) = &reply.think {
        events.push(event(one("thinking", json!(think))));
    }
    for (text, times) in reply.pieces() {
        events.push(event(one("content", text.into())).times(times));
    }
    if let Some(calls) = calls(reply) {
        events.push(event(one("tool_calls", calls)));
    }
    events.push(Event::new(None, &last(reply, Map::new())).telling(reply.usage));
    events
}
