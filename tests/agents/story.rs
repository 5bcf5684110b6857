//! A bug from a sentence to a review with the built-in agent alone, and a program without any model as the worker.

use serde_json::json;
use testkit::model::stories::{Bug, Phase};

use crate::fixture::{Fixture, Told};

const PLAN: &str = r#"```lamp-answer
{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "calc.py", "why": "it subtracts"}],
 "tests": ["2 and 3 is 5"], "expected_behaviour": "add(2, 3) is 5", "commands": ["python3 -c 'import calc'"],
 "hosts": [], "risks": [], "minutes": 2, "dollars": 0.05}}
```"#;
const REVIEW: &str = "Nothing is wrong.\n\n```lamp-answer\n{\"review\": {\"findings\": []}}\n```";
const MARKERS: [(Phase, &str); 4] = [
    (Phase::Research, "# Phase: research"),
    (Phase::Plan, "# Phase: plan"),
    (Phase::Implement, "# Phase: implement"),
    (Phase::Review, "# Phase: review"),
];

fn run(fixture: &Fixture, agent: &str, more: &[&str]) -> Told {
    let repository = fixture.repository();
    let fresh = ["--tier", "verified", "--repository", &repository];
    let place = if more.contains(&"--sandbox") { &[][..] } else { &fresh[..] };
    let told = fixture.lamp(&[&["agent", "run", agent, "--json"], place, more].concat());
    assert!(told.said.succeeded(), "{agent} {more:?}: {}", told.said);
    told
}

#[test]
fn the_built_in_agent_finds_plans_mends_and_reviews_a_bug() {
    let fixture = Fixture::small("story");
    let bug = Bug::in_a_sum().answering(Phase::Plan, PLAN).answering(Phase::Review, REVIEW);
    fixture.model.tells(&bug, &MARKERS);
    let request = "The sum is wrong: 2 and 3 should be 5.";
    let of = |mode: &'static str| [request, "--mode", mode, "--model", "m"];

    let found = run(&fixture, "builtin", &of("research"));
    let notes = found.answer()["notes"]["text"].as_str().unwrap().to_owned();
    assert!(notes.contains("`a - b` where `a + b` belongs"), "{notes}");

    let planned = run(&fixture, "builtin", &of("plan"));
    let plan = &planned.answer()["plan"];
    assert_eq!((&plan["files"][0]["path"], &plan["minutes"]), (&json!("calc.py"), &json!(2)));
    assert_eq!(plan["cost_micros"], 50_000);

    let mended = run(&fixture, "builtin", &[&of("implement")[..], &["--keep", "mended"]].concat());
    assert_eq!(mended.answer(), &json!({ "change": {} }));
    let calls = mended.events("tool_call");
    let failed = calls.iter().filter(|call| call["status"] == "failed").count();
    let tested = fixture.house.shell("mended", &format!("cd /workspace/project && {}", bug.test));
    assert!(tested.succeeded(), "the bug is gone: {tested}");
    assert!(mended.messages().contains("The test fails: I was wrong."), "{failed} calls failed");

    let refused = fixture.lamp(
        &[&["agent", "run", "builtin"], &of("review")[..], &["--sandbox", "mended"]].concat(),
    );
    assert!(
        !refused.said.succeeded() && refused.said.err.contains("only `implement` may write"),
        "{}",
        refused.said
    );
    let reviewed = run(&fixture, "builtin", &of("review"));
    assert_eq!(reviewed.answer()["review"]["findings"], json!([]));
}

#[test]
fn a_program_without_a_model_does_the_work_and_answers_in_a_file() {
    let fixture = Fixture::small("command");
    let work = "read -r task; echo \"$task\" | grep -q '\"request\":\"add instead\"' || exit 3; sed -i 's/a - b/a + b/' calc.py; echo mended";
    let words = ["add instead", "--command", work, "--keep", "done"];
    let told = run(&fixture, "command", &words);
    assert_eq!(told.answer(), &json!({ "change": {} }));
    assert_eq!(told.messages(), "mended\n");
    let inside = fixture.house.shell("done", "grep return /workspace/project/calc.py");
    assert_eq!(inside.out.trim(), "return a + b");

    let plan = r#"printf '{"plan": {"summary": "s", "files": [{"path": "calc.py", "why": "w"}], "tests": [], "expected_behaviour": "e", "commands": [], "hosts": [], "risks": []}}' > "$LAMP_ANSWER""#;
    let told = run(&fixture, "command", &["plan it", "--mode", "plan", "--command", plan]);
    assert_eq!(told.answer()["plan"]["summary"], "s");

    let repository = fixture.repository();
    let fails = fixture.lamp(&[
        "agent",
        "run",
        "command",
        "x",
        "--tier",
        "verified",
        "--json",
        "--repository",
        &repository,
        "--command",
        "echo on its way; echo no >&2; exit 7",
    ]);
    assert!(!fails.said.succeeded());
    let error = &fails.end()["error"];
    assert_eq!(error["code"], "agent_stopped", "{error}");
    assert!(error["message"].as_str().unwrap().contains("ended with code 7"), "{error}");
    assert_eq!(error["log"], "no", "{error}");
}
