//! What our driver for ACP says, held against the types of the protocol's own schema.
//!
//! What a type does not know, it leaves out. So each message is read and written again, and everything that we said must still be there.

use std::collections::BTreeSet;

use agent_client_protocol_schema::v1::{
    CancelNotification, InitializeRequest, LoadSessionRequest, NewSessionRequest, PromptRequest,
    RequestPermissionResponse, ResumeSessionRequest,
};
use agents::program::Speech;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{Line, transcripts};

#[test]
fn what_we_say_to_agents_is_what_the_schema_says() {
    let mut seen = BTreeSet::new();
    for transcript in transcripts().iter().filter(|it| it.program.speech == Speech::Acp) {
        let mut permissions = BTreeSet::new();
        for line in &transcript.lines {
            match line {
                Line::Said(said) => {
                    assert_eq!(said.pointer("/jsonrpc"), Some(&json!("2.0")), "{said}");
                    seen.insert(check(said, &permissions));
                }
                Line::Heard(heard) => {
                    if heard.pointer("/method") == Some(&json!("session/request_permission")) {
                        permissions.insert(heard["id"].to_string());
                    }
                }
                Line::Start => {}
            }
        }
    }
    let all = [
        "initialize",
        "permission",
        "session/cancel",
        "session/load",
        "session/new",
        "session/prompt",
        "session/resume",
    ];
    let missing: Vec<_> = all.iter().filter(|it| !seen.contains(**it)).collect();
    assert!(missing.is_empty(), "no transcript has {missing:?}");
}

/// What kind of message it is, once it has been found to be one.
fn check(said: &Value, permissions: &BTreeSet<String>) -> &'static str {
    let params = &said["params"];
    match said.pointer("/method").and_then(Value::as_str) {
        Some("initialize") => survives::<InitializeRequest>(params, "initialize"),
        Some("session/new") => survives::<NewSessionRequest>(params, "session/new"),
        Some("session/load") => survives::<LoadSessionRequest>(params, "session/load"),
        Some("session/resume") => survives::<ResumeSessionRequest>(params, "session/resume"),
        Some("session/prompt") => survives::<PromptRequest>(params, "session/prompt"),
        Some("session/cancel") => survives::<CancelNotification>(params, "session/cancel"),
        Some(other) => panic!("`{other}` is not something that we say"),
        None if permissions.contains(&said["id"].to_string()) => {
            survives::<RequestPermissionResponse>(&said["result"], "permission")
        }
        None => {
            assert_eq!(said.pointer("/error/code"), Some(&json!(-32601)), "{said}");
            "refusal"
        }
    }
}

fn survives<T: DeserializeOwned + Serialize>(said: &Value, what: &'static str) -> &'static str {
    let read: T = serde_json::from_value(said.clone()).unwrap_or_else(|error| {
        panic!("{what}: {error}: {said}");
    });
    let again = serde_json::to_value(&read).unwrap();
    assert!(is_within(said, &again), "{what}: {said} became {again}");
    what
}

/// Whether everything that `part` says, `whole` says as well. What is `false` or empty may be left out.
fn is_within(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, value)| {
            let is_nothing = *value == json!(false) || *value == json!([]) || *value == json!({});
            whole.get(key).map_or(is_nothing, |other| is_within(value, other))
        }),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| is_within(a, b))
        }
        (part, whole) => part == whole,
    }
}

#[test]
fn a_word_that_the_schema_does_not_know_is_found() {
    let good = json!({ "sessionId": "s", "cwd": "/workspace", "mcpServers": [] });
    let misspelt =
        json!({ "sessionId": "s", "cwd": "/workspace", "mcpServers": [], "sesionId": "s" });
    let read: LoadSessionRequest = serde_json::from_value(misspelt.clone()).unwrap();
    let again = serde_json::to_value(&read).unwrap();
    assert!(is_within(&good, &again) && !is_within(&misspelt, &again), "{again}");
}
