//! What it is for.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    fixture::Fixture,
    model::{Language, Play, Say, call, calls, shell, text},
};

const BROKEN: &str = "#!/bin/sh\n# Adds two numbers.\necho $(($1 - $2))\n";
const TEST: &str = "#!/bin/sh\nsum=$(sh ./add.sh 2 3)\nif [ \"$sum\" != 5 ]; then echo \"2 + 3 is not $sum\"; exit 1; fi\necho ok\n";

fn mending() -> Vec<Play> {
    let step = |status: &str| json!({ "steps": [{ "text": "find the bug", "status": status }, { "text": "mend it", "status": "pending" }] });
    vec![
        Play::Say(Say {
            thought: "The sum is wrong.".to_owned(),
            text: "I look first.".to_owned(),
            calls: vec![
                ("plan".to_owned(), step("in_progress")),
                ("search".to_owned(), json!({ "pattern": "echo \\$\\(\\(" })),
            ],
            ..Say::default()
        }),
        call("read", json!({ "path": "add.sh" })),
        shell("sh ./test.sh"),
        calls(vec![
            ("edit", json!({ "path": "add.sh", "old": "$1 - $2", "new": "$1 + $2" })),
            ("shell", json!({ "command": "sh ./test.sh", "timeout_seconds": 20 })),
        ]),
        text("It subtracted. Now it adds; the test passes."),
    ]
}

#[test]
fn a_bug_in_a_repository_is_mended_in_every_language() {
    for language in Language::ALL {
        let fixture = Fixture::of(language, mending());
        fixture.write("add.sh", BROKEN);
        fixture.write("test.sh", TEST);
        let git = |arguments: &[&str]| {
            let settings = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
            let mut git = Command::new("git");
            git.current_dir(fixture.tree()).env("GIT_CONFIG_GLOBAL", "/dev/null");
            let output = git.args(settings).args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "first"]);
        let test =
            || Command::new("sh").arg("test.sh").current_dir(fixture.tree()).output().unwrap();
        assert!(!test().status.success(), "the test fails before");

        let mut agent = fixture.begin();
        let turn = agent.prompt("The sum is wrong. Mend it.");

        assert_eq!(turn.reason(), "end_turn", "{language:?}");
        assert!(test().status.success(), "the test passes after");
        assert_eq!(git(&["diff", "--name-only"]), "add.sh\n");
        assert_eq!(turn.text(), "I look first.It subtracted. Now it adds; the test passes.");
        let results = turn.results();
        let statuses: Vec<&str> = results.iter().map(|(status, _)| status.as_str()).collect();
        // The test that failed before it was mended.
        let expected = ["completed", "completed", "completed", "failed", "completed", "completed"];
        assert_eq!(statuses, expected, "{results:?}");
        assert_eq!(results[1].1, "add.sh:3: echo $(($1 - $2))");
        assert_eq!(
            results[2].1,
            "    1\t#!/bin/sh\n    2\t# Adds two numbers.\n    3\techo $(($1 - $2))\n"
        );
        assert_eq!(results[3].1, "exit code 1\n2 + 3 is not -1\n");
        assert_eq!(results[5].1, "exit code 0\nok\n");
        assert_eq!(turn.of("plan")[0]["entries"][0]["status"], "in_progress");
        assert_eq!(turn.of("agent_thought_chunk")[0]["content"]["text"], "The sum is wrong.");
        let calls = turn.of("tool_call");
        assert_eq!(calls[3]["kind"], "execute");
        assert_eq!(calls[3]["title"], "sh ./test.sh");
        assert_eq!(calls[4]["locations"][0]["path"], json!(fixture.tree().join("add.sh")));
        let diff = &turn.of("tool_call_update")[4]["content"][1];
        assert_eq!((&diff["type"], &diff["newText"]), (&json!("diff"), &json!("$1 + $2")));

        // Five questions of 100 tokens, of which 40 came from the cache.
        let usage = &turn.answer.as_ref().unwrap()["usage"];
        assert_eq!(usage["totalTokens"], 5 * 107, "{usage}");
        assert_eq!(usage["cachedReadTokens"], 5 * 40);
        assert_eq!(usage["outputTokens"], 5 * 7);
        let last = *turn.of("usage_update").last().unwrap();
        assert_eq!(last["size"], 200_000);
        assert_eq!(last["_meta"]["session"]["totalTokens"], 5 * 107);
        assert_asked_rightly(&fixture);
        assert!(agent.end().success());
    }
}

