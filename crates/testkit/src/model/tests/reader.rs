//! Reads answers back, as a program would: from the stream's parts, not from what sums them up.

use serde_json::Value;

use super::Wire;
use crate::model::Usage;

/// What a program understood.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) thought: String,
    pub(super) text: String,
    pub(super) call: Option<(String, Value)>,
    pub(super) stop: String,
    pub(super) usage: Option<Usage>,
}

/// The values of a stream, and the names of events. Nothing but events is allowed in it.
pub(super) fn events(wire: Wire, stream: &str) -> Vec<(Option<String>, Value)> {
    if wire == Wire::Ollama {
        return stream.lines().map(|line| (None, serde_json::from_str(line).unwrap())).collect();
    }
    assert!(stream.ends_with("\n\n"), "{stream:?}");
    let blocks = stream.trim_end().split("\n\n");
    blocks
        .filter(|block| *block != "data: [DONE]")
        .map(|block| {
            let (name, data) = match block.split_once('\n') {
                Some((name, data)) => {
                    (Some(name.strip_prefix("event: ").unwrap().to_owned()), data)
                }
                None => (None, block),
            };
            (name, serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
        })
        .collect()
}

fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {value}"))
}

fn add(to: &mut String, text: Option<&str>) {
    to.push_str(text.unwrap_or_default());
}

/// Input as some tell it, with the cached part in it.
fn usage(prompt: u64, cached: u64, output: u64, total: u64) -> Usage {
    assert_eq!(prompt + output, total);
    Usage { input: prompt - cached, cached, output }
}

pub(super) fn streamed(wire: Wire, stream: &str) -> Heard {
    let mut heard = Heard::default();
    let (mut name, mut arguments) = (None, String::new());
    for (event, value) in events(wire, stream) {
        match wire {
            Wire::Anthropic => {
                assert_eq!(event.as_deref(), at(&value, "/type"));
                add(&mut heard.thought, at(&value, "/delta/thinking"));
                add(&mut heard.text, at(&value, "/delta/text"));
                add(&mut arguments, at(&value, "/delta/partial_json"));
                add(&mut heard.stop, at(&value, "/delta/stop_reason"));
                if let Some(told) = at(&value, "/content_block/name") {
                    name = Some(told.to_owned());
                }
                if value.get("usage").is_some() {
                    heard.usage = Some(Usage {
                        input: number(&value, "/usage/input_tokens"),
                        cached: number(&value, "/usage/cache_read_input_tokens"),
                        output: number(&value, "/usage/output_tokens"),
                    });
                }
            }
            Wire::Chat => {
                let delta = value.pointer("/choices/0/delta").cloned().unwrap_or_default();
                add(&mut heard.thought, at(&delta, "/reasoning_content"));
                add(&mut heard.text, at(&delta, "/content"));
                add(&mut arguments, at(&delta, "/tool_calls/0/function/arguments"));
                add(&mut heard.stop, at(&value, "/choices/0/finish_reason"));
                if let Some(told) = at(&delta, "/tool_calls/0/function/name") {
                    name = Some(told.to_owned());
                }
                if value.get("usage").is_some_and(Value::is_object) {
                    heard.usage = Some(chat_usage(&value));
                }
            }
            Wire::Responses => {
                assert_eq!(event.as_deref(), at(&value, "/type"));
                match event.as_deref().unwrap() {
                    "response.reasoning_summary_text.delta" => {
                        add(&mut heard.thought, at(&value, "/delta"));
                    }
                    "response.output_text.delta" => add(&mut heard.text, at(&value, "/delta")),
                    "response.function_call_arguments.delta" => {
                        add(&mut arguments, at(&value, "/delta"));
                    }
                    "response.output_item.added" => {
                        name = at(&value, "/item/name").map(str::to_owned);
                    }
                    "response.completed" | "response.incomplete" => {
                        // What sums it up must say the same as the parts.
                        let whole = whole(wire, &value["response"]);
                        assert_eq!((&whole.thought, &whole.text), (&heard.thought, &heard.text));
                        heard.stop = whole.stop;
                        heard.usage = whole.usage;
                    }
                    _ => {}
                }
            }
            Wire::Gemini => gemini(&mut heard, &value),
            Wire::Ollama => {
                ollama(&mut heard, &value);
            }
        }
    }
    if let Some(name) = name {
        heard.call = Some((name, serde_json::from_str(&arguments).unwrap_or(arguments.into())));
    }
    heard
}

