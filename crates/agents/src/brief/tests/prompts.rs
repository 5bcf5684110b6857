//! Whole prompts, to be read in a diff.

use super::*;

#[test]
fn this_is_what_a_researcher_is_told() {
    insta::assert_snapshot!(prompt(Mode::Research, &rich(), &facts()));
}

#[test]
fn this_is_what_a_planner_is_told() {
    insta::assert_snapshot!(prompt(Mode::Plan, &rich(), &facts()));
}

#[test]
fn this_is_what_an_implementer_is_told() {
    insta::assert_snapshot!(prompt(Mode::Implement, &rich(), &facts()));
}

#[test]
fn this_is_what_a_reviewer_is_told() {
    let mut facts = facts();
    facts[0].base = Some("b".repeat(40).parse().unwrap());
    facts[0].touched = words(&["AGENTS.md", "new/CLAUDE.md"]);
    insta::assert_snapshot!(prompt(Mode::Review, &rich(), &facts));
}

#[test]
fn this_is_what_is_told_when_little_is_known() {
    let brief = Brief { request: "Mend the test.".to_owned(), ..Brief::default() };
    let told = prompt(Mode::Implement, &brief, &[]);
    let (begin, _format) = told.split_once("## What to deliver").unwrap();
    insta::assert_snapshot!(begin);
}

#[test]
fn this_is_what_a_command_gets_at_its_input() {
    let told = task(Mode::Implement, &rich(), &words(&["/workspace/web"]));
    assert_eq!(told.lines().count(), 1);
    let value: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(value["mode"], "implement");
    assert_eq!(value["directories"][0], "/workspace/web");
    assert_eq!(value["plan"]["files"][0]["path"], "tests/login.rs");
    assert_eq!(value["conditions"]["budget_micros"], 5_000_000);
    assert_eq!(value["conditions"]["commands"], serde_json::Value::Null);
    assert_eq!(value["guidance"][1], "On second thought, you may.");
    assert_eq!(value["in_flight"][0]["branch"], "lamp/rename-session");
    let poor: serde_json::Value =
        serde_json::from_str(&task(Mode::Plan, &Brief::default(), &[])).unwrap();
    let keys = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>()
    };
    assert_eq!(keys(&poor), keys(&value));
}

/// Scripted models know by it what they are asked for.
#[test]
fn every_prompt_begins_with_its_phase() {
    for mode in Mode::ALL {
        for told in [prompt(mode, &rich(), &facts()), prompt(mode, &Brief::default(), &[])] {
            assert_eq!(told.lines().next(), Some(format!("# Phase: {}", mode.name()).as_str()));
            assert_eq!(told.contains("\"question\""), mode != Mode::Review, "{told}");
        }
    }
}

#[test]
fn the_examples_in_the_prompts_are_answers() {
    for mode in Mode::ALL {
        let told = prompt(mode, &rich(), &facts());
        let (delivering, asking) = told.split_once("## Asking").unwrap_or((told.as_str(), ""));
        assert_eq!(asking.is_empty(), mode == Mode::Review, "who reviews asks nobody");
        if !asking.is_empty() {
            let question = crate::answer::read(mode, asking).unwrap();
            assert!(matches!(question, contracts::agent::Answer::Question { .. }), "{question:?}");
        }
        let (_before, delivering) = delivering.split_once("## What to deliver").unwrap();
        let answer = crate::answer::read(mode, delivering).unwrap();
        assert!(!matches!(answer, contracts::agent::Answer::Question { .. }), "{answer:?}");
    }
}

#[test]
fn nearer_notes_come_first_and_those_without_room_are_named() {
    let note =
        |path: &str, size: usize| Instruction { path: path.to_owned(), text: "x".repeat(size) };
    let facts = RepositoryFacts {
        directory: "/workspace/web".to_owned(),
        instructions: vec![
            note("d/e/AGENTS.md", 10),
            note("c/AGENTS.md", 20 * 1024),
            note("b/AGENTS.md", 20 * 1024),
            note("AGENTS.md", 20 * 1024),
            note("d/AGENTS.md", 300),
        ],
        ..RepositoryFacts::default()
    };
    let told = prompt(Mode::Plan, &Brief::default(), &[facts]);
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text} is not there"));
    assert!(at("`AGENTS.md`:") < at("`b/AGENTS.md`"));
    assert!(at("`b/AGENTS.md`") < at("`c/AGENTS.md`"));
    assert!(told.contains("bytes left out"));
    // Three times 16 KiB is all; whoever is small and comes later has no room either.
    let (_before, after) = told.split_once("There are more of them").unwrap();
    assert!(after.contains("d/AGENTS.md\nd/e/AGENTS.md"), "{after}");
}

#[test]
fn of_peoples_words_the_newest_stay() {
    let brief = Brief {
        guidance: (1..=30).map(|number| format!("word number {number}.")).collect(),
        feedback: (1..=30).map(|number| format!("finding number {number}.")).collect(),
        ..Brief::default()
    };
    let told = prompt(Mode::Implement, &brief, &[]);
    assert!(told.contains("word number 30.") && told.contains("word number 11."), "{told}");
    assert!(!told.contains("word number 10.") && told.contains("(10 older ones are left out.)"));
    assert!(told.contains("finding number 1.") && told.contains("finding number 20."));
    assert!(!told.contains("finding number 21."));
}
