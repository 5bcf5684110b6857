//! Requests in, answers out: every language, every fault, and what is remembered.

mod any;
mod faults;
mod places;
mod reader;
mod remembered;
mod served;
mod stories;
mod wires;

use serde_json::{Value, json};

use super::{
    Beat, Length, Model, Request,
    wire::{Wanted, Wire, wanted},
};

const ALL: [Wire; 5] = [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini, Wire::Ollama];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Streamed,
    Whole,
}

/// What a conversation has so far.
#[derive(Debug, Clone, Copy)]
enum Line<'a> {
    User(&'a str),
    Said(&'a str),
    Called,
}

/// A request with tools to write and to run, in a language.
fn request(wire: Wire, how: How, lines: &[Line<'_>]) -> Request {
    let streamed = how == How::Streamed;
    let write = json!({ "type": "object", "required": ["path", "content"], "properties": { "path": { "type": "string" }, "content": { "type": "string" } } });
    let shell = json!({ "type": "object", "required": ["command"], "properties": { "command": { "type": "string" } } });
    let (target, body) = match wire {
        Wire::Anthropic => {
            let tool = |name: &str, schema: &Value| json!({ "name": name, "input_schema": schema });
            let messages = chat_lines(
                lines,
                |id| json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "write", "input": {} }] }),
                |id| json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "play: text tools speak too ;;" }] }),
            );
            (
                "/v1/messages?beta=true",
                json!({ "model": "m", "max_tokens": 10, "stream": streamed, "system": [{ "type": "text", "text": "You are a test." }], "messages": messages, "tools": [tool("write", &write), tool("bash", &shell)] }),
            )
        }
        Wire::Chat | Wire::Ollama => {
            let tool = |name: &str, schema: &Value| json!({ "type": "function", "function": { "name": name, "parameters": schema } });
            let messages = chat_lines(
                lines,
                |id| json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": id, "type": "function", "function": { "name": "write", "arguments": "{}" } }] }),
                |id| json!({ "role": "tool", "tool_call_id": id, "content": "play: text tools speak too ;;" }),
            );
            let target =
                if wire == Wire::Chat { "/openai/v1/chat/completions" } else { "/api/chat" };
            (
                target,
                json!({ "model": "m", "stream": streamed, "stream_options": { "include_usage": true }, "messages": messages, "tools": [tool("write", &write), tool("bash", &shell)] }),
            )
        }
        Wire::Responses => {
            let tool = |name: &str, schema: &Value| json!({ "type": "function", "name": name, "parameters": schema });
            let mut input = vec![
                json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "You are a test." }] }),
            ];
            for (at, line) in lines.iter().enumerate() {
                match line {
                    Line::User(text) => input.push(json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })),
                    Line::Said(text) => input.push(json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })),
                    Line::Called => input.extend([
                        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I call." }] }),
                        json!({ "type": "function_call", "call_id": at.to_string(), "name": "write", "arguments": "{}" }),
                        json!({ "type": "function_call_output", "call_id": at.to_string(), "output": "play: text tools speak too ;;" }),
                    ]),
                }
            }
            (
                "/v1/responses",
                json!({ "model": "m", "stream": streamed, "instructions": "Be good.", "input": input, "tools": [tool("write", &write), { "type": "web_search" }, { "type": "namespace", "name": "group", "tools": [tool("bash", &shell)] }] }),
            )
        }
        Wire::Gemini => {
            let mut contents = Vec::new();
            for line in lines {
                match line {
                    Line::User(text) => contents.push(json!({ "role": "user", "parts": [{ "text": text }] })),
                    Line::Said(text) => contents.push(json!({ "role": "model", "parts": [{ "text": text }] })),
                    Line::Called => contents.extend([
                        json!({ "role": "model", "parts": [{ "functionCall": { "name": "write", "args": {} } }] }),
                        json!({ "role": "user", "parts": [{ "functionResponse": { "name": "write", "response": { "output": "play: text tools speak too ;;" } } }] }),
                    ]),
                }
            }
            let target = match how {
                How::Streamed => "/v1beta/models/m:streamGenerateContent?alt=sse",
                How::Whole => "/v1beta/models/m:generateContent",
            };
            (
                target,
                json!({ "contents": contents, "systemInstruction": { "parts": [{ "text": "You are a test." }] }, "tools": [{ "functionDeclarations": [{ "name": "write", "parametersJsonSchema": write }, { "name": "bash", "parameters": shell }] }] }),
            )
        }
    };
    post(target, &body)
}

fn chat_lines(
    lines: &[Line<'_>],
    call: impl Fn(&str) -> Value,
    result: impl Fn(&str) -> Value,
) -> Vec<Value> {
    let mut messages = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let id = at.to_string();
        match line {
            Line::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Line::Said(text) => messages.push(json!({ "role": "assistant", "content": text })),
            Line::Called => messages.extend([call(&id), result(&id)]),
        }
    }
    messages
}

fn post(target: &str, body: &Value) -> Request {
    Request {
        method: "POST".to_owned(),
        target: target.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}

/// The status of an answer, and the text of its body.
fn body(beats: &[Beat]) -> (u16, String) {
    let Some(Beat::Head(head)) = beats.first() else { panic!("no head: {beats:?}") };
    let mut text = Vec::new();
    for beat in &beats[1..] {
        match beat {
            Beat::Bytes(bytes) => text.extend(bytes),
            Beat::Pause(_) | Beat::Cut | Beat::Silence => {}
            Beat::Head(_) | Beat::Again { .. } | Beat::Endless(_) => panic!("{beat:?}"),
        }
    }
    if let Length::Known(length) = head.length {
        assert_eq!(length, text.len() as u64);
    }
    (head.status, String::from_utf8(text).unwrap())
}

fn played(model: &Model, wire: Wire, how: How, lines: &[Line<'_>]) -> reader::Heard {
    let (status, text) = body(&model.answer(&request(wire, how, lines)));
    assert_eq!(status, 200, "{text}");
    match how {
        How::Streamed => reader::streamed(wire, &text),
        How::Whole => reader::whole(wire, &serde_json::from_str(&text).unwrap()),
    }
}
