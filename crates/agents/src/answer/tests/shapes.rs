//! What is in an answer: by its schema, all faults at once, each with its place.

use std::time::Duration;

use contracts::agent::Finding;
use domain::money::Money;
use serde_json::{Value, json};

use super::*;
use crate::brief::Templates;

fn plan() -> Value {
    json!({
        "summary": "Wait for the session",
        "files": [{ "path": "tests/login.rs", "why": "race" }],
        "tests": ["log in twice"],
        "expected_behaviour": "it passes",
        "commands": ["cargo test"],
        "hosts": [],
        "risks": [],
    })
}

fn planned(change: impl FnOnce(&mut Value)) -> Result<Answer, Faults> {
    let mut plan = plan();
    change(&mut plan);
    read_plain(Mode::Plan, &json!({ "plan": plan }).to_string())
}

fn sentences(answer: Result<Answer, Faults>) -> String {
    answer.unwrap_err().sentences().join("\n")
}

#[test]
fn a_plan_is_understood() {
    let Ok(Answer::Plan(simple)) = planned(|_| {}) else { panic!("it is a plan") };
    assert_eq!(simple.files[0].path, "tests/login.rs");
    assert_eq!((simple.estimate.time, simple.estimate.cost), (None, None));
    let estimates = [
        (json!(30), json!(1.5), 30, 1_500_000),
        (json!(30.0), json!(0.1), 30, 100_000),
        (json!(0), json!(0.000_001), 0, 1),
        (json!(100_000), json!(1_000_000), 100_000, 1_000_000_000_000),
        (json!(1), json!(999_999.999_999), 1, 999_999_999_999),
        (json!(1), json!(-0.0), 1, 0),
    ];
    for (minutes, dollars, whole_minutes, micros) in estimates {
        let answer = planned(|plan| {
            plan["minutes"] = minutes;
            plan["dollars"] = dollars;
        });
        let Ok(Answer::Plan(plan)) = answer else { panic!("{answer:?}") };
        assert_eq!(plan.estimate.time, Some(Duration::from_secs(whole_minutes * 60)));
        assert_eq!(plan.estimate.cost, Some(Money::from_micros(micros)));
    }
    let unknown = planned(|plan| plan["minutes"] = Value::Null);
    assert!(matches!(unknown, Ok(Answer::Plan(plan)) if plan.estimate.time.is_none()));
}

#[test]
fn all_faults_are_told_each_with_its_place() {
    let faults = sentences(planned(|plan| {
        *plan = json!({
            "summary": " ",
            "files": [{ "path": 7 }, { "path": "../x", "why": "y", "how": "z" }],
            "tests": "none",
            "commands": ["ls\u{1b}[2K", "echo \u{202e}x"],
            "hosts": ["a b"],
            "risks": [],
            "minutes": 1.5,
            "dollars": -1,
        });
    }));
    insta::assert_snapshot!(faults);
}

#[test]
fn a_plan_stays_inside_its_repository() {
    for path in
        ["/etc/passwd", "../x", "a/../../x", ".git/config", "a/.GIT/hooks", "a//b", "a\\b", "a/"]
    {
        let faults = sentences(planned(|plan| plan["files"][0]["path"] = json!(path)));
        assert!(faults.starts_with(&format!("/plan/files/0/path: `{path}` ")), "{faults}");
    }
}

