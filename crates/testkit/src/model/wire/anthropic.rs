//! Anthropic Messages: blocks of content, and a stream that opens and closes each.

use serde_json::{Value, json};

use crate::model::{
    conversation::{Conversation, Tells, Turn, delivery, list, object, text, text_of, user_turns},
    reply::{End, Event, Reply, thirds},
    toolbox::{Input, Tool},
    usage::Usage,
};

pub(super) fn read(body: &Value) -> Conversation {
    let mut turns = Vec::new();
    for message in list(body, "messages") {
        let content = message.get("content");
        match text(message, "role") {
            Some("user") => turns.extend(user_turns(content)),
            Some("assistant") => {
                let blocks = list(message, "content");
                let calls = blocks.iter().any(|block| text(block, "type") == Some("tool_use"));
                turns.push(if calls { Turn::Called } else { Turn::Said });
            }
            // What a program says by itself between the messages.
            Some(_) | None => {}
        }
    }
    let tools = list(body, "tools").iter().filter_map(|tool| {
        Some(Tool {
            name: text(tool, "name")?.to_owned(),
            schema: object(tool.get("input_schema")),
            input: Input::Object,
            namespace: None,
        })
    });
    let format = body.pointer("/output_config/format").or_else(|| body.get("output_format"));
    Conversation {
        model: text(body, "model").unwrap_or_default().to_owned(),
        system: text_of(body.get("system")),
        turns,
        tools: tools.collect(),
        delivery: delivery(body),
        schema: format.and_then(|format| format.get("schema")).cloned(),
        tells: Tells::Usage,
    }
}

const SIGNATURE: &str = "c2NyaXB0ZWQ=";

fn stop(reply: &Reply) -> &'static str {
    match (reply.end, &reply.call) {
        (End::Refusal, _) => "refusal",
        (End::Length, _) => "max_tokens",
        (End::Done, Some(_)) => "tool_use",
        (End::Done, None) => "end_turn",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": { "ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0 },
        "service_tier": "standard",
    })
}

fn message(reply: &Reply, content: &Value, stop: Option<&str>, used: Usage) -> Value {
    json!({
        "id": format!("msg_{}", reply.id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage(used),
    })
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut content = Vec::new();
    if let Some(think) = &reply.think {
        content.push(json!({ "type": "thinking", "thinking": think, "signature": SIGNATURE }));
    }
    if reply.speaks() {
        content.push(json!({ "type": "text", "text": reply.whole_text() }));
    }
    if let Some(call) = &reply.call {
        let id = format!("toolu_{}", reply.id);
        let input = call.arguments.value();
        content.push(json!({ "type": "tool_use", "id": id, "name": call.name, "input": input }));
    }
    message(reply, &Value::Array(content), Some(stop(reply)), reply.usage)
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    // What is used so far: the input, and the first token.
    let first = Usage { output: reply.usage.output.min(1), ..reply.usage };
    let begin =
        json!({ "type": "message_start", "message": message(reply, &json!([]), None, first) });
    let mut events = vec![
        Event::new(Some("message_start"), &begin).telling(first),
        Event::new(Some("ping"), &json!({ "type": "ping" })),
    ];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Event>| {
        let begin =
            json!({ "type": "content_block_start", "index": index, "content_block": start });
        events.push(Event::new(Some("content_block_start"), &begin));
        events.extend(deltas);
        let end = json!({ "type": "content_block_stop", "index": index });
        events.push(Event::new(Some("content_block_stop"), &end));
        index += 1;
        index
    };
    let delta = |index: u32, delta: Value| {
        let value = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        Event::new(Some("content_block_delta"), &value)
    };
    let mut at = 0;
    if let Some(think) = &reply.think {
        let thoughts = thirds(think).into_iter();
        let mut deltas: Vec<Event> = thoughts
            .map(|part| delta(at, json!({ "type": "thinking_delta", "thinking": part })))
            .collect();
        deltas.push(delta(at, json!({ "type": "signature_delta", "signature": SIGNATURE })));
        at = block(json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas);
    }
    if reply.speaks() {
        let deltas = reply.pieces().into_iter().map(|(part, times)| {
            delta(at, json!({ "type": "text_delta", "text": part })).times(times)
        });
        let deltas = deltas.collect();
        at = block(json!({ "type": "text", "text": "" }), deltas);
    }
    if let Some(call) = &reply.call {
        let start = json!({ "type": "tool_use", "id": format!("toolu_{}", reply.id), "name": call.name, "input": {} });
        let parts = Reply::argument_pieces(&call.arguments).into_iter();
        let deltas = parts
            .map(|part| delta(at, json!({ "type": "input_json_delta", "partial_json": part })));
        let deltas = deltas.collect();
        block(start, deltas);
    }
    let ended = json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop(reply), "stop_sequence": null },
        "usage": usage(reply.usage),
    });
    events.push(Event::new(Some("message_delta"), &ended).telling(reply.usage));
    events.push(Event::new(Some("message_stop"), &json!({ "type": "message_stop" })));
    events
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_scripted" })
}
