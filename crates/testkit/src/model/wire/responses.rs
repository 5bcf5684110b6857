//! `OpenAI` Responses: items of output, each added, filled and done, in numbered events.

use serde_json::{Value, json};

use super::CREATED;
use crate::model::{
    conversation::{Conversation, Tells, Turn, delivery, list, object, text, text_of, user_turns},
    reply::{End, Event, Reply, Times, thirds},
    toolbox::{Arguments, Input, Tool},
    usage::Usage,
};

pub(super) fn read(body: &Value) -> Conversation {
    let mut turns = Vec::new();
    let mut system = vec![text(body, "instructions").unwrap_or_default().to_owned()];
    if let Some(input) = text(body, "input") {
        turns.push(Turn::User(input.to_owned()));
    }
    for item in list(body, "input") {
        let content = item.get("content");
        match (text(item, "type").unwrap_or("message"), text(item, "role")) {
            ("message", Some("system" | "developer")) => system.push(text_of(content)),
            ("message", Some("user")) => turns.extend(user_turns(content)),
            ("message", Some("assistant")) => turns.push(Turn::Said),
            ("function_call" | "custom_tool_call" | "local_shell_call", _) => {
                turns.push(Turn::Called);
            }
            _ => {}
        }
    }
    Conversation {
        model: text(body, "model").unwrap_or_default().to_owned(),
        system: system.join("\n"),
        turns,
        tools: list(body, "tools").iter().flat_map(|tool| declared(tool, None)).collect(),
        delivery: delivery(body),
        schema: body.pointer("/text/format/schema").cloned(),
        tells: Tells::Usage,
    }
}

/// A tool, or those of a group.
fn declared(tool: &Value, namespace: Option<&str>) -> Vec<Tool> {
    let name = text(tool, "name").unwrap_or_default().to_owned();
    let namespace_of = namespace.map(str::to_owned);
    match (text(tool, "type"), namespace) {
        (Some("function"), _) => vec![Tool {
            name,
            schema: object(tool.get("parameters")),
            input: Input::Object,
            namespace: namespace_of,
        }],
        (Some("custom"), _) => {
            vec![Tool { name, input: Input::Free, namespace: namespace_of, ..Tool::default() }]
        }
        // A group in a group is none.
        (Some("namespace"), None) => {
            list(tool, "tools").iter().flat_map(|inner| declared(inner, Some(&name))).collect()
        }
        _ => Vec::new(),
    }
}

fn status(reply: &Reply) -> &'static str {
    match reply.end {
        End::Length => "incomplete",
        End::Done | End::Refusal => "completed",
    }
}

/// The content of a message: a text, or a refusal.
fn part(reply: &Reply, said: &str) -> Value {
    match reply.end {
        End::Refusal => json!({ "type": "refusal", "refusal": said }),
        End::Done | End::Length => {
            json!({ "type": "output_text", "text": said, "annotations": [], "logprobs": [] })
        }
    }
}

fn thought(reply: &Reply, summary: &Value) -> Value {
    let id = format!("rs_{}", reply.id);
    json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": null })
}

fn message(reply: &Reply, status: &str, content: &Value) -> Value {
    let id = format!("msg_{}", reply.id);
    json!({ "type": "message", "id": id, "status": status, "role": "assistant", "content": content })
}

/// The item of a call, the key of its arguments, and these.
fn call(reply: &Reply) -> Option<(Value, &'static str, String)> {
    let call = reply.call.as_ref()?;
    let (kind, prefix, key, arguments) = match &call.arguments {
        Arguments::Free(text) => ("custom_tool_call", "ctc", "input", text.clone()),
        Arguments::Object(_) | Arguments::Broken(_) => {
            ("function_call", "fc", "arguments", call.arguments.text())
        }
    };
    let mut item = json!({
        "type": kind,
        "id": format!("{prefix}_{}", reply.id),
        "call_id": format!("call_{}", reply.id),
        "status": "completed",
        "name": call.name,
        key: arguments,
    });
    if let (Some(namespace), Some(object)) = (&call.namespace, item.as_object_mut()) {
        object.insert("namespace".to_owned(), json!(namespace));
    }
    Some((item, key, arguments))
}

fn output(reply: &Reply, said: &str) -> Vec<Value> {
    let think = reply.think.as_ref();
    let reasoning =
        think.map(|think| thought(reply, &json!([{ "type": "summary_text", "text": think }])));
    let text = reply.speaks().then(|| message(reply, "completed", &json!([part(reply, said)])));
    let call = call(reply).map(|(item, _, _)| item);
    [reasoning, text, call].into_iter().flatten().collect()
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt(),
        "input_tokens_details": { "cached_tokens": usage.cached },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.total(),
    })
}

fn response(reply: &Reply, status: &str, output: &[Value], used: Option<Usage>) -> Value {
    let incomplete = (status == "incomplete").then(|| json!({ "reason": "max_output_tokens" }));
    json!({
        "id": format!("resp_{}", reply.id),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": incomplete,
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": false,
        "tool_choice": "auto",
        "tools": [],
        "usage": used.map(usage),
    })
}

