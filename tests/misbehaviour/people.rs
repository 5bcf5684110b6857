//! A person who stops an agent, or is cut off from it: the agent and all that it started are gone within two seconds, seen from outside.

use std::{
    io::{BufRead as _, BufReader},
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    fixture::{Fixture, SERVER, on_stage},
    table::hostile,
};

/// How long an agent that a person stops may go on.
const STOPPED: Duration = Duration::from_secs(2);

/// Runs an agent until it has said this.
fn running(fixture: &Fixture<'_>, sandbox: &str, words: &[&str], until: &str) -> Child {
    let mut child = fixture.agent(sandbox, words).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(until)), "the agent never said `{until}`");
    // What it says later is not read: a person who is cut off reads nothing either.
    child
}

/// Ends the command, and says how long it took until nothing of the agent was left inside.
fn gone_after(fixture: &Fixture<'_>, sandbox: &str, mut child: Child, signal: Signal) -> Duration {
    let before = fixture.inside(sandbox);
    assert!(before.len() > 1, "it has started something: {before:?}");
    let begin = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap();
    loop {
        let left = fixture.inside(sandbox);
        // How long it took to look is no part of it, but cannot be told apart.
        let after = begin.elapsed();
        if left.is_empty() {
            return after;
        }
        assert!(after < STOPPED, "after {after:?} this is left: {left:?}");
    }
}

#[test]
fn an_agent_that_is_stopped_or_cut_off_is_gone_within_two_seconds_with_all_that_it_started() {
    // Nobody else ends it meanwhile.
    let patient = SERVER.replace("silence: 3s", "silence: 10m");
    on_stage(&patient, |fixture| {
        let script = "play: shell (setsid sleep 3000 &) ; echo up ; sleep 3000 ;;";
        fixture.model.on("[tree]", script.parse().unwrap());
        for tier in ["verified", "standard"] {
            fixture.sandbox(tier, &["--tier", tier]);
            for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
                let words = hostile("hidden", &[]);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let acp = running(fixture, tier, &words, "\"ready\"");
                let after = gone_after(fixture, tier, acp, signal);
                println!("{tier}, {signal:?}: a hostile agent was gone after {after:?}");

                let words = ["builtin", "--model", "claude-sonnet-4-5", "The row is [tree]."];
                let builtin = running(fixture, tier, &words, "\"tool_call\"");
                while fixture.inside(tier).iter().filter(|it| it.contains("sleep 3000")).count() < 2
                {
                }
                let after = gone_after(fixture, tier, builtin, signal);
                println!("{tier}, {signal:?}: the built-in agent was gone after {after:?}");
            }
        }
    });
}
