//! `lamp shell TASK`: a look into the computer of a task's agent, on a terminal and without one.

use unsupported::supported;

use crate::fixture::{Fixture, Terminal, filters};

/// Waits in the middle of its work until somebody has put a file there.
const WAITS: &str =
    "make the sum right\n#implement\nmkfifo ~/go; echo at $((1 + 1)) work; read -r _ < ~/go\n";

#[test]
fn a_person_looks_into_the_sandbox_of_a_task_at_work_and_helps() {
    let fixture = supported!(Fixture::build());
    let task = fixture.planned(WAITS);
    fixture.approve(&task);
    fixture.heard(&task, "at 2 work");

    let mut terminal = Terminal::open();
    let mut shell = fixture.command(&["shell", &task]);
    shell.env("TERM", "xterm").stdin(terminal.end()).stdout(terminal.end()).stderr(terminal.end());
    let mut shell = shell.spawn().unwrap();
    // The sum is written by the shell, so that what is typed is not taken for what is shown.
    terminal.typed("echo $TERM $((40 + 2)); git --no-pager diff --shortstat; echo > ~/go\r");
    let shown = terminal.shows("1 insertion(+), 1 deletion(-)");
    assert!(shown.contains("xterm 42"), "{shown}");
    terminal.typed("exit 7\r");
    terminal.shows("exit");
    assert_eq!(shell.wait().unwrap().code(), Some(7), "we end as the shell does");

    // What the person did was seen by the agent, which goes on.
    fixture.wait(&task, "pull request open");
}

#[test]
fn a_sandbox_that_rests_wakes_for_a_command_and_the_task_goes_on_after_it() {
    let fixture = supported!(Fixture::build());
    let task = fixture.planned("make the sum right");
    let sandbox = fixture.json(&["get", &task])["sandbox"].as_str().unwrap().to_owned();
    let is = |state: &str| fixture.json(&["sandbox", "get", &sandbox])["state"] == state;
    fixture.until("it rests", || is("resting").then_some(()));

    // Without a terminal a command is run, and its streams and its end are ours.
    let status = fixture.fine(&["shell", &task, "--", "git", "status", "--short", "--branch"]);
    assert!(status.starts_with("##"), "as the hint says it: {status}");
    let look = "pwd; grep -c return calc.py; echo no >&2; exit 3";
    let looked = fixture.lamp(&["shell", &task, "--", "sh", "-c", look]);
    assert_eq!(
        (looked.code(), looked.out().as_str(), looked.err().as_str()),
        (Some(3), "/workspace/calc\n1\n", "no\n")
    );
    assert!(is("open"));

    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
}

#[test]
fn a_shell_is_refused_where_there_is_none_to_have() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let task = fixture.planned("make the sum right");
    insta::assert_snapshot!(fixture.lamp(&["shell", &task]).story());
    fixture.fine(&["cancel", &task]);
    fixture.until("the sandbox is gone", || {
        fixture.json(&["get", &task])["sandbox"].is_null().then_some(())
    });
    insta::assert_snapshot!(fixture.lamp(&["shell", &task, "--", "true"]).story());
}