pub(super) fn whole(reply: &Reply) -> Value {
    response(reply, status(reply), &output(reply, &reply.whole_text()), Some(reply.usage))
}

/// Numbers events as they come.
#[derive(Default)]
struct Numbered {
    events: Vec<Event>,
    next: u64,
}

impl Numbered {
    fn push(&mut self, kind: &'static str, mut fields: Value) {
        if let Some(object) = fields.as_object_mut() {
            object.insert("type".to_owned(), kind.into());
            object.insert("sequence_number".to_owned(), self.next.into());
        }
        self.next += 1;
        self.events.push(Event::new(Some(kind), &fields));
    }

    fn change(&mut self, change: impl FnOnce(Event) -> Event) {
        if let Some(last) = self.events.pop() {
            self.events.push(change(last));
        }
    }
}

pub(super) fn stream(reply: &Reply) -> Vec<Event> {
    let mut out = Numbered::default();
    let begun = response(reply, "in_progress", &[], None);
    out.push("response.created", json!({ "response": begun }));
    out.push("response.in_progress", json!({ "response": begun }));
    let mut index = 0;
    if let Some(think) = &reply.think {
        think_aloud(&mut out, reply, think, index);
        index += 1;
    }
    if reply.speaks() {
        speak(&mut out, reply, index);
        index += 1;
    }
    if let Some((item, key, arguments)) = call(reply) {
        let (delta, done) = match key {
            "input" => {
                ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done")
            }
            _ => {
                ("response.function_call_arguments.delta", "response.function_call_arguments.done")
            }
        };
        let id = item.get("id").cloned();
        let mut empty = item.clone();
        if let Some(object) = empty.as_object_mut() {
            object.insert(key.to_owned(), "".into());
            object.insert("status".to_owned(), "in_progress".into());
        }
        out.push("response.output_item.added", json!({ "output_index": index, "item": empty }));
        for part in thirds(&arguments) {
            out.push(delta, json!({ "output_index": index, "item_id": id, "delta": part }));
        }
        out.push(done, json!({ "output_index": index, "item_id": id, key: arguments }));
        out.push("response.output_item.done", json!({ "output_index": index, "item": item }));
    }
    let ended = response(reply, status(reply), &output(reply, &reply.text), Some(reply.usage));
    let kind = match reply.end {
        End::Length => "response.incomplete",
        End::Done | End::Refusal => "response.completed",
    };
    out.push(kind, json!({ "response": ended }));
    out.change(|event| event.telling(reply.usage));
    out.events
}

fn think_aloud(out: &mut Numbered, reply: &Reply, think: &str, index: u32) {
    let id = format!("rs_{}", reply.id);
    let part = |text: &str| json!({ "type": "summary_text", "text": text });
    let event = |more: Value| {
        let mut event = json!({ "output_index": index, "item_id": id, "summary_index": 0 });
        if let (Some(event), Some(more)) = (event.as_object_mut(), more.as_object()) {
            event.extend(more.clone());
        }
        event
    };
    let item = |summary: Value| json!({ "output_index": index, "item": thought(reply, &summary) });
    out.push("response.output_item.added", item(json!([])));
    out.push("response.reasoning_summary_part.added", event(json!({ "part": part("") })));
    for delta in thirds(think) {
        out.push("response.reasoning_summary_text.delta", event(json!({ "delta": delta })));
    }
    out.push("response.reasoning_summary_text.done", event(json!({ "text": think })));
    out.push("response.reasoning_summary_part.done", event(json!({ "part": part(think) })));
    out.push("response.output_item.done", item(json!([part(think)])));
}

fn speak(out: &mut Numbered, reply: &Reply, index: u32) {
    let id = format!("msg_{}", reply.id);
    let event = |key: &str, value: Value| json!({ "output_index": index, "item_id": id, "content_index": 0, key: value });
    let item = |status: &str, content: Value| json!({ "output_index": index, "item": message(reply, status, &content) });
    let (delta, done, key) = match reply.end {
        End::Refusal => ("response.refusal.delta", "response.refusal.done", "refusal"),
        End::Done | End::Length => {
            ("response.output_text.delta", "response.output_text.done", "text")
        }
    };
    out.push("response.output_item.added", item("in_progress", json!([])));
    out.push("response.content_part.added", event("part", part(reply, "")));
    for (piece, times) in reply.pieces() {
        out.push(delta, event("delta", piece.into()));
        if times != Times::Once {
            out.change(|event| event.times(times));
        }
    }
    out.push(done, event(key, reply.text.clone().into()));
    out.push("response.content_part.done", event("part", part(reply, &reply.text)));
    let done = item("completed", json!([part(reply, &reply.text)]));
    out.push("response.output_item.done", done);
}
