//! What ends a turn, and what keeps it small.

use serde_json::{Value, json};

use crate::{
    fixture::Fixture,
    model::{Language, Play, Say, SayEnd, call, calls, shell, text},
};

#[test]
fn a_turn_has_a_number_of_steps() {
    let fixture = Fixture::new(vec![shell("date +%N")]).with("LAMP_MAX_STEPS", 7);
    let mut agent = fixture.begin();
    assert_eq!(agent.prompt("Go on for ever.").reason(), "max_turn_requests");
    assert_eq!(fixture.model.asked().len(), 7);
    // The next turn has as many again.
    assert_eq!(agent.prompt("More.").reason(), "max_turn_requests");
    assert_eq!(fixture.model.asked().len(), 14);
}

#[test]
fn the_same_failing_call_is_noticed_and_then_ends_the_turn() {
    let fixture = Fixture::new(vec![shell("echo no; exit 3")]);
    let turn = fixture.begin().prompt("Try.");
    assert_eq!(turn.kind(), "stuck");
    assert!(turn.failure()["message"].as_str().unwrap().contains("failed 5 times"));
    let asked = fixture.model.asked();
    assert_eq!(asked.len(), 5);
    let told = |at: usize| asked[at].body.to_string().contains("Do not repeat it");
    assert_eq!((told(2), told(3)), (false, true), "it is told after the third time");
}

#[test]
fn a_call_that_fails_between_others_that_work_is_no_circle() {
    let mut plays = Vec::new();
    for number in 0..8 {
        plays.push(shell("exit 1"));
        plays.push(shell(&format!("echo {number}")));
    }
    plays.push(text("Done."));
    assert_eq!(Fixture::new(plays).begin().prompt("Try.").reason(), "end_turn");
}

#[test]
fn calls_that_cannot_be_understood_are_answered_and_bounded() {
    let wrong = [
        ("shell", json!({})),
        ("shell", json!({ "command": 5 })),
        ("shell", json!({ "command": "echo", "more": true })),
        ("reboot", json!({})),
        ("ask", json!({ "question": " " })),
        ("plan", json!({ "steps": [{ "text": "x", "status": "perhaps" }] })),
        ("read", json!({ "path": "a", "from": -1 })),
    ];
    let mut plays: Vec<Play> = wrong.iter().map(|(name, it)| call(name, it.clone())).collect();
    plays.push(text("I give up."));
    let turn = Fixture::new(plays).begin().prompt("Try.");
    assert_eq!(turn.reason(), "end_turn");
    let results = turn.results();
    assert!(results.iter().all(|(status, _)| status == "failed"), "{results:?}");
    assert!(results[0].1.contains("missing field `command`"), "{results:?}");
    assert!(results[3].1.contains("there are shell, read, edit"), "{results:?}");

    let endless = (0..20).map(|number| call("shell", json!({ "number": number }))).collect();
    let fixture = Fixture::new(endless);
    assert_eq!(fixture.begin().prompt("Try.").kind(), "stuck");
    assert_eq!(fixture.model.asked().len(), 8);
}

#[test]
fn refusals_and_full_answers_end_the_turn_in_every_language() {
    for language in Language::ALL {
        for (end, reason) in [(SayEnd::Refusal, "refusal"), (SayEnd::MaxTokens, "max_tokens")] {
            let calls = vec![("shell".to_owned(), json!({ "command": "touch ran" }))];
            let say = Say { text: "As far as".to_owned(), calls, end, ..Say::default() };
            let fixture = Fixture::of(language, vec![Play::Say(say), text("Again.")]);
            let mut agent = fixture.begin();
            let turn = agent.prompt("Go.");
            assert_eq!(turn.reason(), reason, "{language:?}");
            assert!(!fixture.tree().join("ran").exists(), "a call that may be cut off is not run");
            assert_eq!(turn.text(), "As far as");
            assert_eq!(agent.prompt("Go on.").text(), "Again.");
        }
    }
}

#[test]
fn a_long_conversation_is_summarised_and_goes_on() {
    // About 1400 tokens each, in a window of 12,000.
    let noise = |at: usize| shell(&format!("echo step {at}; head -c 4000 /dev/zero | tr '\\0' x"));
    let plays: Vec<Play> =
        (0..40).map(|at| if at == 39 { text("Done.") } else { noise(at) }).collect();
    let fixture = Fixture::new(plays)
        .with("LAMP_CONTEXT_TOKENS", 12_000)
        .with("LAMP_MAX_OUTPUT_TOKENS", 1000);
    let mut agent = fixture.begin();
    let turn = agent.prompt("The first message, number 4711.");
    assert_eq!(turn.reason(), "end_turn");
    let mut summaries = 0;
    for question in fixture.model.asked() {
        let size = question.body.to_string().len();
        assert!(size < 12_000 * 4, "{size} bytes for a window of 12,000 tokens");
        if question.body.get("tools").is_none() {
            summaries += 1;
            assert!(question.body["system"][0]["text"].as_str().unwrap().contains("summarise"));
            continue;
        }
        let messages = question.body["messages"].as_array().unwrap();
        let first = messages[0]["content"][0]["text"].as_str().unwrap();
        assert_eq!(first, "The first message, number 4711.");
        assert_pairs_are_whole(messages);
    }
    assert!(summaries >= 2, "{summaries}");
    // After a restart, the shorter conversation is what is remembered.
    let session = agent.session.clone();
    agent.kill();
    let mut agent = fixture.start();
    agent.introduce();
    let loaded = agent.take_up("session/load", &session, &fixture.tree());
    assert!(loaded.of("tool_call").len() > 30, "people see all of it");
    agent.prompt("And?");
    let last = fixture.model.asked().last().unwrap().body.to_string();
    assert!(last.contains("number 4711") && last.len() < 12_000 * 4);
}

