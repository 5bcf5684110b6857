//! Answers as the vendors write them, whole, in streams, cut and hostile.

use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::*;

fn read(dialect: Dialect, answer: &str) -> Usage {
    let mut reader = Reader::new(dialect);
    reader.feed(answer.as_bytes());
    reader.finish()
}

/// Input, read from a cache, written to a cache, output.
fn counted(model: &str, [input, read, write, output]: [u64; 4]) -> Usage {
    Usage {
        model: Some(model.to_owned()),
        input_tokens: input,
        cache_read_tokens: read,
        cache_write_tokens: write,
        output_tokens: output,
        complete: true,
    }
}

fn events(events: &[serde_json::Value]) -> String {
    let one = |event: &serde_json::Value| format!("event: {}\ndata: {event}\n\n", event["type"]);
    events.iter().map(one).collect::<Vec<_>>().concat()
}

fn anthropic() -> Vec<serde_json::Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1",
            "content": [], "stop_reason": null, "usage": {"input_tokens": 25, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 200,
            "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 0}, "output_tokens": 1, "service_tier": "standard"}}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\"usage\":{\"output_tokens\":999999}}\n\ndata: {\"usage\":{\"output_tokens\":7777}}\n\n"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"usage\": {\"output_tokens\": 5}}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 15}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn anthropic_messages_are_counted() {
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1",
        "content": [{"type": "text", "text": "usage"}, {"type": "tool_use", "name": "f", "input": {"usage": {"output_tokens": 9}}}],
        "usage": {"input_tokens": 25, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 200, "output_tokens": 15}});
    let expected = counted("claude-x-1", [25, 200, 40, 15]);
    assert_eq!(read(Dialect::AnthropicMessages, &whole.to_string()), expected);
    assert_eq!(
        read(Dialect::AnthropicMessages, &serde_json::to_string_pretty(&whole).unwrap()),
        expected
    );
    assert_eq!(read(Dialect::AnthropicMessages, &events(&anthropic())), expected);
    let carriage = events(&anthropic()).replace('\n', "\r\n");
    assert_eq!(read(Dialect::AnthropicMessages, &carriage), expected);
    let returns = events(&anthropic()).replace('\n', "\r");
    assert_eq!(read(Dialect::AnthropicMessages, &returns), expected);
}

#[test]
fn a_stream_that_is_cut_is_not_complete_but_tells_what_it_told() {
    let all = anthropic();
    let cut = read(Dialect::AnthropicMessages, &events(&all[..5]));
    assert_eq!(cut, Usage { complete: false, ..counted("claude-x-1", [25, 200, 40, 1]) });
    let nothing =
        read(Dialect::AnthropicMessages, "event: message_start\ndata: {\"type\": \"message_st");
    assert_eq!(nothing, Usage::default());
    assert_eq!(read(Dialect::Gemini, ""), Usage::default());
}

