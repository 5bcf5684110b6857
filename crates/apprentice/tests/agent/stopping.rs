//! Cancel, time, and the end: what was started is ended with it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    fixture::{Agent, Fixture, wait_until},
    model::{Play, call, calls, shell, text},
};

/// What "at once" means.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Children in the same group, in another session, and without a parent; each writes its number.
const FAMILY: &str = "sleep 601 & echo $! > one; setsid sleep 602 & echo $! > two; \
    (setsid sh -c 'echo $$ > three; exec sleep 603' &) ; while [ ! -s three ]; do sleep 0.01; done; echo begun > begun; sleep 604";

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn family(fixture: &Fixture) -> Vec<String> {
    wait_until("the family", || fixture.tree().join("begun").exists());
    let pids: Vec<String> = ["one", "two", "three"].iter().map(|name| fixture.read(name)).collect();
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    pids
}

fn cancelled(agent: &mut Agent, prompt: u64) -> crate::fixture::Turn {
    let begun = Instant::now();
    agent.cancel();
    let turn = agent.listen(prompt);
    assert_eq!(turn.reason(), "cancelled");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    turn
}

#[test]
fn cancel_ends_waiting_for_the_model() {
    let fixture = Fixture::new(vec![Play::Hang, text("Here.")]);
    let mut agent = fixture.begin();
    let prompt = agent.ask("Hello?");
    wait_until("the question", || fixture.model.asked().len() == 1);
    cancelled(&mut agent, prompt);
    assert_eq!(agent.prompt("Again?").text(), "Here.");
}

#[test]
fn cancel_ends_waiting_for_better_times() {
    let later = Play::Status(429, "retry-after: 50\r\n", json!({}));
    let fixture = Fixture::new(vec![later, text("Here.")]);
    let mut agent = fixture.begin();
    let prompt = agent.ask("Hello?");
    wait_until("the question", || fixture.model.asked().len() == 1);
    cancelled(&mut agent, prompt);
    assert_eq!(agent.prompt("Again?").text(), "Here.");
}

#[test]
fn cancel_ends_a_command_with_all_that_it_started() {
    let shell = ("shell", json!({ "command": FAMILY }));
    let never = ("shell", json!({ "command": "touch never" }));
    let fixture = Fixture::new(vec![calls(vec![shell, never]), text("I see.")]);
    let mut agent = fixture.begin();
    let prompt = agent.ask("Go.");
    let pids = family(&fixture);
    let turn = cancelled(&mut agent, prompt);
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
    assert_eq!(turn.results(), [("failed".to_owned(), "cancelled".to_owned())]);
    // Each call has a result, and the session goes on.
    assert_eq!(agent.prompt("What happened?").text(), "I see.");
    assert!(!fixture.tree().join("never").exists());
    let results = fixture.model.asked()[1].body["messages"][2]["content"].clone();
    assert_eq!(results[0]["content"], "this was interrupted");
    assert_eq!(results[1]["content"], "this was not run any more");
    assert_eq!(results[2]["text"], "What happened?");
}

#[test]
fn the_end_of_input_ends_everything() {
    let fixture = Fixture::new(vec![shell(FAMILY)]);
    let mut agent = fixture.begin();
    agent.ask("Go.");
    let pids = family(&fixture);
    let begun = Instant::now();
    assert!(agent.end().success());
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    wait_until("their end", || !pids.iter().any(|pid| is_alive(pid)));

    let fixture = Fixture::new(vec![Play::Hang]);
    let mut agent = fixture.begin();
    agent.ask("Go.");
    wait_until("the question", || fixture.model.asked().len() == 1);
    assert!(agent.end().success());
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_all_that_it_started() {
    let slow =
        call("shell", json!({ "command": format!("echo first; {FAMILY}"), "timeout_seconds": 2 }));
    let fixture = Fixture::new(vec![slow, text("I see.")]);
    let mut agent = fixture.begin();
    let prompt = agent.ask("Go.");
    let pids = family(&fixture);
    let turn = agent.listen(prompt);
    assert_eq!(turn.text(), "I see.");
    let (status, told) = &turn.results()[0];
    assert_eq!(status, "failed");
    assert!(told.starts_with("It was killed after 2 seconds"), "{told}");
    assert!(told.ends_with("first\n"), "{told}");
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
}

#[test]
fn who_holds_the_pipe_in_the_background_is_not_waited_for() {
    let fixture =
        Fixture::new(vec![shell("sleep 605 & echo $! > one; echo started"), text("Good.")]);
    let mut agent = fixture.begin();
    let begun = Instant::now();
    let turn = agent.prompt("Start it.");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(turn.results()[0].1, "exit code 0\nstarted\n");
    let pid = fixture.read("one");
    assert!(is_alive(&pid), "what was started on purpose keeps running");
    agent.end();
    wait_until("its end", || !is_alive(&pid));
}

#[test]
fn commands_have_no_input_and_signals_are_told() {
    let fixture = Fixture::new(vec![
        shell("cat; echo end of input"),
        shell("kill -9 $$"),
        shell("printf '\\377\\376 not text'"),
        shell("exec 1>&- 2>&-; sleep 0.2; exit 4"),
        shell("true"),
        text("Done."),
    ]);
    let turn = fixture.begin().prompt("Go.");
    let texts: Vec<String> = turn.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        texts,
        [
            "exit code 0\nend of input\n",
            "exit code 137\n[it printed nothing]",
            "exit code 0\n\u{fffd}\u{fffd} not text",
            "exit code 4\n[it printed nothing]",
            "exit code 0\n[it printed nothing]",
        ]
    );
    assert_eq!(turn.of("tool_call_update")[1]["rawOutput"]["exitCode"], 137);
}

#[test]
fn who_prints_without_end_is_cut_and_killed() {
    let fixture = Fixture::new(vec![
        call(
            "shell",
            json!({ "command": "yes | head -c 2000000000 & yes", "timeout_seconds": 60 }),
        ),
        text("Done."),
    ]);
    let turn = fixture.begin().prompt("Go.");
    assert_eq!(turn.reason(), "end_turn");
    let (status, text) = &turn.results()[0];
    assert_eq!(status, "failed");
    assert!(text.starts_with("It was killed because it printed more than"), "{text:.100}");
    assert!(text.len() < 40_000);
}

#[test]
fn a_second_prompt_waits_for_nobody_but_is_refused() {
    let fixture = Fixture::new(vec![Play::Hang, text("Here.")]);
    let mut agent = fixture.begin();
    let first = agent.ask("One.");
    wait_until("the question", || fixture.model.asked().len() == 1);
    let session = agent.session.clone();
    let second = agent.ask("Two.");
    let line = agent.next_line();
    assert_eq!((&line["id"], &line["error"]["code"]), (&json!(second), &json!(-32600)));
    let loaded = agent.take_up("session/load", &session, &fixture.tree());
    assert_eq!(loaded.failure()["code"], -32600);
    cancelled(&mut agent, first);
    assert_eq!(agent.prompt("Three.").text(), "Here.");
}

#[test]
fn nobody_waits_for_dead_children_of_ours() {
    // Orphans that end become ours, and are buried.
    let fixture = Fixture::new(vec![
        shell("(setsid sh -c 'exit 0' &); (setsid sh -c 'exit 0' &); sleep 0.3"),
        shell("sleep 0.1"),
        shell("sleep 0.1"),
        text("Done."),
    ]);
    let mut agent = fixture.begin();
    assert_eq!(agent.prompt("Go.").reason(), "end_turn");
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", agent.pid()));
    assert_eq!(children.unwrap().trim(), "");
}
