//! More than anybody wants to hear, and a fork bomb. The server answers others meanwhile, and does not grow.

use super::{
    fixture::{SERVER, on_stage},
    table::{Row, command, hostile, play, play_in},
    watch::watched,
};

#[test]
fn a_flood_ends_at_its_limit_and_nobody_else_notices() {
    on_stage(SERVER, |fixture| {
        let rows = vec![
            Row {
                name: "one line of 1 GiB",
                words: hostile("one_line", &[]),
                ending: "agent_stopped",
                message: "it said a line of more than 8 MiB",
                ..Row::default()
            },
            Row {
                name: "many lines, 1 GiB",
                words: hostile("many_lines", &[]),
                ending: "agent_stopped",
                message: "it said more than 24 MiB",
                ..Row::default()
            },
            Row {
                name: "errors without end",
                words: hostile("errors", &[]),
                ending: "agent_stopped",
                message: "it said more than 24 MiB",
                lines: "complaint after complaint",
                ..Row::default()
            },
            Row {
                name: "messages of 1 GiB",
                words: hostile("chatter", &[]),
                ending: "agent_stopped",
                message: "it said more than 24 MiB",
                ..Row::default()
            },
            Row {
                name: "a program that only says yes",
                words: command("yes \"$(head -c 500 /dev/zero | tr '\\0' y)\"", &[]),
                ending: "agent_stopped",
                message: "it said more than 24 MiB",
                lines: "yyyyyyyy",
                ..Row::default()
            },
            Row { name: "one tool, 100,000 times", words: hostile("tools", &[]), ..Row::default() },
            Row { name: "small on the wire", words: hostile("zeros", &[]), ..Row::default() },
        ];
        watched(fixture, "floods", || play(fixture, "verified", 3, rows));
    });
}

#[test]
fn a_fork_bomb_ends_with_its_run_and_its_sandbox_goes_on() {
    on_stage(SERVER, |fixture| {
        for tier in ["verified", "standard"] {
            fixture.sandbox(tier, &["--tier", tier, "--processes", "100"]);
            let bomb = Row {
                name: "a fork bomb",
                words: hostile("bomb", &[]),
                ending: "agent_silent",
                lines: "more of me",
                ..Row::default()
            };
            watched(fixture, "a fork bomb", || play_in(fixture, tier, &bomb));
            let after = fixture.lamp(&["sandbox", "exec", tier, "--", "echo", "well"]);
            assert_eq!(after.stdout, b"well\n", "{after:?}");
        }
    });
}
