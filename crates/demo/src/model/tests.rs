//! The script, played by a stand-in of the built-in agent on the sample repository itself.

use std::{path::Path, process::Command};

use agents::answer;
use contracts::agent::{Answer, Mode};
use serde_json::{Value, json};

use super::*;
use crate::sample;

/// What the agent says first in a mode.
fn prompt(mode: Mode, request: &str) -> Value {
    let text =
        format!("# Phase: {}\n\nSomeone asks for this:\n\n```\n{request}\n```\n", mode.name());
    json!({ "role": "user", "content": text })
}

/// What the model answers, put together as the agent does it.
async fn ask(messages: &[Value]) -> (String, Option<(String, Value)>) {
    let chat = json!({ "model": NAME, "messages": messages, "stream": true });
    let response = answer(Bytes::from(chat.to_string())).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
    let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    let mut events: Vec<&str> =
        body.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
    assert_eq!(events.pop(), Some("[DONE]"));
    let events: Vec<Value> =
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    let word = |event: &Value, path: &str| {
        event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let text = events.iter().map(|it| word(it, "/choices/0/delta/content")).collect();
    let call = events.iter().find_map(|event| {
        let function = event.pointer("/choices/0/delta/tool_calls/0/function")?;
        let arguments = serde_json::from_str(function["arguments"].as_str()?).ok()?;
        Some((function["name"].as_str()?.to_owned(), arguments))
    });
    (text, call)
}

/// Does what a tool of the built-in agent does.
fn use_tool(tree: &Path, name: &str, arguments: &Value) -> String {
    let word = |key: &str| arguments[key].as_str().unwrap_or_default();
    match name {
        "edit" => {
            let path = tree.join(word("path"));
            let text = std::fs::read_to_string(&path).unwrap();
            if text.matches(word("old")).count() != 1 {
                return "`old` does not stand there".to_owned();
            }
            std::fs::write(path, text.replace(word("old"), word("new"))).unwrap();
            "Changed".to_owned()
        }
        "shell" => {
            let command = ["-c", word("command")];
            let said = Command::new("sh").args(command).current_dir(tree).output().unwrap();
            let printed = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
            format!("exit code {}\n{printed}", said.status.code().unwrap())
        }
        "read" | "search" => "as it is".to_owned(),
        other => panic!("the built-in agent has no `{other}`"),
    }
}

/// Plays a phase to its end; what was done in it, a line each, and the answer.
async fn play(tree: &Path, mode: Mode, request: &str) -> (String, Answer) {
    let mut messages = vec![json!({ "role": "system", "content": "# Phase: review" })];
    messages.push(prompt(mode, request));
    let mut done = String::new();
    loop {
        let (text, call) = ask(&messages).await;
        let Some((name, arguments)) = call else {
            return (done, answer::read(mode, &text).unwrap());
        };
        let result = use_tool(tree, &name, &arguments);
        let what = arguments.get("command").or_else(|| arguments.get("path"));
        let what = what.and_then(Value::as_str).unwrap_or_default();
        let first = result.lines().next().unwrap_or_default();
        done.push_str(&[&name, " ", what, ": ", first, "\n"].concat());
        messages.push(json!({ "role": "assistant", "content": text }));
        messages.push(json!({ "role": "tool", "content": result }));
        assert!(messages.len() < 60, "{done}");
    }
}

fn repository() -> (tempfile::TempDir, std::path::PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("lamps");
    sample::make(&tree).unwrap();
    (home, tree)
}

#[tokio::test]
async fn the_answers_find_plan_mend_and_review_the_fault() {
    let (_home, tree) = repository();
    let (looked, notes) = play(&tree, Mode::Research, sample::REQUEST).await;
    assert!(matches!(notes, Answer::Notes(_)), "{notes:?}");
    let (thought, plan) = play(&tree, Mode::Plan, sample::REQUEST).await;
    assert!(matches!(plan, Answer::Plan(_)), "{plan:?}");
    let (worked, change) = play(&tree, Mode::Implement, sample::REQUEST).await;
    assert!(matches!(change, Answer::Change), "{change:?}");
    let (judged, review) = play(tree.parent().unwrap(), Mode::Review, sample::REQUEST).await;
    insta::assert_snapshot!([looked, thought, worked, judged].join("\n"), @r#"
    read .: as it is
    read lamps.py: as it is
    read test_lamps.py: as it is
    shell make test: exit code 2

    read lamps.py: as it is
    search : as it is

    read lamps.py: as it is
    edit lamps.py: Changed
    shell make test: exit code 2
    edit lamps.py: Changed
    edit test_lamps.py: Changed
    shell make test: exit code 0

    shell cd lamps && git show HEAD: exit code 0
    shell cd lamps && python3 -B -c 'from lamps import burning_time as t; print(t("22:00", "06:00"), t("17:00", "22:00"), t("18:00", "00:00"))': exit code 0
    "#);
    assert_eq!(review, Answer::Review(Vec::new()));
    let tested = use_tool(&tree, "shell", &json!({ "command": "make test" }));
    assert!(tested.contains("Ran 3 tests") && tested.contains("OK"), "{tested}");
}

#[tokio::test]
async fn the_reviewer_finds_the_fault_where_nobody_mended_it() {
    let (_home, tree) = repository();
    let (_, review) = play(tree.parent().unwrap(), Mode::Review, sample::REQUEST).await;
    let text = format!("{review:?}");
    assert!(text.contains("lamps.py") && text.contains("are not counted right"), "{text}");
}

#[tokio::test]
async fn what_the_answers_do_not_tell_of_ends_in_a_question() {
    let (_home, tree) = repository();
    // Nobody reviews what was never begun, and a reviewer asks nobody.
    for mode in [Mode::Research, Mode::Plan, Mode::Implement] {
        let (done, question) = play(&tree, mode, "make it purple").await;
        assert_eq!(done, "", "{mode:?}");
        assert!(matches!(question, Answer::Question { .. }), "{mode:?}: {question:?}");
    }
    let again = format!("{}\n```\n\n## What was found in your work so far\n\n", sample::REQUEST);
    let (_, question) = play(&tree, Mode::Implement, &again).await;
    assert!(matches!(question, Answer::Question { .. }), "{question:?}");
}

#[tokio::test]
async fn an_answer_that_could_not_be_used_is_said_again_without_the_work() {
    let begun = prompt(Mode::Plan, sample::REQUEST);
    let repair = json!({ "role": "user", "content": "# Repair: plan\n\nSay it again." });
    let (text, call) = ask(&[begun, repair]).await;
    assert_eq!(call, None);
    assert!(matches!(answer::read(Mode::Plan, &text).unwrap(), Answer::Plan(_)));
}

#[tokio::test]
async fn failing_tests_are_not_told_as_passing() {
    let mut messages = vec![prompt(Mode::Implement, sample::REQUEST)];
    let text = loop {
        let (text, call) = ask(&messages).await;
        if call.is_none() {
            break text;
        }
        messages.push(json!({ "role": "assistant", "content": null }));
        messages.push(json!({ "role": "tool", "content": "exit code 2\nno such thing" }));
    };
    assert!(text.contains("does not pass"), "{text}");
}

#[tokio::test]
async fn what_is_no_streamed_chat_is_refused() {
    for body in
        ["", "{}", "[]", r#"{"messages":[]}"#, r#"{"messages":[{"role":"king"}],"stream":true}"#]
    {
        let response = answer(Bytes::from(body)).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
    }
}
