//! `lamp run` on a terminal: a task is watched, asked about and left with the keys that a person presses.

use std::process::Child;

use unsupported::supported;

use crate::fixture::{Fixture, Terminal, filters, screen};

/// Where a person is asked about a plan.
const GATE: &str = "[q]uit: ";

/// A person at a terminal who has typed `lamp run`.
fn run(fixture: &Fixture, request: &str) -> (Terminal, Child) {
    let terminal = Terminal::open();
    let run = terminal.start(&fixture.command(&["run", request, "--agent", "actor"]));
    (terminal, run)
}

#[test]
fn a_plan_is_read_looked_at_closer_and_approved_on_the_terminal() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let request =
        "make the sum right\n#plan\nmkfifo ~/go; echo at $((1 + 1)) work; read -r _ < ~/go\n";
    let (mut terminal, mut run) = run(&fixture, request);
    // What is typed before a plan is shown is no answer to it.
    let mut shown = terminal.shows("at 2 work");
    terminal.typed("a\r");
    fixture.fine(&["shell", "last", "--", "sh", "-c", "echo > ~/go"]);
    // It is echoed somewhere among the frames of the status, so what is shown meanwhile is left out.
    terminal.shows("✓ plan");
    shown.push_str("\n✓ plan");
    for key in ["d\r", "x\r", "a\r"] {
        shown.push_str(&terminal.shows(GATE));
        assert_eq!(fixture.json(&["get", "last"])["state"], "awaiting approval");
        terminal.typed(key);
    }
    shown.push_str(&terminal.ends());
    assert_eq!(run.wait().unwrap().code(), Some(6), "{shown}");
    let task = fixture.json(&["get", "last"]);
    assert_eq!(
        (&task["state"], &task["pull_request"]),
        (&"pull request open".into(), &1.into()),
        "{task:#}"
    );
    insta::assert_snapshot!(fixture.without_world(&screen(&shown)));
}

/// Asks before it plans, and names a risk when it is told to.
const TALKS: &str = r#"make the sum right
#plan
heard() { python3 -c 'import json, os, sys; sys.exit(sys.argv[1] not in json.load(open(os.environ["TOLD"]))["guidance"])' "$1"; }
heard 'the second one' || answer '{"question": {"text": "Which of them?", "choices": ["the first one", "the second one"]}}'
if heard 'name the risk'; then sed -i 's/"risks": \[\]/"risks": ["sums of others change"]/' "$LAMP_ANSWER"; fi
"#;

#[test]
fn a_question_is_answered_a_plan_is_sent_back_and_the_next_one_is_left_for_later() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let (mut terminal, mut run) = run(&fixture, TALKS);
    let answer = "(`q` leaves it for later): ";
    let mut shown = terminal.shows(answer);
    terminal.typed("\r");
    shown.push_str(&terminal.shows(answer));
    terminal.typed("2\r");
    shown.push_str(&terminal.shows(GATE));
    let first = fixture.json(&["get", "last"])["plan_waiting"].clone();
    for words in ["", "name the risk"] {
        terminal.typed("r\r");
        shown.push_str(&terminal.shows("goes back) "));
        terminal.typed(&format!("{words}\r"));
        shown.push_str(&terminal.shows(GATE));
    }
    terminal.typed("q\r");
    shown.push_str(&terminal.ends());
    assert_eq!(run.wait().unwrap().code(), Some(3), "{shown}");
    insta::assert_snapshot!(fixture.without_world(&screen(&shown)));

    // It still waits, for the second plan, and goes on when somebody says yes to it.
    let task = fixture.json(&["get", "last"]);
    assert_eq!(task["state"], "awaiting approval");
    assert_ne!(task["plan_waiting"], first);
    let task = task["id"].as_str().unwrap().to_owned();
    assert_eq!(fixture.json(&["plan", &task])["plan"]["risks"][0], "sums of others change");
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
}

#[test]
fn whoever_leaves_with_ctrl_c_leaves_the_task_to_go_on() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let request =
        "make the sum right\n#implement\nmkfifo ~/go; echo at $((1 + 1)) work; read -r _ < ~/go\n";

    // At the gate it decides nothing, and the task waits.
    let (mut terminal, mut first) = run(&fixture, request);
    terminal.shows(GATE);
    terminal.typed("\u{3}");
    let left = terminal.ends();
    assert_eq!(first.wait().unwrap().code(), Some(3), "{left}");
    assert_eq!(fixture.json(&["get", "last"])["state"], "awaiting approval");
    fixture.fine(&["cancel", "last"]);

    // At work it stops the watching, and nothing else.
    let (mut terminal, mut second) = run(&fixture, request);
    terminal.shows(GATE);
    terminal.typed("a\r");
    terminal.shows("at 2 work");
    terminal.typed("\u{3}");
    let left = terminal.ends();
    assert_eq!(second.wait().unwrap().code(), Some(130), "{left}");
    let words = left.find("You left").unwrap_or_else(|| panic!("{left}"));
    insta::assert_snapshot!(screen(&left[words..]));
    let task = fixture.json(&["get", "last"]);
    assert_eq!(task["state"], "implementing");
    let task = task["id"].as_str().unwrap();
    fixture.fine(&["shell", task, "--", "sh", "-c", "echo > ~/go"]);
    fixture.wait(task, "pull request open");
}
