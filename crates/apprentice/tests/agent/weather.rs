//! What goes wrong on the way to the model.

use serde_json::{Value, json};

use crate::{
    fixture::Fixture,
    model::{Language, Play, Say, SayEnd, text},
};

fn status(status: u16, head: &'static str) -> Play {
    Play::Status(status, head, json!({ "error": { "message": "later" } }))
}

const NOW: &str = "retry-after: 0\r\n";

#[test]
fn what_passes_is_tried_again() {
    let plays = vec![
        status(429, NOW),
        status(500, NOW),
        status(503, NOW),
        status(529, NOW),
        text("Here I am."),
    ];
    let fixture = Fixture::new(plays);
    let turn = fixture.begin().prompt("Hello?");
    assert_eq!(turn.text(), "Here I am.");
    assert_eq!(fixture.model.asked().len(), 5);
    assert_eq!(turn.answer.unwrap()["usage"]["totalTokens"], 107);
}

#[test]
fn an_answer_that_is_cut_off_is_asked_for_again_and_said_once() {
    for language in Language::ALL {
        let cut = Play::Say(Say { text: "Half of".to_owned(), end: SayEnd::Cut, ..Say::default() });
        let fixture = Fixture::of(language, vec![cut, text("All of it.")]);
        let turn = fixture.begin().prompt("Hello?");
        assert_eq!(turn.text(), "All of it.", "{language:?}");
        assert_eq!(fixture.model.asked().len(), 2);
    }
}

#[test]
fn an_error_within_an_answer_is_tried_again_or_typed() {
    let overloaded = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n";
    let fixture = Fixture::new(vec![Play::Events(overloaded.to_vec()), text("Here.")]);
    assert_eq!(fixture.begin().prompt("Hello?").text(), "Here.");
    let invalid = b"data: {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"x\"}}\n\n";
    let fixture = Fixture::of(Language::Openai, vec![Play::Events(invalid.to_vec())]);
    assert_eq!(fixture.begin().prompt("Hello?").kind(), "bad_request");
    assert_eq!(fixture.model.asked().len(), 1);
}

#[test]
fn what_stays_is_a_failure_with_a_kind_and_the_session_goes_on() {
    for (code, number, kind, questions) in [
        (400, -32603, "bad_request", 1),
        (401, -32000, "auth", 1),
        (403, -32000, "auth", 1),
        (404, -32603, "bad_request", 1),
        (429, -32603, "rate_limit", 5),
        (502, -32603, "overloaded", 5),
    ] {
        let mut plays = vec![status(code, NOW); questions];
        plays.push(text("Better."));
        let fixture = Fixture::new(plays);
        let mut agent = fixture.begin();
        let turn = agent.prompt("Hello?");
        assert_eq!(turn.failure()["code"], number);
        assert_eq!(turn.failure()["data"], json!({ "kind": kind, "status": code }));
        assert_eq!(fixture.model.asked().len(), questions, "{code}");
        assert_eq!(agent.prompt("And now?").text(), "Better.");
    }
}

#[test]
fn a_server_that_wants_an_hour_is_not_waited_for() {
    let fixture = Fixture::new(vec![status(429, "retry-after: 3600\r\n")]);
    assert_eq!(fixture.begin().prompt("Hello?").kind(), "rate_limit");
    assert_eq!(fixture.model.asked().len(), 1);
}

#[test]
fn a_budget_that_is_used_up_ends_the_turn_at_once() {
    let message = "lamplighter: the budget is used up; raise it with `lamp task budget`";
    let anthropic = json!({ "type": "error", "error": { "type": "billing_error", "message": message, "code": "budget_hit" } });
    let openai = json!({ "error": { "message": message, "type": "insufficient_quota", "param": null, "code": "budget_hit" } });
    let gemini = json!({ "error": { "code": 402, "message": message, "status": "RESOURCE_EXHAUSTED", "details": [{ "reason": "budget_hit" }] } });
    for (language, body) in [
        (Language::Anthropic, anthropic),
        (Language::Openai, openai.clone()),
        (Language::Ollama, openai),
        (Language::Gemini, gemini),
    ] {
        let fixture = Fixture::of(language, vec![Play::Status(402, "", body)]);
        let turn = fixture.begin().prompt("Hello?");
        assert_eq!(turn.failure()["data"], json!({ "kind": "budget", "status": 402 }));
        assert!(turn.failure()["message"].as_str().unwrap().contains(message));
        assert_eq!(fixture.model.asked().len(), 1, "{language:?}");
    }
}

#[test]
fn a_model_that_is_not_there_is_unreachable() {
    // Port 1 of loopback: nobody listens.
    let fixture = Fixture::new(vec![text("never")]).with("LAMP_MODEL_URL", "http://127.0.0.1:1/x");
    let turn = fixture.begin().prompt("Hello?");
    assert_eq!(turn.failure()["data"], json!({ "kind": "unreachable", "status": Value::Null }));
}
