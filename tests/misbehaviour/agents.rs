//! Agents that crash, hang, forge, and leave things behind.

use super::{
    fixture::{GONE, Ran, SERVER, on_stage, until},
    table::{Row, command, hostile, play},
    watch::watched,
};

fn said(ran: &Ran) -> String {
    ran.events("message").iter().filter_map(|it| it["text"].as_str()).collect()
}

fn ends() -> Vec<Row<'static>> {
    vec![
        Row {
            name: "crashes at once",
            words: hostile("crash", &[]),
            ending: "agent_stopped",
            message: "ended with code 1",
            lines: "something is very wrong here",
            ..Row::default()
        },
        Row {
            name: "crashes in the middle",
            words: hostile("middle", &[]),
            ending: "agent_stopped",
            message: "ended with code 1",
            lines: "the middle is where I stop",
            besides: |ran| said(ran) == "I begin.",
        },
        Row {
            name: "is killed by the kernel",
            words: hostile("fault", &[]),
            ending: "agent_stopped",
            message: "by signal 11",
            lines: "reading what is not mine",
            ..Row::default()
        },
        Row {
            name: "goes without a word",
            words: hostile("quiet", &[]),
            ending: "agent_stopped",
            message: "ended with code 0 before it had answered",
            ..Row::default()
        },
        Row {
            name: "hangs before it begins",
            words: hostile("early", &[]),
            ending: "agent_silent",
            message: "said nothing for 3 s",
            lines: "I wait for nothing",
            ..Row::default()
        },
        Row {
            name: "hangs in a turn",
            words: hostile("late", &[]),
            ending: "agent_silent",
            lines: "and now I think for ever",
            besides: |ran| said(ran) == "I begin.",
            ..Row::default()
        },
        Row {
            name: "hangs, with a family",
            words: hostile("hidden", &[]),
            ending: "agent_silent",
            ..Row::default()
        },
        Row {
            name: "never listens",
            words: hostile("deaf", &[]),
            ending: "agent_stopped",
            message: "it does not listen",
            ..Row::default()
        },
        Row {
            name: "has answered, and does not go",
            words: hostile("stays", &[]),
            ..Row::default()
        },
        Row {
            name: "has answered, and goes on",
            words: hostile("after", &[]),
            besides: |ran| ran.events("message").len() < 10_000,
            ..Row::default()
        },
        Row {
            name: "is not there",
            words: hostile("no-such-trick", &[]),
            ending: "agent_stopped",
            lines: "KeyError",
            ..Row::default()
        },
    ]
}

fn lies() -> Vec<Row<'static>> {
    vec![
        Row {
            name: "is no text",
            words: hostile("letters", &[]),
            besides: |ran| said(ran) == "half \u{fffd} and \u{fffd}, nul \0.",
            ..Row::default()
        },
        Row {
            name: "speaks something else",
            words: hostile("garbage", &[]),
            ending: "agent_stopped",
            message: "more than 1000 lines are not JSON",
            lines: "\u{fffd}\u{fffd} line 1000 of something else",
            ..Row::default()
        },
        Row { name: "is deep", words: hostile("deep", &[]), ..Row::default() },
        Row {
            name: "speaks a newer protocol",
            words: hostile("version 2", &[]),
            ending: "agent_stopped",
            message: "it does not speak version 1 of ACP",
            ..Row::default()
        },
        Row {
            name: "speaks a protocol that is no number",
            words: hostile("version '\"1\"'", &[]),
            ending: "agent_stopped",
            message: "it does not speak version 1 of ACP",
            ..Row::default()
        },
        Row {
            name: "has a name without end",
            words: hostile("name", &[]),
            ending: "agent_stopped",
            message: "too long",
            ..Row::default()
        },
        Row {
            name: "has reasons without end",
            words: hostile("reason", &[]),
            ending: "agent_stopped",
            message: "because because",
            besides: |ran| !ran.message().contains('\u{1b}'),
            ..Row::default()
        },
        Row {
            name: "stops for an odd reason",
            words: hostile("odd", &[]),
            ending: "agent_stopped",
            message: "it does not say why it stopped",
            ..Row::default()
        },
        Row {
            name: "forges",
            words: hostile("forged", &[]),
            besides: |ran| said(ran) == "Only this is mine." && !ran.text.contains("FORGED"),
            ..Row::default()
        },
        Row {
            name: "answers where no answer is",
            words: hostile("answer", &["--mode", "plan"]),
            ending: "agent_unusable",
            besides: |ran| ran.events("thought").len() == 2,
            ..Row::default()
        },
        Row {
            name: "asks whether it may, oddly",
            words: hostile("permissions", &[]),
            besides: |ran| said(ran) == "All were answered.",
            ..Row::default()
        },
        Row {
            name: "asks for what there is not",
            words: hostile("wishes", &[]),
            besides: |ran| said(ran) == "All were refused.",
            ..Row::default()
        },
    ]
}

