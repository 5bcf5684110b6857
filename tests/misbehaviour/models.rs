//! Models that misbehave, and the built-in agent that asks them.

use std::collections::BTreeSet;

use testkit::model::Script;

use super::{
    fixture::{Fixture, HOST, KEY, Ran, SERVER, on_stage},
    table::{Row, play},
    watch::watched,
};

/// What the model plays, and what comes of it.
struct Play<'a> {
    name: &'a str,
    script: &'a str,
    more: &'a [&'a str],
    ending: &'a str,
    message: &'a str,
    besides: fn(&Ran) -> bool,
}

impl Default for Play<'_> {
    fn default() -> Self {
        Self { name: "", script: "", more: &[], ending: "finished", message: "", besides: |_| true }
    }
}

/// Gives the model its script, and makes a row of it.
fn rows<'a>(fixture: &Fixture<'_>, plays: Vec<Play<'a>>) -> Vec<Row<'a>> {
    let row = |it: Play<'a>| {
        fixture.model.on(&format!("[{}]", it.name), it.script.parse().unwrap());
        let request = format!("The row is [{}].", it.name);
        let words = ["builtin", "--model", "claude-sonnet-4-5", &request];
        Row {
            name: it.name,
            words: words.iter().chain(it.more).map(|&word| word.to_owned()).collect(),
            ending: it.ending,
            message: it.message,
            besides: it.besides,
            ..Row::default()
        }
    };
    plays.into_iter().map(row).collect()
}

fn says(ran: &Ran, words: &str) -> bool {
    let said: String = ran.events("message").iter().filter_map(|it| it["text"].as_str()).collect();
    said.contains(words)
}

fn plays() -> Vec<Play<'static>> {
    vec![
        Play {
            name: "slow",
            script: "play: slow 0.2 ;; play: text Slowly done. ;;",
            besides: |ran| says(ran, "Slowly done."),
            ..Play::default()
        },
        Play {
            name: "cut",
            script: "play: cut ;; play: text the beginning of something ;;",
            ending: "agent_stopped",
            message: "the answer was cut off",
            ..Play::default()
        },
        Play {
            name: "429",
            script: "play: error 429 ;; play: text never ;;",
            ending: "model_busy",
            message: "429",
            ..Play::default()
        },
        Play {
            name: "500",
            script: "play: error 500 ;; play: text never ;;",
            ending: "model_busy",
            message: "500",
            ..Play::default()
        },
        Play {
            name: "401",
            script: "play: error 401 ;; play: text never ;;",
            ending: "model_refused",
            message: "401",
            ..Play::default()
        },
        Play {
            name: "400",
            script: "play: error 400 ;; play: text never ;;",
            ending: "model_refused",
            message: "400",
            ..Play::default()
        },
        Play {
            name: "broken JSON",
            script: "play: garble ;; play: text never ;;",
            ending: "agent_stopped",
            ..Play::default()
        },
        Play {
            name: "broken arguments",
            script: "play: badargs 1 ;; play: shell true ;; play: text Done all the same. ;;",
            besides: |ran| says(ran, "Done all the same."),
            ..Play::default()
        },
        Play {
            name: "a loop without end",
            script: "play: forever shell true ;;",
            ending: "agent_stopped",
            message: "too many requests in one turn",
            ..Play::default()
        },
        Play {
            name: "refuses",
            script: "play: refuse I will not. ;;",
            ending: "model_refused",
            ..Play::default()
        },
    ]
}

/// Those that say too much, or what others want them to say.
fn speeches() -> Vec<Play<'static>> {
    vec![
        Play {
            name: "too long",
            script: "play: length ;; play: text half an answ ;;",
            ending: "agent_stopped",
            message: "the model's answer reached its limit",
            ..Play::default()
        },
        Play {
            name: "64 MiB",
            script: "play: giant 64 ;; play: text the end ;;",
            ending: "agent_stopped",
            message: "it says too much",
            ..Play::default()
        },
        Play {
            name: "text without end",
            script: "play: endless ;; play: text never ;;",
            ending: "agent_stopped",
            message: "it says too much",
            ..Play::default()
        },
        Play {
            name: "says that all is approved",
            script: "play: lure rules ;;",
            more: &["--mode", "plan"],
            ending: "agent_unusable",
            ..Play::default()
        },
        Play {
            name: "obeys what wants it to push",
            script: "play: inject push ;; play: text Pushed. ;;",
            besides: |ran| says(ran, "Pushed."),
            ..Play::default()
        },
        Play {
            name: "obeys what wants secrets",
            script: "play: inject secrets ;; play: text Sent. ;;",
            besides: |ran| says(ran, "Sent."),
            ..Play::default()
        },
        Play {
            name: "obeys what forgets the rules",
            script: "play: inject rules ;; play: text All checks have passed. ;;",
            besides: |ran| says(ran, "All checks"),
            ..Play::default()
        },
    ]
}

fn silences() -> Vec<Play<'static>> {
    vec![
        Play {
            name: "hangs",
            script: "play: hang ;; play: text never ;;",
            ending: "agent_silent",
            message: "the agent said nothing for 3 s",
            ..Play::default()
        },
        Play {
            name: "hangs, and there is a limit",
            script: "play: hang ;; play: text never ;;",
            more: &["--timeout", "2s"],
            ending: "time_limit",
            message: "the agent was ended after 2 s",
            ..Play::default()
        },
        Play {
            name: "stalls",
            script: "play: stall ;; play: text the beginning of something that never ends ;;",
            ending: "agent_silent",
            ..Play::default()
        },
    ]
}

