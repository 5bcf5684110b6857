//! Gemini: candidates with parts. The path says which model, and whether a stream is wanted.

use serde_json::{Value, json};

use crate::model::{
    conversation::{Conversation, Delivery, Tells, Turn, list, object, text, text_of, user_turns},
    reply::{End, Event, Reply, Times},
    toolbox::{Input, Tool},
};

/// The model and the operation in `…/models/MODEL:OPERATION`.
pub(super) fn operation(path: &str) -> Option<(&str, &str)> {
    let (_, rest) = path.rsplit_once("/models/")?;
    rest.split_once(':').filter(|(model, _)| !model.is_empty() && !model.contains('/'))
}

pub(super) fn read(body: &Value, path: &str) -> Conversation {
    let (model, wanted) = operation(path).unwrap_or_default();
    let mut turns = Vec::new();
    for content in list(body, "contents") {
        let parts = list(content, "parts");
        let has = |key: &str| parts.iter().any(|part| part.get(key).is_some());
        if text(content, "role") == Some("model") {
            turns.push(if has("functionCall") { Turn::Called } else { Turn::Said });
        } else {
            turns.extend(user_turns(content.get("parts")));
        }
    }
    let declared = |tool: &Value, key: &str| list(tool, key).to_vec();
    let functions = list(body, "tools").iter().flat_map(|tool| {
        [declared(tool, "functionDeclarations"), declared(tool, "function_declarations")].concat()
    });
    let tools = functions.filter_map(|function| {
        let schema = function.get("parametersJsonSchema").or_else(|| function.get("parameters"));
        Some(Tool {
            name: text(&function, "name")?.to_owned(),
            schema: object(schema),
            input: Input::Object,
            namespace: None,
        })
    });
    let system = body.get("systemInstruction").or_else(|| body.get("system_instruction"));
    let system = system.map(|it| it.get("parts").unwrap_or(it));
    let wants = |key: &str| body.pointer(&format!("/generationConfig/{key}")).cloned();
    Conversation {
        model: model.to_owned(),
        system: text_of(system),
        turns,
        tools: tools.collect(),
        delivery: match wanted {
            "streamGenerateContent" => Delivery::Stream,
            _ => Delivery::Whole,
        },
        schema: wants("responseJsonSchema").or_else(|| wants("responseSchema")),
        tells: Tells::Usage,
    }
}

fn answer(reply: &Reply, parts: &Value, finish: Option<&str>) -> Value {
    let used = reply.usage;
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let (Some(finish), Some(object)) = (finish, candidate.as_object_mut()) {
        object.insert("finishReason".to_owned(), finish.into());
    }
    json!({
        "candidates": [candidate],
        "modelVersion": reply.model,
        "responseId": reply.id,
        "usageMetadata": {
            "promptTokenCount": used.prompt(),
            "candidatesTokenCount": used.output,
            "totalTokenCount": used.total(),
            "cachedContentTokenCount": used.cached,
        },
    })
}

fn finish(reply: &Reply) -> &'static str {
    match reply.end {
        End::Done => "STOP",
        End::Length => "MAX_TOKENS",
        End::Refusal => "SAFETY",
    }
}

fn thought(reply: &Reply) -> Option<Value> {
    reply.think.as_ref().map(|think| json!({ "text": think, "thought": true }))
}

fn call(reply: &Reply) -> Option<Value> {
    let call = reply.call.as_ref()?;
    let id = format!("fc-{}", reply.id);
    let call = json!({ "id": id, "name": call.name, "args": call.arguments.value() });
    Some(json!({ "functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ=" }))
}

pub(super) fn whole(reply: &Reply) -> Value {
    let text = reply.speaks().then(|| json!({ "text": reply.whole_text() }));
    let parts: Vec<Value> = [thought(reply), text, call(reply)].into_iter().flatten().collect();
    answer(reply, &Value::Array(parts), Some(finish(reply)))
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let texts = reply.pieces().into_iter().map(|(text, times)| (json!({ "text": text }), times));
    let once = |part: Value| (part, Times::Once);
    let mut parts: Vec<(Value, Times)> =
        thought(reply).map(once).into_iter().chain(texts).chain(call(reply).map(once)).collect();
    if parts.is_empty() {
        parts.push(once(json!({ "text": "" })));
    }
    let last = parts.len() - 1;
    let events = parts.into_iter().enumerate().map(|(at, (part, times))| {
        let finish = (at == last).then(|| finish(reply));
        // Each chunk tells what was used until then.
        Event::new(None, &answer(reply, &json!([part]), finish)).times(times).telling(reply.usage)
    });
    events.collect()
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        402 | 429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..500 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": name } })
}
