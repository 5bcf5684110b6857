//! The way out of sandboxes of the built program: rules that change, refusals with their cause, and values that stay where they belong.

use std::{io::Write as _, process::Stdio};

use unsupported::{supported, unsupported};

use crate::{
    server::Server,
    world::{Ended, World},
};

const VALUE: &str = "a-value-nobody-may-see";

fn policy(hosts: &str) -> String {
    format!("version: 1\negress: {{ implement: {{ allow: [{hosts}] }} }}\n")
}

/// A server with a policy that allows these hosts, and a sandbox `try` that asks for `one.example.com`.
fn server(hosts: &str) -> Result<Server, String> {
    let world = World::new();
    world.write("policy.yaml", policy(hosts));
    world.write("lamp.yaml", "version: 1\nsandboxes: { warm: 0 }\n");
    let server = Server::start_with(world, &["--config", "lamp.yaml"]);
    server.has_standard()?;
    let words = ["sandbox", "create", "try", "--allow", "one.example.com"];
    let made = server.lamp(&words);
    assert_eq!(made.code(), Some(0), "{}", made.err());
    Ok(server)
}

fn explained(server: &Server) -> String {
    let words = ["policy", "explain", "--sandbox", "try", "--json", "https://one.example.com/"];
    let json: serde_json::Value = serde_json::from_str(&server.lamp(&words).out()).unwrap();
    json["verdict"].as_str().unwrap().to_owned()
}

/// The rows of the audit log whose action is this one.
fn rows(server: &Server, action: &str) -> Vec<serde_json::Value> {
    let lines = server.lamp(&["audit", "export", "--data", "data"]).out();
    let rows = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.filter(|row| row["action"] == action).collect()
}

/// Rows are written a moment after what they tell of.
fn awaited(server: &Server, action: &str) -> Vec<serde_json::Value> {
    for _ in 0..100 {
        let rows = rows(server, action);
        if !rows.is_empty() {
            return rows;
        }
    }
    panic!("no row `{action}`: {}", server.lamp(&["audit", "export", "--data", "data"]).out());
}