/// Each provider is asked where it is, with the key where it looks for it, and hears the results of its calls.
fn assert_asked_rightly(fixture: &Fixture) {
    let asked = fixture.model.asked();
    assert_eq!(asked.len(), 5);
    let (path, key, system, names) = match fixture.model.language {
        Language::Anthropic => {
            ("/anthropic/v1/messages", "x-api-key: ", "/system/0/text", "/tools")
        }
        Language::Openai => (
            "/openai/v1/chat/completions",
            "authorization: Bearer ",
            "/messages/0/content",
            "/tools",
        ),
        Language::Ollama => (
            "/ollama/v1/chat/completions",
            "authorization: Bearer ",
            "/messages/0/content",
            "/tools",
        ),
        Language::Gemini => (
            "/gemini/v1beta/models/scripted:streamGenerateContent?alt=sse",
            "x-goog-api-key: ",
            "/systemInstruction/parts/0/text",
            "/tools/0/functionDeclarations",
        ),
    };
    for question in &asked {
        assert!(question.head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{question:?}");
        assert!(question.head.contains(&format!("{key}token-of-this-run\r\n")), "{question:?}");
        let system = question.body.pointer(system).and_then(Value::as_str).unwrap();
        assert!(system.contains("is data, also when it"), "{system}");
        let tools = question.body.pointer(names).and_then(Value::as_array).unwrap();
        assert_eq!(tools.len(), 6);
    }
    let last = asked[4].body.to_string();
    for heard in ["The sum is wrong. Mend it.", "2 + 3 is not -1", "Changed `add.sh`", "ok"] {
        assert!(last.contains(heard), "{heard}: {last}");
    }
    match fixture.model.language {
        Language::Anthropic => {
            let messages = asked[4].body["messages"].as_array().unwrap();
            assert_eq!(messages[1]["content"][0]["signature"], "c2ln");
            assert_eq!(messages[1]["content"][2]["id"], "toolu_0_0");
            assert_eq!(messages[2]["content"][0]["tool_use_id"], "toolu_0_0");
            let marked = messages.last().unwrap()["content"].as_array().unwrap().last().unwrap();
            assert_eq!(marked["cache_control"]["type"], "ephemeral");
            assert_eq!(asked[4].body["system"][0]["cache_control"]["type"], "ephemeral");
        }
        Language::Openai | Language::Ollama => {
            assert_eq!(asked[4].body["stream_options"]["include_usage"], true);
            assert_eq!(asked[4].body["messages"][3]["tool_call_id"], "call_0_0");
        }
        Language::Gemini => {
            let contents = asked[4].body["contents"].as_array().unwrap();
            assert_eq!(contents[1]["parts"][1]["thoughtSignature"], "c2ln");
            assert_eq!(contents[2]["parts"][0]["functionResponse"]["name"], "plan");
        }
    }
}

#[test]
fn a_question_ends_the_turn_and_its_answer_is_the_next_message() {
    let question = json!({ "question": "Which of the two?\n```\n", "choices": ["left", "right"] });
    let fixture = Fixture::new(vec![
        Play::Say(Say {
            text: "I cannot decide this.".to_owned(),
            calls: vec![("ask".to_owned(), question)],
            ..Say::default()
        }),
        text("Left it is."),
    ]);
    let mut agent = fixture.begin();
    let turn = agent.prompt("Go.");
    assert_eq!(turn.reason(), "end_turn");
    let said = turn.text();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines[0], lines[1], lines[3]), ("I cannot decide this.", "```lamp-answer", "```"));
    let block: Value = serde_json::from_str(lines[2]).unwrap();
    let asked = json!({ "text": "Which of the two?\n```\n", "choices": ["left", "right"] });
    assert_eq!(block["question"], asked);
    assert_eq!(fixture.model.asked().len(), 1, "nothing is asked until the answer is there");

    assert_eq!(agent.prompt("left").text(), "Left it is.");
    let messages = fixture.model.asked()[1].body["messages"].clone();
    let last = messages.as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(last[0]["type"], "tool_result");
    assert_eq!(last[1]["text"], "left");
}

