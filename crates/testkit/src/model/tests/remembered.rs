//! What is left of a request: enough for evidence, and no secret.

use super::*;
use crate::model::{Usage, key_hash};

#[test]
fn every_request_is_remembered_without_its_secrets() {
    let model = Model::new();
    let prompt = format!("{} play: usage 5 6 7 ;; play: write a b ;;", "x".repeat(500));
    let mut asked = request(Wire::Anthropic, How::Streamed, &[Line::User(&prompt)]);
    asked.headers.push(("x-api-key".into(), "sk-very-secret".into()));
    model.answer(&asked);
    let all = model.requests();
    let seen = &all[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(seen.headers, ["content-type", "x-api-key"]);
    assert_eq!(seen.key, Some(key_hash("sk-very-secret")));
    assert_ne!(seen.key, Some(key_hash("sk-other")));
    assert_eq!((seen.wire, seen.model.as_str()), (Some("anthropic-messages"), "m"));
    assert_eq!(seen.tools, ["write", "bash"]);
    assert_eq!(seen.prompt.len(), 400);
    assert!(seen.prompt.ends_with("play: write a b ;;"));
    assert_eq!((seen.step.as_deref(), seen.what.as_str()), (Some("1/2"), "calls write"));
    assert_eq!(
        (seen.status, seen.told),
        (Some(200), Some(Usage { input: 5, cached: 7, output: 6 }))
    );
    assert!(!serde_json::to_string(seen).unwrap().contains("secret"));
}

#[test]
fn a_key_is_found_wherever_it_is_shown() {
    let places: [(&str, &[(&str, &str)]); 5] = [
        ("/v1/messages", &[("x-api-key", "k")]),
        ("/v1/messages", &[("authorization", "Bearer k")]),
        ("/v1/messages", &[("x-goog-api-key", "k")]),
        ("/v1beta/models/m:generateContent?key=k", &[]),
        ("/v1/messages", &[("api-key", "k")]),
    ];
    let model = Model::new();
    model.require_key("k");
    for (target, headers) in places {
        let mut asked = request(Wire::Anthropic, How::Whole, &[]);
        asked.target = target.to_owned();
        asked.headers.extend(headers.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        assert_eq!(body(&model.answer(&asked)).0, 200, "{target} {headers:?}");
    }
    let asked = request(Wire::Anthropic, How::Whole, &[]);
    assert_eq!(body(&model.answer(&asked)).0, 401);
    assert_eq!(model.requests().last().unwrap().key, None);
}

#[test]
fn what_was_used_is_summed_by_model() {
    let model = Model::new();
    for name in ["a", "b", "a"] {
        let mut asked = request(
            Wire::Chat,
            How::Streamed,
            &[Line::User("play: usage 1 2 3 ;; play: text x ;;")],
        );
        let text = String::from_utf8(asked.body).unwrap();
        asked.body = text.replace("\"model\":\"m\"", &format!("\"model\":\"{name}\"")).into();
        model.answer(&asked);
    }
    let once = Usage { input: 1, cached: 3, output: 2 };
    let twice = Usage { input: 2, cached: 6, output: 4 };
    assert_eq!(model.used(), [("a".to_owned(), twice), ("b".to_owned(), once)].into());
    model.reset();
    assert_eq!((model.used(), model.requests()), ([].into(), Vec::new()));
}

#[test]
fn the_log_has_a_line_for_each_request() {
    let model = Model::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    model.log_to(fs_err::File::create(file.path()).unwrap());
    for wire in ALL {
        model.answer(&request(wire, How::Whole, &[Line::User("play: text x ;;")]));
    }
    let text = fs_err::read_to_string(file.path()).unwrap();
    let wires: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["wire"].clone())
        .collect();
    assert_eq!(wires, ALL.map(Wire::name));
}

#[test]
fn what_was_said_before_and_answered_is_memory_and_housekeeping_is_none() {
    let model = Model::new();
    let remembers = |wire, lines: &[Line<'_>]| {
        model.answer(&request(wire, How::Whole, lines));
        model.requests().pop().unwrap().remembered
    };
    for wire in ALL {
        let fresh = [
            Line::User("# AGENTS.md instructions for /repo"),
            Line::User("<environment_context>"),
            Line::User("And now?"),
            Line::Called,
            Line::User("<system-reminder>Be good."),
        ];
        assert_eq!(remembers(wire, &fresh), Vec::<String>::new());
        let resumed = [
            Line::User("<environment_context>"),
            Line::User("Fix the sum."),
            Line::Called,
            Line::Said("Done."),
            Line::User("Nobody answered this."),
            Line::User("And now?"),
        ];
        assert_eq!(remembers(wire, &resumed), ["Fix the sum."]);
    }
}