fn assert_pairs_are_whole(messages: &[Value]) {
    let ids = |message: &Value, kind: &str, key: &str| -> Vec<Value> {
        let parts = message["content"].as_array().unwrap().iter();
        parts.filter(|part| part["type"] == kind).map(|part| part[key].clone()).collect()
    };
    for pair in messages.windows(2) {
        let called = ids(&pair[0], "tool_use", "id");
        let answered = ids(&pair[1], "tool_result", "tool_use_id");
        assert_eq!(called, answered);
    }
    assert!(ids(&messages[0], "tool_result", "tool_use_id").is_empty());
}

#[test]
fn when_nobody_can_summarise_the_older_part_is_dropped_with_a_note() {
    let refused = || Play::Status(400, "", json!({ "error": { "message": "no" } }));
    let too_long = Play::Status(
        400,
        "",
        json!({ "error": { "message": "prompt is too long: 9 tokens > 8 maximum" } }),
    );
    let noise = || shell("head -c 20000 /dev/zero | tr '\\0' x");
    let plays = vec![noise(), noise(), noise(), noise(), too_long, refused(), text("I go on.")];
    let fixture = Fixture::new(plays)
        .with("LAMP_CONTEXT_TOKENS", 60_000)
        .with("LAMP_MAX_OUTPUT_TOKENS", 1000);
    let turn = fixture.begin().prompt("Go.");
    assert_eq!(turn.text(), "I go on.");
    let last = fixture.model.asked().last().unwrap().body["messages"].clone();
    assert_eq!(last[0]["content"][0]["text"], "Go.");
    let note = last[0]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("were dropped without a summary"), "{note}");
    assert_pairs_are_whole(last.as_array().unwrap());
}

#[test]
fn a_model_that_always_says_too_long_ends_the_turn() {
    let too_long = Play::Status(413, "", json!({ "error": { "message": "too long" } }));
    let turn = Fixture::new(vec![too_long]).begin().prompt("Go.");
    assert_eq!(turn.kind(), "bad_request");
    assert_eq!(turn.failure()["data"]["status"], 413);
}

#[test]
fn what_goes_back_to_the_model_is_cut() {
    let big = ("shell", json!({ "command": "seq 1 200000" }));
    let many = calls(vec![big.clone(), big.clone(), big.clone(), big]);
    let fixture = Fixture::new(vec![many, text("Done.")]);
    let turn = fixture.begin().prompt("Go.");
    assert_eq!(turn.reason(), "end_turn");
    for (_, text) in turn.results() {
        assert!(text.len() < 33_000, "{}", text.len());
        assert!(text.starts_with("exit code 0\n1\n2\n") && text.ends_with("200000\n"));
        assert!(text.contains("bytes left out"));
    }
    assert!(fixture.model.asked()[1].body.to_string().len() < 130_000);
}

#[test]
fn a_prompt_that_does_not_fit_is_refused_with_the_remedy() {
    let fixture = Fixture::new(vec![text("never")]).with("LAMP_CONTEXT_TOKENS", 8000);
    let mut agent = fixture.begin();
    let turn = agent.prompt(&"x".repeat(100_000));
    assert_eq!(turn.failure()["code"], -32602);
    assert!(turn.failure()["message"].as_str().unwrap().contains("LAMP_CONTEXT_TOKENS"));
    assert!(fixture.model.asked().is_empty());
}

#[test]
fn a_long_text_is_told_in_pieces_of_one_message() {
    let long = "ä".repeat(30_000);
    let say = |text: &str, command: &str| {
        let calls = vec![("shell".to_owned(), json!({ "command": command }))];
        Play::Say(Say { text: text.to_owned(), calls, ..Say::default() })
    };
    let turn = Fixture::new(vec![say(&long, "true"), text("Done.")]).begin().prompt("Talk.");
    assert_eq!(turn.text(), format!("{long}Done."));
    let chunks = turn.of("agent_message_chunk");
    let ids: Vec<&str> = chunks.iter().map(|it| it["messageId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 5);
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] != ids[0], "{ids:?}");
}
