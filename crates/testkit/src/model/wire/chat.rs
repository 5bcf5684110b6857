//! `OpenAI` Chat Completions: one message, and chunks of it. A stream tells what was used only to who asked for it.

use serde_json::{Map, Value, json};

use super::CREATED;
use crate::model::{
    conversation::{Conversation, Tells, Turn, delivery, list, object, text, text_of, user_turns},
    reply::{End, Event, Reply, Times, thirds},
    toolbox::{Input, Tool},
    usage::Usage,
};

pub(super) fn read(body: &Value) -> Conversation {
    let (mut turns, mut system) = (Vec::new(), Vec::new());
    for message in list(body, "messages") {
        let content = message.get("content");
        match text(message, "role") {
            Some("system" | "developer") => system.push(text_of(content)),
            Some("user") => turns.extend(user_turns(content)),
            Some("assistant") => {
                let calls = !list(message, "tool_calls").is_empty();
                turns.push(if calls { Turn::Called } else { Turn::Said });
            }
            // Results of tools, and what else there may be.
            Some(_) | None => {}
        }
    }
    let tells = match body.pointer("/stream_options/include_usage") {
        Some(Value::Bool(true)) => Tells::Usage,
        Some(_) | None => Tells::Nothing,
    };
    Conversation {
        model: text(body, "model").unwrap_or_default().to_owned(),
        system: system.join("\n"),
        turns,
        tools: list(body, "tools").iter().filter_map(function).collect(),
        delivery: delivery(body),
        schema: body.pointer("/response_format/json_schema/schema").cloned(),
        tells,
    }
}

/// A tool, as chats and Ollama declare it.
pub(super) fn function(tool: &Value) -> Option<Tool> {
    if let Some(custom) = tool.get("custom") {
        let name = text(custom, "name")?.to_owned();
        return Some(Tool { name, input: Input::Free, ..Tool::default() });
    }
    let function = tool.get("function")?;
    Some(Tool {
        name: text(function, "name")?.to_owned(),
        schema: object(function.get("parameters")),
        input: Input::Object,
        namespace: None,
    })
}

fn finish(reply: &Reply) -> &'static str {
    match (reply.end, &reply.call) {
        (End::Length, _) => "length",
        (End::Refusal, _) => "content_filter",
        (End::Done, Some(_)) => "tool_calls",
        (End::Done, None) => "stop",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt(),
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}

/// Where a refusal is told, and where a text.
fn spoken(reply: &Reply) -> &'static str {
    match reply.end {
        End::Refusal => "refusal",
        End::Done | End::Length => "content",
    }
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = Map::from_iter([
        ("role".to_owned(), json!("assistant")),
        ("content".to_owned(), Value::Null),
        ("refusal".to_owned(), Value::Null),
    ]);
    if reply.speaks() {
        message.insert(spoken(reply).to_owned(), reply.whole_text().into());
    }
    if let Some(think) = &reply.think {
        message.insert("reasoning_content".to_owned(), json!(think));
    }
    if let Some(call) = &reply.call {
        let function = json!({ "name": call.name, "arguments": call.arguments.text() });
        let id = format!("call_{}", reply.id);
        let calls = json!([{ "id": id, "type": "function", "function": function }]);
        message.insert("tool_calls".to_owned(), calls);
    }
    json!({
        "id": format!("chatcmpl-{}", reply.id),
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(reply) }],
        "usage": usage(reply.usage),
    })
}

pub(super) fn stream(reply: &Reply, tells: Tells) -> Vec<Event> {
    let chunk = |choices: Value, used: Value| {
        let mut value = json!({
            "id": format!("chatcmpl-{}", reply.id),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": reply.model,
            "choices": choices,
        });
        if let (Tells::Usage, Some(object)) = (tells, value.as_object_mut()) {
            object.insert("usage".to_owned(), used);
        }
        Event::new(None, &value)
    };
    let delta = |delta: Value, finish: Option<&str>| {
        let choices =
            json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
        chunk(choices, Value::Null)
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), None)];
    for part in reply.think.iter().flat_map(|think| thirds(think)) {
        events.push(delta(json!({ "reasoning_content": part }), None));
    }
    for (part, times) in reply.pieces() {
        let key = spoken(reply);
        events.push(delta(json!({ key: part }), None).times(times));
    }
    if let Some(call) = &reply.call {
        let function = json!({ "name": call.name, "arguments": "" });
        let id = format!("call_{}", reply.id);
        let start = json!([{ "index": 0, "id": id, "type": "function", "function": function }]);
        events.push(delta(json!({ "tool_calls": start }), None));
        for part in Reply::argument_pieces(&call.arguments) {
            let more = json!([{ "index": 0, "function": { "arguments": part } }]);
            events.push(delta(json!({ "tool_calls": more }), None));
        }
    }
    events.push(delta(json!({}), Some(finish(reply))));
    if tells == Tells::Usage {
        events.push(chunk(json!([]), usage(reply.usage)).telling(reply.usage));
    }
    let done = "[DONE]".to_owned();
    events.push(Event { name: None, text: done, times: Times::Once, tells: None });
    events
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("authentication_error", Some("invalid_api_key")),
        402 => ("insufficient_quota", Some("insufficient_quota")),
        403 => ("permission_error", None),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}
