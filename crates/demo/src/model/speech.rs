//! A reply as `OpenAI` streams it: chunks of one message, what it used, and the end.

use serde_json::{Value, json};

use super::{
    NAME,
    script::{Call, Reply},
};

/// All of it, as server-sent events.
pub(super) fn stream(reply: &Reply) -> String {
    let mut chunks = vec![delta(&json!({ "role": "assistant", "content": "" }), None)];
    if !reply.text.is_empty() {
        chunks.push(delta(&json!({ "content": reply.text }), None));
    }
    if let Some(Call { id, name, arguments }) = &reply.call {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
        chunks.push(delta(&json!({ "tool_calls": [call] }), None));
    }
    let finish = if reply.call.is_some() { "tool_calls" } else { "stop" };
    chunks.push(delta(&json!({}), Some(finish)));
    // Nobody was asked, so nothing was used.
    let usage = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    chunks.push(chunk(&json!([]), &usage));
    let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events.concat()
}

fn delta(delta: &Value, finish: Option<&str>) -> Value {
    chunk(&json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), &Value::Null)
}

fn chunk(choices: &Value, usage: &Value) -> Value {
    json!({
        "id": "chatcmpl-bundled",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": NAME,
        "choices": choices,
        "usage": usage,
    })
}