#[test]
fn openai_chat_is_counted_when_it_is_told() {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 200}, "completion_tokens_details": {"reasoning_tokens": 20}});
    let whole = json!({"id": "c", "object": "chat.completion", "model": "gpt-x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}], "usage": usage});
    let expected = counted("gpt-x", [800, 200, 0, 50]);
    assert_eq!(read(Dialect::OpenaiChat, &whole.to_string()), expected);
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "model": "gpt-x", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": null}], "usage": null});
    let last = json!({"id": "c", "object": "chat.completion.chunk", "model": "gpt-x", "choices": [], "usage": usage});
    let told = format!("data: {chunk}\n\ndata: {chunk}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    assert_eq!(read(Dialect::OpenaiChat, &told), expected);
    let undone = format!("data: {chunk}\n\ndata:{last}\n\n");
    assert_eq!(read(Dialect::OpenaiChat, &undone), expected);
    let cut = format!("data: {last}\n\ndata: {chunk}\n\n");
    assert!(!read(Dialect::OpenaiChat, &cut).complete);
    let untold = read(Dialect::OpenaiChat, &format!("data: {chunk}\n\ndata: [DONE]\n\n"));
    assert_eq!(untold, Usage { model: Some("gpt-x".to_owned()), ..Usage::default() });
}

#[test]
fn openai_responses_are_counted() {
    let usage = json!({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 200}, "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1050});
    let response = |status: &str, usage: serde_json::Value| json!({"id": "r", "object": "response", "status": status, "model": "gpt-y", "error": null, "output": [], "usage": usage});
    let expected = counted("gpt-y", [800, 200, 0, 50]);
    assert_eq!(
        read(Dialect::OpenaiResponses, &response("completed", usage.clone()).to_string()),
        expected
    );
    for end in ["response.completed", "response.incomplete"] {
        let stream = events(&[
            json!({"type": "response.created", "response": response("in_progress", json!(null))}),
            json!({"type": "response.output_text.delta", "delta": "usage"}),
            json!({"type": end, "response": response("completed", usage.clone())}),
        ]);
        assert_eq!(read(Dialect::OpenaiResponses, &stream), expected);
    }
    let failed =
        events(&[json!({"type": "response.failed", "response": response("failed", json!(null))})]);
    assert!(!read(Dialect::OpenaiResponses, &failed).complete);
}

#[test]
fn gemini_is_counted() {
    let part = |finish: serde_json::Value, output: u64| {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}, {"functionCall": {"args": {"usageMetadata": {"promptTokenCount": 9}}}}]}, "index": 0, "finishReason": finish}],
            "modelVersion": "gemini-z", "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": output, "thoughtsTokenCount": 7, "toolUsePromptTokenCount": 3, "cachedContentTokenCount": 200, "totalTokenCount": 1}})
    };
    let (first, last) = (part(json!(null), 5), part(json!("STOP"), 43));
    let expected = counted("gemini-z", [803, 200, 0, 50]);
    assert_eq!(read(Dialect::Gemini, &last.to_string()), expected);
    assert_eq!(read(Dialect::Gemini, &format!("[{first}\n,\r\n{last}\n]\n")), expected);
    assert_eq!(
        read(Dialect::Gemini, &format!("data: {first}\r\n\r\ndata: {last}\r\n\r\n")),
        expected
    );
    assert!(!read(Dialect::Gemini, &format!("data: {first}\r\n\r\n")).complete);
    assert!(!read(Dialect::Gemini, &format!("[{first}\n,")).complete);
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 10}});
    assert!(read(Dialect::Gemini, &format!("data: {blocked}\n\n")).complete);
}

#[test]
fn an_error_costs_nothing() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
            .to_string();
    for dialect in
        [Dialect::AnthropicMessages, Dialect::OpenaiChat, Dialect::OpenaiResponses, Dialect::Gemini]
    {
        assert_eq!(read(dialect, &error), Usage { complete: true, ..Usage::default() });
    }
    let page = read(Dialect::OpenaiChat, "<html>502 Bad Gateway</html>");
    assert_eq!(page, Usage::default());
}

#[test]
fn numbers_that_cannot_be_are_left_out() {
    let odd = r#"{"model": 7, "usage": {"input_tokens": -5, "output_tokens": 1.5, "cache_read_input_tokens": "9", "cache_creation_input_tokens": 99999999999999999999}}"#;
    assert_eq!(read(Dialect::AnthropicMessages, odd), Usage { complete: true, ..Usage::default() });
    let much = r#"{"usage": {"prompt_tokens": 18446744073709551615, "prompt_tokens_details": {"cached_tokens": 18446744073709551615}, "completion_tokens": 3}}"#;
    let told = read(Dialect::OpenaiChat, much);
    assert_eq!(
        (told.input_tokens, told.cache_read_tokens, told.output_tokens),
        (0, 1_000_000_000_000, 3)
    );
}

#[test]
fn long_answers_are_read_without_being_kept() {
    let text = "x\\\"{[".repeat(1_000_000);
    let long = format!(
        "{{\"content\": [\"{text}\"], \"usage\": {{\"output_tokens\": 5}}, \"model\": \"m\"}}"
    );
    assert_eq!(read(Dialect::AnthropicMessages, &long), counted("m", [0, 0, 0, 5]));
    let mut reader = Reader::new(Dialect::AnthropicMessages);
    reader.feed(b"{\"usage\": {\"junk\": \"");
    for _ in 0..100 {
        reader.feed(&vec![b'x'; 10_000]);
    }
    reader.feed(b"\", \"output_tokens\": 5}}");
    assert!(!reader.finish().complete, "a value that is too long is left out");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read(Dialect::Gemini, &deep), Usage::default());
}