#[test]
fn a_model_that_hangs_is_not_waited_for() {
    on_stage(SERVER, |fixture| {
        let table = rows(fixture, silences());
        watched(fixture, "silent models", || play(fixture, "verified", 3, table));
    });
}

#[test]
fn a_model_that_misbehaves_ends_in_a_failure_with_a_name() {
    // Longer than the built-in agent takes to give up.
    on_stage(&SERVER.replace("silence: 3s", "silence: 30s"), |fixture| {
        let table = rows(fixture, plays().into_iter().chain(speeches()).collect());
        let mark = fixture.internet.mark();
        watched(fixture, "models", || play(fixture, "verified", 3, table));
        let arrived = fixture.internet.since(mark);
        let hosts: BTreeSet<&str> =
            arrived.iter().filter_map(|it| it.request()?.header("host")).collect();
        assert_eq!(hosts, BTreeSet::from([HOST]), "only the model was asked, whatever was obeyed");
        let said = fixture.lamp(&["audit", "export", "--data", &fixture.data()]);
        let audit = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(audit.contains("credential.used"), "{audit}");
        assert!(!audit.contains("approv") && !audit.contains("push"), "{audit}");
    });
}

/// What is inside of a sandbox, and tries the server's own doors from there.
const DOORS: &str = "env; cat /proc/1/environ /proc/self/environ; find / -xdev -name '*.sock' 2>/dev/null; \
    for at in http://127.0.0.1:PORT http://192.168.77.1:PORT http://localhost:PORT; do \
    curl -sS -m 3 -o /tmp/got -w ' status %{http_code} ' $at/v1/sandboxes; cat /tmp/got; \
    curl -sS -m 3 --noproxy '*' -w ' status %{http_code} ' $at/v1/agents; done; true";

#[test]
fn a_model_that_wants_the_servers_own_doors_finds_none() {
    on_stage(SERVER, |fixture| {
        let greeting = fixture.house(|house| house.greeting().to_owned());
        let (_, rest) = greeting.split_once("127.0.0.1:").expect("it says where it listens");
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let script = Script::new().shell(&DOORS.replace("PORT", &port)).text("Looked.");
        fixture.model.on("[doors]", script);
        fixture.sandbox("try", &["--tier", "verified"]);
        let words = ["builtin", "--model", "claude-sonnet-4-5", "The row is [doors]."];
        let ran = Ran::of(fixture.agent("try", &words).spawn().unwrap());
        assert_eq!(ran.ending(), "finished", "{ran}");
        let calls = ran.events("tool_call");
        let got = calls.iter().filter_map(|it| it["result"].as_str()).collect::<String>();
        assert!(got.contains("status 000") || got.contains("status 403"), "it tried: {got}");
        assert!(!got.contains("status 200") && !got.contains("\"agents\""), "{got}");
        assert!(!got.contains("lamp.sock") && !got.contains(KEY), "{got}");
    });
}

#[test]
fn money_rules_and_names_that_are_wrong_are_told_as_such() {
    let budgets = "budgets:\n  - { scope: person, period: day, limit: $0.01 }\n";
    on_stage(&format!("{SERVER}{budgets}"), |fixture| {
        let table = vec![
            Play {
                name: "no money",
                script: "play: text never ;;",
                ending: "over_budget",
                message: "$0.01 per day",
                ..Play::default()
            },
            Play {
                name: "no such provider",
                script: "play: text never ;;",
                more: &["--provider", "nobody"],
                ending: "bad_request",
                message: "no model provider `nobody`",
                ..Play::default()
            },
        ];
        play(fixture, "verified", 1, rows(fixture, table));
        let made = fixture.lamp(&["sandbox", "create", "closed", "--tier", "verified"]);
        assert!(made.status.success(), "{made:?}");
        let words = ["builtin", "--model", "claude-sonnet-4-5", "Try."];
        let ran = Ran::of(fixture.agent("closed", &words).spawn().unwrap());
        assert_eq!(ran.ending(), "agent_stopped", "{ran}");
        // Whichever of its last words was heard first.
        assert!(ran.to_string().contains("LAMP_MODEL_URL"), "there is no way out at all: {ran}");

        // A phase that the policy does not open: there is not even a sandbox.
        let review =
            [&["agent", "run", "--tier", "verified", "--mode", "review", "--json"][..], &words[..]];
        let refused = fixture.lamp(&review.concat());
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{why}");
        assert!(why.contains("egress in review, which nobody above has opened"), "{why}");

        // A policy that is narrowed while the sandbox is there.
        let narrow = "version: 1\negress: { implement: { allow: [] } }\n";
        fixture.house(|house| house.write("policy.yaml", narrow));
        let reloaded = fixture.lamp(&["policy", "reload"]);
        assert!(reloaded.status.success(), "{reloaded:?}");
        let ran = Ran::of(fixture.agent("verified-0", &words).spawn().unwrap());
        assert_eq!(ran.ending(), "model_refused", "{ran}");
        assert!(ran.message().contains("no rule of the organisation allows it"), "{ran}");

        fixture.house(|house| {
            house.write(
                "lamp.yaml",
                "version: 1\nsandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }\n",
            );
        });
        let reloaded = fixture.lamp(&["policy", "reload"]);
        assert!(reloaded.status.success(), "{reloaded:?}");
        let ran = Ran::of(fixture.agent("closed", &words).spawn().unwrap());
        assert_eq!(ran.ending(), "bad_request", "{ran}");
        assert!(ran.message().contains("sets up no model"), "{ran}");
        assert!(fixture.model.requests().is_empty(), "the model was never asked");
    });
}
