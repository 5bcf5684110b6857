//! What an agent did can be stored and read again; what was stored once can be read for ever; what we did not write is
//! refused.
//!
//! Each file under `golden/v1` holds one body, exactly as a lamp wrote it, and a line end. To add one for a new kind:
//! `UPDATE_GOLDEN=1 cargo test -p store golden`. A file that changes is a database that cannot be read.

use std::{collections::BTreeSet, path::PathBuf};

use domain::{
    cost::Cost,
    money::Money,
    transcript::{Ending, TodoItem, TodoState, ToolCall, ToolKind, ToolStatus, Verdict},
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use super::*;

/// Read when the tests are compiled; cargo compiles them again when it changes.
const UPDATE: Option<&str> = option_env!("UPDATE_GOLDEN");

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/stored/transcript/golden/v1"))
}

fn owned(text: &str) -> String {
    text.to_owned()
}

/// A file's name under `golden/v1` and the event that it holds. What follows a `-` tells events of one kind apart.
fn samples() -> Vec<(&'static str, AgentEvent)> {
    let call = ToolCall {
        id: owned("call_7"),
        title: owned("cargo test"),
        kind: ToolKind::Execute,
        status: ToolStatus::Failed,
        input: Some(owned("{\"command\":\"cargo test\"}")),
        result: Some(owned("1 failed\u{1b}[0m")),
        paths: vec![owned("src/login.rs"), owned("tests/login.rs")],
    };
    let plain = ToolCall { input: None, result: None, paths: vec![], ..call.clone() };
    let item = |text: &str, state| TodoItem { text: owned(text), state };
    let items = vec![
        item("read", TodoState::Done),
        item("fix", TodoState::Doing),
        item("test", TodoState::Waiting),
    ];
    let cost = Cost {
        money: Money::from_micros(1_234),
        input_tokens: 5,
        output_tokens: 6,
        cpu_millis: 7,
        memory_mib_seconds: 8,
        network_bytes: 9,
    };
    vec![
        ("briefed", AgentEvent::Briefed { part: 1, text: owned("Fix the flaky test.\n") }),
        (
            "started",
            AgentEvent::Started {
                program: owned("claude"),
                version: Some(owned("2.1.0")),
                model: Some(owned("sonnet")),
                session: Some(owned("session-7")),
            },
        ),
        (
            "started-plain",
            AgentEvent::Started { program: owned("sh"), version: None, model: None, session: None },
        ),
        ("message", AgentEvent::Message { number: 3, text: owned("I look at “login”.\0") }),
        ("thought", AgentEvent::Thought { number: 4, text: owned("A race?") }),
        ("tool_call", AgentEvent::ToolCall(call)),
        ("tool_call-plain", AgentEvent::ToolCall(plain)),
        ("file_changed", AgentEvent::FileChanged { path: owned("src/login.rs") }),
        ("todo", AgentEvent::Todo { items }),
        (
            "permission",
            AgentEvent::Permission { title: owned("run make"), verdict: Verdict::Allowed },
        ),
        (
            "permission-denied",
            AgentEvent::Permission { title: owned("rm -rf /"), verdict: Verdict::Denied },
        ),
        (
            "question",
            AgentEvent::Question { text: owned("Which?"), choices: vec![owned("a"), owned("b")] },
        ),
        ("heard", AgentEvent::Heard { text: owned("look at the clock") }),
        ("usage", AgentEvent::Usage(cost)),
        ("trouble", AgentEvent::Trouble { text: owned("the model is busy") }),
        ("finished", AgentEvent::Finished { ending: Ending::Answered }),
        ("finished-asked", AgentEvent::Finished { ending: Ending::Asked }),
        (
            "finished-stopped",
            AgentEvent::Finished { ending: Ending::Stopped { reason: owned("cancelled") } },
        ),
    ]
}

#[test]
fn golden_what_was_stored_once_is_read_and_written_the_same_for_ever() {
    for (name, event) in samples() {
        let path = directory().join(name).with_extension("json");
        let stored = encode(&event);
        if UPDATE.is_some() {
            fs_err::write(&path, format!("{}\n", stored.body)).unwrap();
        }
        let golden = fs_err::read_to_string(&path).unwrap();
        let golden = golden.strip_suffix('\n').unwrap();
        assert_eq!(stored.body, golden, "{name}");
        assert_eq!(decode(stored.kind, 1, golden).unwrap(), event, "{name}");
    }
}

#[test]
fn golden_every_kind_has_a_file_and_every_file_a_kind() {
    let kind = |name: &str| name.split(['-', '.']).next().unwrap().to_owned();
    let files: BTreeSet<String> = fs_err::read_dir(directory())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let named: BTreeSet<String> =
        samples().iter().map(|(name, _)| format!("{name}.json")).collect();
    assert_eq!(files, named);
    let kinds: BTreeSet<String> = v1::KINDS.iter().map(|&kind| kind.to_owned()).collect();
    assert_eq!(files.iter().map(|name| kind(name)).collect::<BTreeSet<_>>(), kinds);
    for (name, event) in samples() {
        assert_eq!(kind(name), encode(&event).kind);
    }
}