/// Programs that speak no language, and leave their answer in a file.
fn programs() -> Vec<Row<'static>> {
    let plan = &["--mode", "plan"];
    vec![
        Row {
            name: "a program that fails",
            words: command("echo no luck; exit 3", &[]),
            ending: "agent_stopped",
            message: "ended with code 3",
            besides: |ran| said(ran) == "no luck\n",
            ..Row::default()
        },
        Row {
            name: "a program that kills itself",
            words: command("echo bye >&2; kill -9 $$", &[]),
            ending: "agent_stopped",
            message: "by signal 9",
            lines: "bye",
            ..Row::default()
        },
        Row {
            name: "a program that never ends",
            words: command("while :; do echo still here; sleep 0.2; done", &["--timeout", "2s"]),
            ending: "time_limit",
            ..Row::default()
        },
        Row {
            name: "a program without an answer",
            words: command("true", plan),
            ending: "agent_stopped",
            message: "it wrote no answer",
            ..Row::default()
        },
        Row {
            name: "a program with half an answer",
            words: command("printf '{\"plan\": {\"summary\"' > $LAMP_ANSWER", plan),
            ending: "agent_unusable",
            ..Row::default()
        },
        Row {
            name: "an answer without end",
            words: command("ln -s /dev/zero $LAMP_ANSWER", plan),
            ending: "agent_stopped",
            message: "it wrote no answer",
            ..Row::default()
        },
        Row {
            name: "an answer that nobody writes",
            words: command("mkfifo $LAMP_ANSWER", plan),
            ending: "agent_stopped",
            message: "it wrote no answer",
            ..Row::default()
        },
        Row {
            name: "an answer that is a directory",
            words: command("mkdir $LAMP_ANSWER", plan),
            ending: "agent_stopped",
            message: "it wrote no answer",
            ..Row::default()
        },
    ]
}

#[test]
fn an_agent_that_misbehaves_ends_in_a_failure_with_a_name_and_the_last_lines() {
    on_stage(SERVER, |fixture| {
        watched(fixture, "agents", || play(fixture, "verified", 3, ends()));
        watched(fixture, "programs", || play(fixture, "verified", 1, programs()));
        watched(fixture, "liars", || play(fixture, "standard", 3, lies()));
    });
}

/// An agent that has answered and went by itself takes along what it started, wherever that hides.
#[test]
fn what_an_agent_leaves_behind_ends_with_its_run() {
    on_stage(SERVER, |fixture| {
        // So that nobody else's processes are taken for these.
        let trick = format!("leaves {}", std::process::id());
        fixture.sandbox("family", &["--tier", "verified"]);
        let words = hostile(&trick, &[]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = Ran::of(fixture.agent("family", &words).spawn().unwrap());
        assert_eq!(ran.ending(), "finished", "{ran}");
        assert_eq!(fixture.left("family"), Vec::<String>::new());
        assert_eq!(until(GONE, || outside(&trick), |left| *left == 0), 0, "nor from outside");
    });
}

/// Processes of this host that were started so.
fn outside(words: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let said = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    said.filter(|it| String::from_utf8_lossy(it).replace('\0', " ").contains(words)).count()
}