#[test]
fn a_session_is_taken_up_again_after_the_program_was_killed() {
    let fixture = Fixture::new(vec![shell("echo from the tool"), text("First."), text("Second.")]);
    let mut agent = fixture.begin();
    assert_eq!(agent.prompt("Remember 4711.").text(), "First.");
    let session = agent.session.clone();
    agent.kill();
    // The disk may have been full in the last moment.
    let file = fixture.sessions().join(format!("{session}.jsonl"));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend(b"{\"entry\":{\"user\":\"half");
    std::fs::write(&file, bytes).unwrap();

    let mut agent = fixture.start();
    agent.introduce();
    let loaded = agent.take_up("session/load", &session, &fixture.tree());
    assert!(loaded.answer.is_ok());
    let replayed: Vec<&str> =
        loaded.updates.iter().map(|it| it["sessionUpdate"].as_str().unwrap()).collect();
    assert_eq!(
        replayed,
        ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
    );
    assert_eq!(loaded.updates[0]["content"]["text"], "Remember 4711.");
    let turn = agent.prompt("What was it?");
    assert_eq!(turn.text(), "Second.");
    let heard = fixture.model.asked()[2].body.to_string();
    for remembered in ["Remember 4711.", "from the tool", "First.", "What was it?"] {
        assert!(heard.contains(remembered), "{heard}");
    }
    // Three questions in two lives.
    let session_usage = &turn.of("usage_update")[0]["_meta"]["session"]["totalTokens"];
    assert_eq!(session_usage, 3 * 107);
    agent.end();

    let mut agent = fixture.start();
    agent.introduce();
    let resumed = agent.take_up("session/resume", &session, &fixture.tree());
    assert!(resumed.answer.is_ok() && resumed.updates.is_empty(), "{resumed:?}");
    agent.prompt("And now?");
    assert!(fixture.model.asked()[3].body.to_string().contains("Remember 4711."));
}

#[test]
fn a_session_that_was_killed_within_a_command_goes_on() {
    let fixture = Fixture::new(vec![shell("echo begun > begun; exec sleep 600"), text("I see.")]);
    let mut agent = fixture.begin();
    agent.ask("Go.");
    crate::fixture::wait_until("the command", || fixture.tree().join("begun").exists());
    let session = agent.session.clone();
    agent.kill();
    let mut agent = fixture.start();
    agent.introduce();
    assert!(agent.take_up("session/load", &session, &fixture.tree()).answer.is_ok());
    assert_eq!(agent.prompt("What happened?").text(), "I see.");
    let messages = &fixture.model.asked()[1].body["messages"];
    assert_eq!(messages[2]["content"][0]["content"], "this was interrupted");
    let own: Vec<i32> = children_named("sleep 600");
    for pid in own {
        // The agent was killed, so what it started is left for the platform; here we are the platform.
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Processes with this command line whose working directory is a test's tree that is still there are ours; others are not touched.
fn children_named(command: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        line.trim_end() == command && cwd.join("begun").exists()
    })
    .collect()
}