#[test]
fn new_rules_hold_at_once_and_wrong_ones_change_nothing() {
    let server = supported!(server("one.example.com, two.example.com"));
    assert_eq!(explained(&server), "allow");
    let reload = || server.lamp(&["policy", "reload"]);
    assert_eq!(reload().out(), "The files were read again; what holds is the same.\n");

    server.world().write("policy.yaml", policy("two.example.com, three.example.com"));
    insta::assert_snapshot!(reload().story(), @r"
    exit 0
    --- out
    - organisation implement allow: one.example.com:443 GET|HEAD|OPTIONS /**
    + organisation implement allow: three.example.com:443 GET|HEAD|OPTIONS /**
    This holds now, for 1 sandbox that runs.
    ");
    assert_eq!(explained(&server), "deny");

    server.world().write("policy.yaml", policy("one.example.com, githup"));
    let wrong = reload();
    assert_eq!(wrong.code(), Some(1));
    for part in ["policy.yaml:2:", "unknown bundle `githup`", "what held before holds"] {
        assert!(wrong.err().contains(part), "{}", wrong.err());
    }
    assert_eq!(explained(&server), "deny", "the last valid one holds");
    let alarm = awaited(&server, "egress.alarm").remove(0);
    assert!(alarm["detail"].as_str().unwrap().contains("githup"), "{alarm}");

    server.world().write("policy.yaml", policy("one.example.com"));
    server.hang_up();
    let came_back = (0..200).any(|_| explained(&server) == "allow");
    assert!(came_back, "SIGHUP has the files read again");
    // What holds is written down a moment later.
    let is_told = |by: &str| rows(&server, "policy.reloaded").iter().any(|row| row["actor"] == by);
    assert!((0..200).any(|_| is_told("local") && is_told("SIGHUP")), "both are written down");
    let verified = server.lamp(&["audit", "verify", "--data", "data"]);
    assert_eq!(verified.code(), Some(0), "{}", verified.out());
}

#[test]
fn a_server_without_a_file_has_none_to_read_again() {
    let server = Server::start();
    insta::assert_snapshot!(server.lamp(&["policy", "reload"]).story(), @r"
    exit 1
    --- err
    error: this server was started without a file, so there is none to read again
    hint: start it with `lamp up --config lamp.yaml`
    ");
}

#[test]
fn a_refusal_is_told_with_the_command_that_caused_it_and_stands_in_the_audit_log() {
    let server = supported!(server("one.example.com"));
    let words =
        ["sandbox", "exec", "try", "--", "curl", "-sS", "-m", "9", "https://evil.example.com/x"];
    let refused = server.lamp(&words);
    assert_ne!(refused.code(), Some(0), "{}", refused.out());
    let log = server.lamp(&["egress", "log", "--sandbox", "try", "--refused"]);
    assert_eq!(log.code(), Some(0), "{}", log.err());
    assert!(log.out().contains("refused evil.example.com:443"), "{}", log.out());
    assert!(
        log.out().contains("command: curl -sS -m 9 https://evil.example.com/x"),
        "{}",
        log.out()
    );
    let json = server.lamp(&["egress", "log", "--sandbox", "try", "--json"]).out();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["records"][0]["code"], "not_allowed", "{json}");

    let row = awaited(&server, "egress.refused").remove(0);
    assert_eq!(row["subject"], "evil.example.com:443");
    let detail: serde_json::Value = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
    assert_eq!(detail["cause"], "curl -sS -m 9 https://evil.example.com/x", "{row}");
    assert!(row["actor"].as_str().unwrap().starts_with("sandbox s_"), "{row}");
    let words = ["policy", "explain", "--sandbox", "try", "https://evil.example.com/x"];
    let explained = server.lamp(&words).out();
    assert!(explained.contains("refused 1 times here, last for `curl -sS"), "{explained}");

    // Hundreds are few rows, which say how many there were.
    let many = "for i in $(seq 150); do curl -s -m 9 https://more.example.com/ ; done; true";
    server.lamp(&["sandbox", "exec", "try", "--", "sh", "-c", many]);
    let world = server.stop();
    let lines = world.lamp("audit export --data data").out();
    let rows: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |action: &str| rows.iter().filter(|row| row["action"] == action).count();
    let each = count("egress.refused");
    assert!(each < 151, "{each}");
    let sums = rows.iter().filter(|row| row["action"] == "egress.more").map(|row| {
        let detail: serde_json::Value =
            serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
        usize::try_from(detail["count"].as_u64().unwrap()).unwrap()
    });
    assert_eq!(each + sums.sum::<usize>(), 151, "none is left out");
}

fn has_untrusted(server: &Server) -> bool {
    let tiers = server.said.lines().find(|line| line.trim_start().starts_with("tiers"));
    tiers.is_some_and(|line| line.contains("untrusted"))
}

#[test]
fn on_gvisor_the_command_is_unknown() {
    let server = supported!(server("one.example.com"));
    let words = ["sandbox", "create", "far", "--tier", "untrusted", "--allow", "one.example.com"];
    if !has_untrusted(&server) {
        unsupported!("this host cannot give the tier `untrusted`");
    }
    server.lamp(&words);
    server.lamp(&[
        "sandbox",
        "exec",
        "far",
        "--",
        "curl",
        "-s",
        "-m",
        "9",
        "https://evil.example.com/",
    ]);
    let log = server.lamp(&["egress", "log", "--sandbox", "far", "--refused"]).out();
    assert!(
        log.contains("refused evil.example.com:443") && log.contains("command: unknown"),
        "{log}"
    );
}

fn set(server: &Server, words: &[&str]) {
    let mut command = server.client(&[&["secret", "set"], words].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(VALUE.as_bytes()).unwrap();
    let set = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(set.code(), Some(0), "{}", set.err());
}

#[test]
fn a_value_is_given_to_one_process_and_taken_out_of_what_it_prints() {
    let server = supported!(server("one.example.com"));
    set(&server, &["TOKEN", "--expose", "env"]);
    set(&server, &["HIDDEN", "--host", "api.example.com"]);
    let script = "echo it is $TOKEN; printf '%s' \"${TOKEN%nobody*}\"; sleep 0.3; echo \"${TOKEN#a-value-}\"; \
        printf %s \"$TOKEN\" | base64; printf %s \"$TOKEN\" | sha256sum; echo $TOKEN >&2";
    let ran = server.lamp(&["sandbox", "run", "--secret", "TOKEN", "--", "sh", "-c", script]);
    // The process has the value itself, and nobody who reads its output does.
    insta::assert_snapshot!(ran.story(), @r"
    exit 0
    --- out
    it is [redacted]
    [redacted]
    [redacted]
    a014b49647f4750f0c6a4f5c24705e34576a2f8fa75828a80b7197e5a6789ef8  -
    --- err
    [redacted]
    ");
    let rows = rows(&server, "secret.exposed");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["subject"], &rows[0]["actor"]), (&"TOKEN".into(), &"local".into()));

    let with = |words: &[&str]| {
        let command = ["--", "sh", "-c", "echo ${TOKEN-none}"];
        server.lamp(&[&["sandbox", "exec", "try"], words, &command].concat())
    };
    assert_eq!(with(&[]).out(), "none\n", "another process has nothing");
    assert_eq!(with(&["--secret", "TOKEN"]).out(), "[redacted]\n");
    assert_eq!(with(&[]).out(), "none\n", "nor has one that comes after it");
    let hidden = with(&["--secret", "HIDDEN"]);
    assert_eq!(hidden.code(), Some(1));
    assert!(hidden.err().contains("does not enter sandboxes"), "{}", hidden.err());
    let untrusted = ["sandbox", "run", "--tier", "untrusted", "--secret", "TOKEN", "--", "true"];
    if has_untrusted(&server) {
        let refused = server.lamp(&untrusted);
        assert!(refused.err().contains("say `--even-untrusted`"), "{}", refused.err());
    }
}

#[test]
fn a_key_that_is_turned_over_is_gone_though_sandboxes_run() {
    let server = supported!(server("one.example.com"));
    set(&server, &["TOKEN", "--expose", "env"]);
    let turned = server.lamp(&["secret", "rotate-key"]);
    let told = "There is a new master key, and 1 secret has it. The old one is gone.\n";
    assert_eq!(turned.out(), told, "{}", turned.err());
    assert_eq!(rows(&server, "secret.key_turned").len(), 1);
    assert_eq!(rows(&server, "secret.set").len(), 1);
    // Its authority, sealed anew, opens: it rests, and wakes with its network.
    for turn in ["hibernate", "resume"] {
        let turned = server.lamp(&["sandbox", turn, "try"]);
        assert_eq!(turned.code(), Some(0), "{}", turned.err());
    }
    assert_eq!(explained(&server), "allow");
}

#[test]
fn a_secret_of_an_agent_is_for_its_runs_alone() {
    let server = supported!(server("one.example.com, api.example.com"));
    set(&server, &["THEIRS", "--host", "api.example.com", "--agent", "fixer"]);
    let run = |words: &[&str]| {
        let run = ["sandbox", "run", "--allow", "api.example.com", "--secret", "THEIRS"];
        let command = ["--", "sh", "-c", "echo ${THEIRS%_*}"];
        server.lamp(&[&run, words, &command].concat())
    };
    for words in [&[][..], &["--agent", "other"]] {
        let refused = run(words);
        assert_eq!(refused.code(), Some(1), "{}", refused.out());
        assert!(refused.err().contains("is for agents that it names"), "{}", refused.err());
    }
    assert_eq!(run(&["--agent", "fixer"]).out(), "lamp_THEIRS\n");
    let wrong = run(&["--agent", "Not A Name"]);
    assert!(wrong.err().contains("Not A Name"), "{}", wrong.err());
}