#[test]
fn money_is_exact() {
    let costing = |dollars: &str| {
        let begin = format!("{{\"plan\":{{\"dollars\":{dollars},");
        let text = json!({ "plan": plan() }).to_string().replacen("{\"plan\":{", &begin, 1);
        sentences(read_plain(Mode::Plan, &text))
    };
    let wrong =
        ["0.0000001", "1.0000001", "1e400", "NaN", "-0.01", "1000001", "\"5\"", "1e3000000000"];
    insta::assert_snapshot!(wrong.map(costing).join("\n"), @r#"
    /plan/dollars: 1e-7 has more than 6 digits after the point
    /plan/dollars: 1.0000001 has more than 6 digits after the point
    the answer is not JSON as it should be: number out of range at line 1 column 24
    the answer is not JSON as it should be: expected value at line 1 column 20
    /plan/dollars: value is less than the minimum of 0
    /plan/dollars: value is greater than the maximum of 1000000
    /plan/dollars: value is not of types "null", "number"
    the answer is not JSON as it should be: number out of range at line 1 column 31
    "#);
}

#[test]
fn findings_are_understood_and_none_is_a_pass() {
    let pass = read_plain(Mode::Review, r#"{"review": {"findings": []}}"#);
    assert_eq!(pass, Ok(Answer::Review(Vec::new())));
    let one = r#"{"review": {"findings": [{"path": "src/a.rs", "line": 3, "what": "w", "failing_input": "f"}]}}"#;
    let finding = Finding {
        path: "src/a.rs".to_owned(),
        line: 3,
        what: "w".to_owned(),
        failing_input: "f".to_owned(),
    };
    assert_eq!(read_plain(Mode::Review, one), Ok(Answer::Review(vec![finding])));
    let wrong = json!({ "review": { "findings": [
        { "path": "/src/a.rs", "line": 0, "what": "", "failing_input": "f" },
        { "path": ".git/x", "line": 1.5, "what": "w" },
        { "path": "a", "line": 4_294_967_296_u64, "what": "w", "failing_input": "f" },
    ] } });
    insta::assert_snapshot!(sentences(read_plain(Mode::Review, &wrong.to_string())));
}

#[test]
fn a_block_that_does_not_fit_its_mode_is_a_fault() {
    let answers = [
        ("plan", json!({ "plan": plan() }), Mode::Plan),
        ("review", json!({ "review": { "findings": [] } }), Mode::Review),
        ("notes", json!({ "notes": "n" }), Mode::Research),
        ("change", json!({ "change": { "summary": "s" } }), Mode::Implement),
    ];
    for (key, answer, fitting) in answers {
        for mode in Mode::ALL {
            let read = read_plain(mode, &answer.to_string());
            if mode == fitting {
                assert!(read.is_ok(), "{key} in {mode:?}: {read:?}");
                continue;
            }
            let begin =
                format!("the answer has the key `{key}`: it must be an object with one key, `");
            assert!(sentences(read).starts_with(&begin), "{key} in {mode:?}");
        }
    }
}

#[test]
fn an_answer_is_one_object_with_one_key() {
    let wrong = [
        "[]",
        "null",
        "7",
        "\"plan\"",
        "{}",
        r#"{"plan": {}, "question": {}}"#,
        r#"{"Plan": {}}"#,
        r#"{"answer": 1}"#,
        "{} {}",
        "{\"plan\":",
        "{'plan': {}}",
        "{\"plan\": {},}",
        "// no\n{}",
        "\u{feff}{}",
    ];
    let told: Vec<String> = wrong.iter().map(|it| sentences(read_plain(Mode::Plan, it))).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    for twice in [
        r#"{"question": {"text": "a"}, "question": {"text": "b"}}"#,
        r#"{"question": {"text": "a", "text": "b"}}"#,
        r#"{"question": {"text": "a", "\u0074ext": "b"}}"#,
    ] {
        let told = sentences(read_plain(Mode::Plan, twice));
        assert!(told.contains("is there twice"), "{told}");
    }
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    for depth in [17, 127, 128, 100_000] {
        let text = format!("{{\"notes\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        let told = sentences(read_plain(Mode::Research, &text));
        assert!(told.contains("it is nested deeper than 16"), "{told}");
    }
    let objects = format!("{}1{}", "{\"a\":".repeat(20), "}".repeat(20));
    assert!(sentences(read_plain(Mode::Research, &objects)).contains("nested deeper"));
}

#[test]
fn a_question_needs_a_text() {
    let wrong = [
        json!({ "question": "which?" }),
        json!({ "question": {} }),
        json!({ "question": { "text": "\n" } }),
        json!({ "question": { "text": "x".repeat(4_001) } }),
        json!({ "question": { "text": "a", "choices": ["", "b"] } }),
        json!({ "question": { "text": "a", "choices": null } }),
        json!({ "question": { "text": "a\u{0}" } }),
        json!({ "question": { "text": "a", "to": "ann" } }),
    ];
    let told: Vec<String> =
        wrong.iter().map(|it| sentences(read_plain(Mode::Plan, &it.to_string()))).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn faults_are_bounded_in_number_and_length() {
    let files: Vec<Value> = (0..400).map(|_| json!({ "path": "../".repeat(100) })).collect();
    let faults = planned(|plan| plan["files"] = json!(files)).unwrap_err();
    assert_eq!(faults.sentences().len(), 21);
    assert!(faults.sentences().iter().all(|it| it.len() <= 400 && !it.contains('\n')), "{faults}");
    assert_eq!(faults.sentences().last().unwrap(), "and more of the kind");
}

fn repaired(mode: Mode, faults: &Faults) -> String {
    Templates::builtin().unwrap().repair(mode, faults).unwrap()
}

#[test]
fn every_schema_can_be_used_and_every_fault_gets_a_repair_round() {
    for mode in Mode::ALL {
        let faults = read_plain(mode, "[]").unwrap_err();
        let said = Templates::builtin().unwrap().repair(mode, &faults).unwrap();
        assert!(said.starts_with(&format!("# Repair: {}\n", mode.name())), "{said}");
        assert!(said.contains("the answer is not an object"), "{said}");
        assert!(said.contains(Kind::of(mode).schema().trim_end()), "{said}");
    }
    insta::assert_snapshot!(repaired(
        Mode::Research,
        &read_plain(Mode::Research, "{\"notes\": 7}").unwrap_err()
    ));
}

#[test]
fn an_answer_with_thousands_of_faults_and_a_long_key_costs_little() {
    let odd = vec!["\u{200b}"; 20_000];
    let answer = json!({ "plan": { "k".repeat(100_000): odd } }).to_string();
    let faults = read_plain(Mode::Plan, &answer).unwrap_err().to_string();
    assert!(faults.len() < 20_000, "{}", faults.len());
}