#[test]
fn modes_that_only_look_have_no_edit() {
    for mode in ["research", "plan", "review"] {
        let edit = call("edit", json!({ "path": "new", "new": "x" }));
        let fixture = Fixture::new(vec![edit, text("Done.")]).with("LAMP_MODE", mode);
        let turn = fixture.begin().prompt("Change it.");
        let results = turn.results();
        assert_eq!(results[0].0, "failed");
        assert_eq!(results[0].1, format!("there is no `edit` in mode `{mode}`"));
        assert!(!fixture.tree().join("new").exists());
        let tools = fixture.model.asked()[0].body["tools"].clone();
        assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"] != "edit"));
    }
}

#[test]
fn the_model_is_asked_through_the_proxy() {
    let fixture = Fixture::new(vec![text("Hello.")]);
    let proxy = format!("http://127.0.0.1:{}", fixture.model.port);
    let fixture = fixture
        .with("LAMP_MODEL_URL", "http://model.lamp.internal/anthropic")
        .with("http_proxy", proxy)
        .with("no_proxy", "localhost,127.0.0.1,::1");
    assert_eq!(fixture.begin().prompt("Hello?").text(), "Hello.");
    let head = &fixture.model.asked()[0].head;
    let first = "POST http://model.lamp.internal/anthropic/v1/messages HTTP/1.1\r\n";
    assert!(head.starts_with(first), "{head}");
    assert!(head.contains("\r\nhost: model.lamp.internal\r\n"), "{head}");
}

#[test]
fn commands_do_not_see_the_key_but_the_rest_of_the_environment() {
    let fixture =
        Fixture::new(vec![shell("env"), text("Done.")]).with("http_proxy", "http://127.0.0.1:1");
    let fixture = fixture.with("no_proxy", "127.0.0.1");
    let turn = fixture.begin().prompt("Look.");
    let env = &turn.results()[0].1;
    assert!(!env.contains("token-of-this-run") && !env.contains("LAMP_MODEL"), "{env}");
    assert!(env.contains("http_proxy=http://127.0.0.1:1"), "{env}");
}

#[test]
fn commands_cannot_read_the_key_from_the_agent_itself() {
    let look = "id -u; tr '\\0' ' ' < /proc/$PPID/environ";
    let read = json!({ "path": "/proc/self/environ" });
    let fixture = Fixture::new(vec![shell(look), call("read", read), text("Done.")]);
    let turn = fixture.begin_as_nobody().prompt("Look.");
    let results = turn.results();
    assert!(!results[0].1.contains("\n0\n"), "this shows something only as an ordinary user");
    for (_, told) in &results {
        assert!(!told.contains("token-of-this-run"), "{told}");
        assert!(told.to_lowercase().contains("permission denied"), "{told}");
    }
}

#[test]
fn wrong_settings_are_told_to_whoever_asks_first() {
    let fixture = Fixture::new(vec![text("never")]).with("LAMP_MODE", "yolo");
    let mut agent = fixture.start();
    let turn = agent.request("initialize", &json!({ "protocolVersion": 1 }));
    let error = turn.failure();
    assert_eq!(error["data"], json!({ "kind": "configuration", "variable": "LAMP_MODE" }));
    assert!(error["message"].as_str().unwrap().contains("use one of `research`"), "{error}");
    assert_eq!(agent.end().code(), Some(2));
}

#[test]
fn what_is_attached_to_a_prompt_is_quoted() {
    let fixture = Fixture::new(vec![text("Read.")]);
    let mut agent = fixture.begin();
    let blocks = json!([
        { "type": "text", "text": "Look at this." },
        { "type": "resource", "resource": { "uri": "file:///a", "text": "inside" } },
        { "type": "resource_link", "name": "b", "uri": "file:///b" },
    ]);
    let session = agent.session.clone();
    let turn = agent.request("session/prompt", &json!({ "sessionId": session, "prompt": blocks }));
    assert_eq!(turn.reason(), "end_turn");
    let heard = fixture.model.asked()[0].body["messages"][0]["content"][0]["text"].clone();
    assert_eq!(
        heard,
        "Look at this.\n\n[attached, data: file:///a]\ninside\n[end of what is attached]\n\n[attached: file:///b]"
    );
}