fn chat_usage(value: &Value) -> Usage {
    usage(
        number(value, "/usage/prompt_tokens"),
        number(value, "/usage/prompt_tokens_details/cached_tokens"),
        number(value, "/usage/completion_tokens"),
        number(value, "/usage/total_tokens"),
    )
}

fn gemini(heard: &mut Heard, value: &Value) {
    for part in value.pointer("/candidates/0/content/parts").and_then(Value::as_array).unwrap() {
        let thinks = part.get("thought").is_some();
        add(if thinks { &mut heard.thought } else { &mut heard.text }, at(part, "/text"));
        if let Some(name) = at(part, "/functionCall/name") {
            heard.call = Some((name.to_owned(), part["functionCall"]["args"].clone()));
        }
    }
    add(&mut heard.stop, at(value, "/candidates/0/finishReason"));
    heard.usage = Some(usage(
        number(value, "/usageMetadata/promptTokenCount"),
        number(value, "/usageMetadata/cachedContentTokenCount"),
        number(value, "/usageMetadata/candidatesTokenCount"),
        number(value, "/usageMetadata/totalTokenCount"),
    ));
}

fn ollama(heard: &mut Heard, value: &Value) {
    add(&mut heard.thought, at(value, "/message/thinking"));
    add(&mut heard.text, at(value, "/message/content"));
    add(&mut heard.stop, at(value, "/done_reason"));
    if let Some(name) = at(value, "/message/tool_calls/0/function/name") {
        let arguments = value.pointer("/message/tool_calls/0/function/arguments").unwrap();
        heard.call = Some((name.to_owned(), arguments.clone()));
    }
    if value["done"] == true {
        // It has no word for what came from a cache.
        let (input, output) = (number(value, "/prompt_eval_count"), number(value, "/eval_count"));
        heard.usage = Some(Usage { input, cached: 0, output });
    }
}

pub(super) fn whole(wire: Wire, value: &Value) -> Heard {
    let mut heard = Heard::default();
    match wire {
        Wire::Anthropic => {
            for block in value["content"].as_array().unwrap() {
                add(&mut heard.thought, at(block, "/thinking"));
                add(&mut heard.text, at(block, "/text"));
                if let Some(name) = at(block, "/name") {
                    heard.call = Some((name.to_owned(), block["input"].clone()));
                }
            }
            add(&mut heard.stop, at(value, "/stop_reason"));
            heard.usage = Some(Usage {
                input: number(value, "/usage/input_tokens"),
                cached: number(value, "/usage/cache_read_input_tokens"),
                output: number(value, "/usage/output_tokens"),
            });
        }
        Wire::Chat => {
            let message = &value["choices"][0]["message"];
            add(&mut heard.thought, at(message, "/reasoning_content"));
            add(&mut heard.text, at(message, "/content"));
            add(&mut heard.stop, at(value, "/choices/0/finish_reason"));
            if let Some(name) = at(message, "/tool_calls/0/function/name") {
                let arguments = at(message, "/tool_calls/0/function/arguments").unwrap();
                let read = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
                heard.call = Some((name.to_owned(), read));
            }
            heard.usage = Some(chat_usage(value));
        }
        Wire::Responses => {
            for item in value["output"].as_array().unwrap() {
                add(&mut heard.thought, at(item, "/summary/0/text"));
                add(&mut heard.text, at(item, "/content/0/text"));
                if let Some(name) = at(item, "/name") {
                    let arguments = at(item, "/arguments").unwrap();
                    let read = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
                    heard.call = Some((name.to_owned(), read));
                }
            }
            add(&mut heard.stop, at(value, "/status"));
            heard.usage = Some(usage(
                number(value, "/usage/input_tokens"),
                number(value, "/usage/input_tokens_details/cached_tokens"),
                number(value, "/usage/output_tokens"),
                number(value, "/usage/total_tokens"),
            ));
        }
        Wire::Gemini => gemini(&mut heard, value),
        Wire::Ollama => ollama(&mut heard, value),
    }
    heard
}