fn pieces(dialect: Dialect, bytes: &[u8], lengths: &[usize]) -> Usage {
    let mut reader = Reader::new(dialect);
    let mut rest = bytes;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).clamp(1, rest.len()));
        reader.feed(piece);
        rest = after;
    }
    reader.finish()
}

fn dialects() -> impl Strategy<Value = Dialect> {
    prop::sample::select(vec![
        Dialect::AnthropicMessages,
        Dialect::OpenaiChat,
        Dialect::OpenaiResponses,
        Dialect::Gemini,
    ])
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|it| json!(it)),
        any::<i64>().prop_map(|it| json!(it)),
        "[ -~]{0,20}".prop_map(|it| json!(it)),
        "\\PC{0,6}".prop_map(|it| json!(it)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(|it| json!(it)),
            vec(
                (
                    "usage|model|type|message|response|candidates|finishReason|[a-z\"\\\\]{0,4}",
                    inner
                ),
                0..6
            )
            .prop_map(|it| serde_json::Value::Object(it.into_iter().collect())),
        ]
    })
}

/// What a reader that keeps everything finds at a path, lists passed through; the last one.
fn at<'a>(value: &'a serde_json::Value, path: &[&str]) -> Option<&'a serde_json::Value> {
    match (value, path) {
        (_, []) => Some(value),
        (serde_json::Value::Array(items), _) => {
            items.iter().filter_map(|item| at(item, path)).next_back()
        }
        (serde_json::Value::Object(fields), [first, rest @ ..]) => at(fields.get(*first)?, rest),
        _ => None,
    }
}

proptest! {
    #[test]
    fn however_an_answer_is_cut_the_same_is_read(dialect in dialects(), which in 0..3, lengths in vec(1_usize..40, 1..6)) {
        let text = match which {
            0 => events(&anthropic()),
            1 => format!("[{}]", anthropic()[0]),
            _ => events(&anthropic()).replace('\n', "\r\n"),
        };
        prop_assert_eq!(pieces(dialect, text.as_bytes(), &lengths), read(dialect, &text));
    }

    #[test]
    fn the_scan_finds_what_a_whole_reading_finds(value in any_json(), lengths in vec(1_usize..40, 1..6)) {
        let value = json!({"a": value.clone(), "response": value, "type": "x"});
        let text = value.to_string();
        let mut found = Vec::new();
        let mut scan = Scan::default();
        for piece in text.as_bytes().chunks(lengths[0]) {
            scan.feed(piece, &mut |path, bytes| found.push((path, serde_json::from_slice::<serde_json::Value>(bytes).unwrap())));
        }
        prop_assert!(scan.is_whole());
        for (path, name) in tally::PATHS {
            let wanted: Vec<&str> = name.split('.').collect();
            if let Some(value) = at(&value, &wanted) {
                prop_assert!(found.iter().any(|(kind, found)| *kind == path && found == value), "{} is {} and {:?} was found", name, value, found);
            }
        }
    }

    #[test]
    fn any_bytes_are_read(dialect in dialects(), bytes in vec(any::<u8>(), 0..300), text in "(data: |\\{|\\}|\\[|\\]|\"usage\"|:|,|\n|\"|\\\\|[0-9]|[a-z]){0,60}", lengths in vec(1_usize..20, 1..4)) {
        prop_assert_eq!(pieces(dialect, &bytes, &lengths), pieces(dialect, &bytes, &[1000]));
        prop_assert_eq!(pieces(dialect, text.as_bytes(), &lengths), read(dialect, &text));
    }

    #[test]
    fn what_a_model_writes_is_never_counted(text in "(\"usage\"|\\{|\\}|\"|\\\\|:|output_tokens|[0-9]{1,6}|\n|data: ){0,40}") {
        let mut all = anthropic();
        all[3]["delta"]["text"] = json!(text);
        all[4]["delta"]["partial_json"] = json!(text);
        prop_assert_eq!(read(Dialect::AnthropicMessages, &events(&all)), counted("claude-x-1", [25, 200, 40, 15]));
    }
}
