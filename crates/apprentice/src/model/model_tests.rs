//! Answers of any shape: each becomes an answer or a failure, and never too large a one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn model(format: &str) -> Model {
    let variables: BTreeMap<String, String> = [
        ("LAMP_MODEL_FORMAT", format),
        ("LAMP_MODEL_URL", "http://127.0.0.1:1/"),
        ("LAMP_MODEL", "m"),
        ("HOME", "/nowhere"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    Model::new(Arc::new(Settings::read(&variables).unwrap()), Patience::default())
}

/// Words that mean something to at least one provider, at places where they may not belong.
const WORDS: [&str; 32] = [
    "type",
    "message_start",
    "message",
    "usage",
    "input_tokens",
    "output_tokens",
    "index",
    "content_block_start",
    "content_block",
    "tool_use",
    "id",
    "name",
    "content_block_delta",
    "delta",
    "text_delta",
    "input_json_delta",
    "partial_json",
    "text",
    "message_delta",
    "stop_reason",
    "choices",
    "tool_calls",
    "function",
    "arguments",
    "finish_reason",
    "candidates",
    "content",
    "parts",
    "functionCall",
    "args",
    "finishReason",
    "signature_delta",
];

fn value() -> impl Strategy<Value = Value> {
    let word = || proptest::sample::select(WORDS.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,10}".prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inside| {
        prop_oneof![
            proptest::collection::vec(inside.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(word().prop_map(ToOwned::to_owned), inside, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_sequence_of_events_breaks_a_reader(events in proptest::collection::vec(value(), 0..12)) {
        for format in ["anthropic", "openai", "gemini", "ollama"] {
            let model = model(format);
            let mut draft = Draft::default();
            let read = events.iter().try_for_each(|event| model.take(event.to_string().as_bytes(), &mut draft));
            if read.is_ok() && let Ok(answer) = draft.finish() {
                prop_assert!(answer.usage.total() < 10_000_000_000);
                prop_assert!(answer.said.calls.len() <= 32);
            }
        }
    }
}

#[test]
fn calls_without_an_index_are_told_apart() {
    let model = model("ollama");
    let mut draft = Draft::default();
    let call = |id: &str| json!({ "id": id, "function": { "name": "shell", "arguments": "{}" } });
    let event = json!({ "choices": [{ "delta": { "tool_calls": [call("a"), call("b")] } }] });
    model.take(event.to_string().as_bytes(), &mut draft).unwrap();
    let event =
        json!({ "choices": [{ "delta": { "tool_calls": [call("c")] }, "finish_reason": "stop" }] });
    model.take(event.to_string().as_bytes(), &mut draft).unwrap();
    let ids: Vec<String> = draft.finish().unwrap().said.calls.into_iter().map(|it| it.id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

#[test]
fn a_malformed_call_of_gemini_is_not_taken_for_an_end() {
    let mut draft = Draft::default();
    let event = json!({ "candidates": [{ "finishReason": "MALFORMED_FUNCTION_CALL" }] });
    model("gemini").take(event.to_string().as_bytes(), &mut draft).unwrap();
    assert_eq!(draft.finish().unwrap().end, AnswerEnd::MalformedCall);
}
