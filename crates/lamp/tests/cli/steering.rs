//! What a person says to a task while it goes on: each command of it on a real server, for people and for programs.

use unsupported::supported;

use crate::fixture::{Fixture, filters};

/// Asks before it plans, and names a risk when it is told to. `heard` looks at what people said, not at the request.
const TALKS: &str = r#"make the sum right
#plan
heard() { python3 -c 'import json, os, sys; sys.exit(sys.argv[1] not in json.load(open(os.environ["TOLD"]))["guidance"])' "$1"; }
heard 'the second one' || answer '{"question": {"text": "Which of them?", "choices": ["the first one", "the second one"]}}'
if heard 'name the risk'; then sed -i 's/"risks": \[\]/"risks": ["sums of others change"]/' "$LAMP_ANSWER"; fi
"#;

#[test]
fn a_question_is_answered_and_a_plan_is_sent_back_from_the_command_line() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let task = fixture.planned(TALKS);
    assert_eq!(fixture.json(&["get", &task])["question"]["text"], "Which of them?");
    insta::assert_snapshot!(fixture.story(&[
        &["answer", &task],
        &["reject", &task, "too early"],
        &["answer", &task, "2"],
    ]));
    let first = fixture.wait(&task, "awaiting approval")["plan_waiting"].clone();
    insta::assert_snapshot!(fixture.story(&[
        &["answer", &task, "1"],
        &["reject", &task],
        &["reject", &task, "name the risk"],
    ]));
    let second = fixture.until("another plan", || {
        let waiting = fixture.json(&["get", &task])["plan_waiting"].clone();
        (waiting.is_string() && waiting != first).then_some(waiting)
    });
    insta::assert_snapshot!(
        fixture.story(&[&["plan", &task], &["message", &task, "take your time"]])
    );
    let plan = fixture.json(&["plan", &task]);
    assert_eq!(
        (&plan["plan"]["risks"][0], &plan["earlier"]),
        (&"sums of others change".into(), &1.into())
    );
    // The plan that was sent back cannot be approved any more.
    let late = fixture.lamp(&["approve", &task, first.as_str().unwrap()]);
    assert_eq!(late.code(), Some(1), "{}", late.story());
    assert_eq!(
        fixture.json(&["approve", &task, second.as_str().unwrap()])["plan_approved"],
        second
    );
    fixture.wait(&task, "pull request open");

    let context = fixture.fine(&["get", &task, "--context"]);
    assert!(context.starts_with("What its agent was told at "), "{context}");
    let context = fixture.json(&["get", &task, "--context"]);
    let told = context["texts"].to_string();
    for words in ["the second one", "name the risk", "take your time"] {
        assert!(told.contains(words), "`{words}` in {told}");
    }
}

/// Works until it was told that it may go. The words stand in two pieces, so that the request itself does not say them.
const WAITS: &str = r#"make the sum right
#implement
if ! grep -q 'you may'' go' "$TOLD"; then mkfifo ~/never; echo at $((1 + 1)) work; read -r _ < ~/never; fi
"#;

#[test]
fn a_task_is_paused_in_the_middle_of_its_work_told_something_and_resumed() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let task = fixture.planned(WAITS);
    let early = fixture.lamp(&["resume", &task]);
    assert_eq!(early.code(), Some(1), "{}", early.story());
    fixture.approve(&task);
    fixture.heard(&task, "at 2 work");
    insta::assert_snapshot!(fixture.story(&[&["pause", &task], &["pause", &task]]));
    assert_eq!(fixture.json(&["get", &task])["state"], "paused");
    let listed = fixture.json(&["list", "--state", "paused"]);
    assert_eq!(listed["tasks"][0]["id"], task.as_str());
    assert_eq!(fixture.json(&["list", "--state", "failed"])["tasks"].as_array().unwrap().len(), 0);
    assert_eq!(fixture.json(&["message", &task, "you may go"])["state"], "paused");
    insta::assert_snapshot!(fixture.story(&[&["resume", &task]]));
    fixture.wait(&task, "pull request open");
    let log = fixture.fine(&["log", &task]);
    for kind in ["paused", "messaged", "resumed"] {
        assert!(log.contains(&format!("  {kind} ")), "`{kind}` in {log}");
    }
}

#[test]
fn whoever_watches_is_told_by_the_exit_code_that_somebody_paused_the_task() {
    let fixture = supported!(Fixture::build());
    let request = "make the sum right\n#research\nmkfifo ~/never; echo at $((1 + 1)) work; read -r _ < ~/never\n";
    let mut run = fixture.command(&["run", request, "--agent", "actor", "--watch"]);
    let mut run = run.stdout(std::process::Stdio::null()).spawn().unwrap();
    let task = fixture.until("the task is begun", || {
        let tasks = fixture.json(&["list"])["tasks"].as_array().unwrap().clone();
        Some(tasks.first()?["id"].as_str().unwrap().to_owned())
    });
    fixture.heard(&task, "at 2 work");
    assert_eq!(fixture.json(&["pause", &task])["state"], "paused");
    assert_eq!(run.wait().unwrap().code(), Some(4));
    fixture.fine(&["cancel", &task]);
}

#[test]
fn work_beside_the_conditions_waits_for_others_and_then_goes_on() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let task = fixture.planned("make the sum right");
    let hash = fixture.json(&["get", &task])["plan_waiting"].as_str().unwrap().to_owned();
    fixture.fine(&["approve", &task, &hash, "--path", "docs"]);
    fixture
        .until("the drift", || (fixture.json(&["get", &task])["state"] == "paused").then_some(()));
    assert_eq!(fixture.json(&["get", &task])["failure"]["kind"], "plan_drift");
    insta::assert_snapshot!(fixture.story(&[
        &["amend", &task],
        &["amend", &task, "--none", "--path", "calc.py"],
        &["amend", &task, "--path", "calc.py", "--budget", "2", "--time", "30m"],
    ]));
    fixture.wait(&task, "pull request open");
    let early = fixture.planned("make the sum right");
    let refused = fixture.lamp(&["amend", &early, "--none", "--json"]);
    assert_eq!(refused.code(), Some(1), "{}", refused.story());
}

#[test]
fn a_task_that_failed_is_retried_from_a_phase() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let request = "make the sum right\n#research\ntest -f ready || { echo out of $((1 + 1)) ideas >&2; exit 7; }\n";
    let run = fixture.lamp(&["run", request, "--agent", "actor"]);
    assert_eq!(run.code(), Some(1), "{}", run.story());
    let failed = fixture.json(&["get", "last"]);
    assert_eq!(
        (&failed["state"], &failed["failure"]["kind"]),
        (&"failed".into(), &"agent_error".into())
    );
    assert!(failed["failure"]["last_lines"].to_string().contains("out of 2 ideas"), "{failed:#}");
    let task = failed["id"].as_str().unwrap().to_owned();
    assert_eq!(fixture.lamp(&["retry", &task, "--from", "dinner"]).code(), Some(2));
    insta::assert_snapshot!(fixture.story(&[&["retry", &task, "--from", "deliver"]]));

    fixture.commit("ready", "");
    insta::assert_snapshot!(fixture.story(&[&["retry", &task, "--from", "research"]]));
    fixture.wait(&task, "awaiting approval");
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
    let late = fixture.lamp(&["retry", &task, "--json"]);
    assert_eq!(late.code(), Some(1), "{}", late.story());
}