fn any_event() -> impl Strategy<Value = AgentEvent> {
    let text = || any::<String>();
    let maybe = || proptest::option::of(any::<String>());
    let texts = || proptest::collection::vec(any::<String>(), 0..4);
    let kinds = vec![
        ToolKind::Read,
        ToolKind::Edit,
        ToolKind::Search,
        ToolKind::Execute,
        ToolKind::Fetch,
        ToolKind::Think,
        ToolKind::Other,
    ];
    let statuses = vec![ToolStatus::Running, ToolStatus::Done, ToolStatus::Failed];
    let states = vec![TodoState::Waiting, TodoState::Doing, TodoState::Done];
    let verdicts = vec![Verdict::Allowed, Verdict::Denied];
    let item =
        (text(), prop::sample::select(states)).prop_map(|(text, state)| TodoItem { text, state });
    let call = (
        (text(), text(), prop::sample::select(kinds), prop::sample::select(statuses)),
        (maybe(), maybe(), texts()),
    );
    let call = call.prop_map(|((id, title, kind, status), (input, result, paths))| {
        AgentEvent::ToolCall(ToolCall { id, title, kind, status, input, result, paths })
    });
    let ending = prop_oneof![
        Just(Ending::Answered),
        Just(Ending::Asked),
        text().prop_map(|reason| Ending::Stopped { reason }),
    ];
    prop_oneof![
        (any::<u32>(), text()).prop_map(|(part, text)| AgentEvent::Briefed { part, text }),
        (text(), maybe(), maybe(), maybe()).prop_map(|(program, version, model, session)| {
            AgentEvent::Started { program, version, model, session }
        }),
        (any::<u32>(), text()).prop_map(|(number, text)| AgentEvent::Message { number, text }),
        (any::<u32>(), text()).prop_map(|(number, text)| AgentEvent::Thought { number, text }),
        call,
        text().prop_map(|path| AgentEvent::FileChanged { path }),
        proptest::collection::vec(item, 0..4).prop_map(|items| AgentEvent::Todo { items }),
        (text(), prop::sample::select(verdicts))
            .prop_map(|(title, verdict)| AgentEvent::Permission { title, verdict }),
        (text(), texts()).prop_map(|(text, choices)| AgentEvent::Question { text, choices }),
        text().prop_map(|text| AgentEvent::Heard { text }),
        (any::<u64>(), any::<u64>()).prop_map(|(micros, input_tokens)| {
            let money = Money::from_micros(micros);
            AgentEvent::Usage(Cost { money, input_tokens, ..Cost::ZERO })
        }),
        text().prop_map(|text| AgentEvent::Trouble { text }),
        ending.prop_map(|ending| AgentEvent::Finished { ending }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn everything_that_an_agent_does_survives_storage(event in any_event()) {
        let Stored { kind, version, body } = encode(&event);
        let read = decode(kind, version, &body).unwrap();
        prop_assert_eq!(&read, &event);
        let again = encode(&read).body;
        prop_assert_eq!(&again, &body, "one event has one spelling");
        // PostgreSQL refuses a NUL, and a log with bodies should stay one line each.
        prop_assert!(body.chars().all(|c| c >= ' '), "{}", body);
    }
}

#[test]
fn the_strategies_leave_no_kind_out() {
    let mut runner = TestRunner::deterministic();
    let strategy = any_event();
    let tried: BTreeSet<&str> = (0..2_000)
        .map(|_| encode(&strategy.new_tree(&mut runner).unwrap().current()).kind)
        .collect();
    assert_eq!(tried, v1::KINDS.iter().copied().collect());
}

/// A field that is missing, unknown, or of another type, at the top of every body.
#[test]
fn what_is_not_fully_understood_is_refused() {
    for (name, event) in samples() {
        let Stored { kind, body, .. } = encode(&event);
        let Value::Object(fields) = serde_json::from_str(&body).unwrap() else { panic!("{body}") };
        let mut spoilt = Vec::new();
        for field in fields.keys() {
            let mut without = fields.clone();
            without.remove(field);
            spoilt.push(Value::Object(without));
            let mut other = fields.clone();
            other.insert(field.clone(), json!({ "x": [true] }));
            spoilt.push(Value::Object(other));
        }
        let mut more = fields.clone();
        more.insert(owned("approved"), json!(true));
        spoilt.push(Value::Object(more));
        spoilt.extend([json!(null), json!([]), json!("x")]);
        for body in spoilt {
            let read = decode(kind, 1, &body.to_string());
            assert!(matches!(read, Err(Unreadable::Damaged { .. })), "{name} {body}: {read:?}");
        }
        assert!(decode(kind, 1, &body[..body.len() - 1]).is_err(), "{name}");
    }
}

#[test]
fn a_shape_of_a_newer_lamp_is_refused_as_such() {
    for (kind, version) in [("sang", 1), ("message", 2), ("message", 0), ("", -1)] {
        let error = decode(kind, version, "{}").unwrap_err();
        assert!(matches!(error, Unreadable::UnknownWords { .. }), "{error}");
    }
    insta::assert_snapshot!(
        decode("sang", 2, "{}").unwrap_err(),
        @"a transcript has a `sang` of version 2, which this lamp does not know; a newer one wrote it"
    );
}
