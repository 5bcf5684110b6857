//! A model on loopback. It speaks each provider's language, as far as the agent needs it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Anthropic,
    Openai,
    Gemini,
    Ollama,
}

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self::Anthropic, Self::Openai, Self::Gemini, Self::Ollama];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

/// What was asked of it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The first line and the headers.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What it does with a question.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    Say(Say),
    /// A status, more lines of the head, and a body.
    Status(u16, &'static str, Value),
    /// Bytes after a head that says 200 and events.
    Events(Vec<u8>),
    /// These bytes and nothing else.
    Raw(Vec<u8>),
    /// Nothing, for as long as the other end waits.
    Hang,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Say {
    pub(crate) text: String,
    pub(crate) thought: String,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) end: SayEnd,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SayEnd {
    #[default]
    Whole,
    MaxTokens,
    Refusal,
    /// The stream ends in the middle.
    Cut,
}

pub(crate) fn text(text: &str) -> Play {
    Play::Say(Say { text: text.to_owned(), ..Say::default() })
}

pub(crate) fn call(name: &str, arguments: Value) -> Play {
    calls(vec![(name, arguments)])
}

pub(crate) fn calls(calls: Vec<(&str, Value)>) -> Play {
    let calls = calls.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
    Play::Say(Say { calls, ..Say::default() })
}

pub(crate) fn shell(command: &str) -> Play {
    call("shell", json!({ "command": command }))
}

/// The model; it plays one thing for each question, and the last one again and again.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) language: Language,
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Model {
    pub(crate) fn start(language: Language, plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            let mut hanging = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(question) = read(&stream) else { continue };
                let at = {
                    let mut notes = notes.lock().unwrap();
                    notes.push(question);
                    notes.len() - 1
                };
                let play = plays.get(at).or(plays.last()).unwrap();
                if matches!(play, Play::Hang) {
                    hanging.push(stream);
                    continue;
                }
                // The agent may be gone, or not want to hear the rest.
                let _gone = stream.write_all(&answer(language, at, play));
            }
        });
        Self { language, port, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

fn answer(language: Language, at: usize, play: &Play) -> Vec<u8> {
    match play {
        Play::Hang => Vec::new(),
        Play::Raw(bytes) => bytes.clone(),
        Play::Status(status, head, body) => {
            let body = body.to_string();
            let length = body.len();
            format!("HTTP/1.1 {status} X\r\n{head}content-length: {length}\r\n\r\n{body}").into()
        }
        Play::Events(events) => [OK_CLOSED.as_bytes(), events].concat(),
        Play::Say(say) => {
            let mut events = match language {
                Language::Anthropic => anthropic(say, at),
                Language::Openai | Language::Ollama => openai(say, at),
                Language::Gemini => gemini(say),
            };
            if say.end == SayEnd::Cut {
                let half = events.len() / 2;
                events.truncate(half.max(1));
            }
            // In chunks, each cut where no event ends.
            let bytes = events.concat().into_bytes();
            let mut answer = OK_CHUNKED.as_bytes().to_vec();
            for chunk in bytes.chunks(37) {
                answer.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
                answer.extend(chunk);
                answer.extend(b"\r\n");
            }
            if say.end != SayEnd::Cut {
                answer.extend(b"0\r\n\r\n");
            }
            answer
        }
    }
}

pub(crate) const OK_CLOSED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const OK_CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

fn event(value: &Value) -> String {
    format!("event: x\r\ndata: {value}\r\n\r\n")
}

/// 100 tokens in, of which 40 from the cache; 7 out.
fn anthropic(say: &Say, at: usize) -> Vec<String> {
    let usage = json!({ "input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10, "output_tokens": 1 });
    let mut events = vec![
        event(&json!({ "type": "message_start", "message": { "usage": usage } })),
        event(&json!({ "type": "ping" })),
    ];
    let mut block = |index: usize, begin: Value, deltas: Vec<Value>| {
        events.push(event(
            &json!({ "type": "content_block_start", "index": index, "content_block": begin }),
        ));
        for delta in deltas {
            events.push(event(
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
        events.push(event(&json!({ "type": "content_block_stop", "index": index })));
    };
    if !say.thought.is_empty() {
        let deltas = vec![
            json!({ "type": "thinking_delta", "thinking": say.thought }),
            json!({ "type": "signature_delta", "signature": "c2ln" }),
        ];
        block(0, json!({ "type": "thinking", "thinking": "" }), deltas);
    }
    if !say.text.is_empty() {
        let deltas = halves(&say.text).map(|text| json!({ "type": "text_delta", "text": text }));
        block(1, json!({ "type": "text", "text": "" }), deltas.into());
    }
    for (number, (name, arguments)) in say.calls.iter().enumerate() {
        let begin = json!({ "type": "tool_use", "id": format!("toolu_{at}_{number}"), "name": name, "input": {} });
        let deltas = halves(&arguments.to_string())
            .map(|part| json!({ "type": "input_json_delta", "partial_json": part }));
        block(number + 2, begin, deltas.into());
    }
    let reason = match say.end {
        SayEnd::Whole | SayEnd::Cut if say.calls.is_empty() => "end_turn",
        SayEnd::Whole | SayEnd::Cut => "tool_use",
        SayEnd::MaxTokens => "max_tokens",
        SayEnd::Refusal => "refusal",
    };
    events.push(event(&json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 7 } })));
    events.push(event(&json!({ "type": "message_stop" })));
    events
}

fn openai(say: &Say, at: usize) -> Vec<String> {
    let delta = |delta: Value, finish: Value| {
        event(
            &json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }], "usage": null }),
        )
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    if !say.thought.is_empty() {
        events.push(delta(json!({ "reasoning_content": say.thought }), Value::Null));
    }
    for part in halves(&say.text) {
        events.push(delta(json!({ "content": part }), Value::Null));
    }
    for (index, (name, arguments)) in say.calls.iter().enumerate() {
        let arguments = arguments.to_string();
        let [first, second] = halves(&arguments);
        let begin = json!({ "index": index, "id": format!("call_{at}_{index}"), "type": "function", "function": { "name": name, "arguments": first } });
        events.push(delta(json!({ "tool_calls": [begin] }), Value::Null));
        let more = json!({ "index": index, "function": { "arguments": second } });
        events.push(delta(json!({ "tool_calls": [more] }), Value::Null));
    }
    let reason = match say.end {
        SayEnd::Whole | SayEnd::Cut if say.calls.is_empty() => "stop",
        SayEnd::Whole | SayEnd::Cut => "tool_calls",
        SayEnd::MaxTokens => "length",
        SayEnd::Refusal => "content_filter",
    };
    events.push(delta(json!({}), json!(reason)));
    events.push(event(&json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 40 } } })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn gemini(say: &Say) -> Vec<String> {
    let usage = json!({ "promptTokenCount": 100, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "cachedContentTokenCount": 40, "totalTokenCount": 107 });
    let parts = |parts: Value, finish: Value| {
        event(
            &json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": finish }], "usageMetadata": usage }),
        )
    };
    let mut events = Vec::new();
    if !say.thought.is_empty() {
        events.push(parts(json!([{ "text": say.thought, "thought": true }]), Value::Null));
    }
    for part in halves(&say.text) {
        events.push(parts(json!([{ "text": part }]), Value::Null));
    }
    for (name, arguments) in &say.calls {
        let call = json!({ "functionCall": { "name": name, "args": arguments }, "thoughtSignature": "c2ln" });
        events.push(parts(json!([call]), Value::Null));
    }
    let reason = match say.end {
        SayEnd::Whole | SayEnd::Cut => "STOP",
        SayEnd::MaxTokens => "MAX_TOKENS",
        SayEnd::Refusal => "SAFETY",
    };
    events.push(parts(json!([]), json!(reason)));
    events
}

fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second]
}
