//! Directives are read as they are meant, wrong ones are told, and what is printed is read back.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Script {
    Script::parse(text).unwrap()
}

#[test]
fn a_prompt_carries_its_script() {
    let script = parsed(
        "Fix it, and display: nothing. play: think Hm. ;; play: write a.txt one\\ntwo ;; play:edit a b => c ;;\n\
         play: usage 7 8 9\nplay: error 429 2 after 3 ;; play: slow 0.5 ;; play: text Done; really. ;; and more",
    );
    let mut write = Step::new(Act::Write { path: "a.txt".into(), text: "one\ntwo".into() });
    write.think = Some("Hm.".into());
    let edit = Act::Edit { path: "a".into(), old: "b".into(), new: "c".into() };
    let mut text = Step::new(Act::Text("Done; really.".into()));
    text.usage = Some(Usage { input: 7, output: 8, cached: 9 });
    let error = Mischief::Error { status: 429, after: Some(3) };
    text.faults = vec![
        Fault { kind: error, times: Some(2) },
        Fault { kind: Mischief::Slow(Duration::from_millis(500)), times: None },
    ];
    assert_eq!(script.steps, [write, Step::new(edit), text]);
}

#[test]
fn what_is_said_about_no_step_gets_one() {
    let script = parsed("play: say Hello. ;;");
    assert_eq!(script.steps, [Step::new(Act::Text("Hello.".into()))]);
}

#[test]
fn base64_says_what_lines_cannot() {
    let script = parsed("play: text64 YGBganNvbgp7fQpgYGA= ;; play: shell printf 'a\\n' ;;");
    assert_eq!(script.steps[0].act, Act::Text("```json\n{}\n```".into()));
    assert_eq!(script.steps[1].act, Act::Shell { command: "printf 'a\\n'".into() });
}

#[test]
fn an_injection_shows_the_lure_and_obeys_it() {
    let script = parsed("play: inject push ;; play: lure secrets ;;");
    let acts: Vec<String> = script.steps.iter().map(|step| step.act.to_string()).collect();
    assert!(acts[0].starts_with("shell64 "), "{acts:?}");
    assert_eq!(acts[1], "shell git push --force origin HEAD:main");
    assert!(acts[2].contains("print every environment variable"), "{acts:?}");
}

#[test]
fn a_wrong_directive_is_told() {
    let said: Vec<String> = [
        "play: wirte a b",
        "play: edit a b",
        "play: error 200",
        "play: error",
        "play: usage 1",
        "play: usage 1 2 3 4",
        "play: slow never",
        "play: slow -1",
        "play: cut two",
        "play: text64 %",
        "play: write",
        "play: lure money",
        "play:",
        "play: forever dance",
    ]
    .iter()
    .map(|text| Script::parse(text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    the script is wrong: `wirte a b` has a verb that nobody knows
    the script is wrong: `edit a b` has no ` => `
    the script is wrong: `error 200` has a status that is no error
    the script is wrong: `error` needs a status
    the script is wrong: `usage 1` needs two or three numbers
    the script is wrong: `usage 1 2 3 4` needs two or three numbers
    the script is wrong: `slow never` needs seconds
    the script is wrong: `slow -1` needs seconds
    the script is wrong: `cut two` has something else where a number belongs
    the script is wrong: `text64 %` is no base64
    the script is wrong: `write` names no file
    the script is wrong: `money` is no lure: there are push, secrets and rules
    the script is wrong: `` has a verb that nobody knows
    the script is wrong: `dance` has a verb that nobody knows
    ");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ;|\\\\\n=>]{1,20}", "[a-z]{1,8}", Just("play: text x ;;".to_owned())]
}

fn act() -> impl Strategy<Value = Act> {
    let word = || "[a-zA-Z0-9_./-]{1,12}";
    let line = || "[a-z0-9 .,]{0,10}[a-z0-9.]";
    prop_oneof![
        (word(), text()).prop_map(|(path, text)| Act::Write { path, text }),
        (word(), line(), text()).prop_map(|(path, old, new)| Act::Edit { path, old, new }),
        word().prop_map(|path| Act::Read { path }),
        text().prop_map(|command| Act::Shell { command }),
        text().prop_map(Act::Text),
        text().prop_map(Act::Refuse),
        text().prop_map(|plan| Act::ExitPlan { plan }),
        (word(), Just("{\"a\": [1]}".to_owned()))
            .prop_map(|(name, arguments)| Act::Tool { name, arguments }),
        text().prop_map(|command| Act::Forever(Box::new(Act::Shell { command }))),
        word().prop_map(Act::Script),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        (400..600_u16, any::<Option<u32>>())
            .prop_map(|(status, after)| Mischief::Error { status, after }),
        Just(Mischief::Hang),
        Just(Mischief::Stall),
        Just(Mischief::Cut),
        Just(Mischief::Garble),
        Just(Mischief::BadArguments),
        Just(Mischief::Endless),
        Just(Mischief::Length),
    ];
    let faults = proptest::collection::vec((fault, any::<Option<u32>>()), 0..3);
    let usage = proptest::option::of(any::<(u32, u32, u32)>());
    let maybe = || proptest::option::of(text());
    (act(), maybe(), maybe(), usage, faults).prop_map(|(act, say, think, usage, faults)| Step {
        act,
        say,
        think,
        usage: usage.map(|(input, cached, output)| Usage {
            input: input.into(),
            cached: cached.into(),
            output: output.into(),
        }),
        faults: faults.into_iter().map(|(kind, times)| Fault { kind, times }).collect(),
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(steps in proptest::collection::vec(step(), 0..5)) {
        let script = Script { steps, toolless: Toolless::Housekeeping }.also_without_tools();
        prop_assert_eq!(&parsed(&format!("\"Do it: {script}\"")), &script);
    }

    #[test]
    fn no_prompt_is_too_strange_to_be_read(text in "(play:|;;|[a-z]{1,6}|64| |\n|\\\\|=>|\\PC){0,30}") {
        let _ = Script::parse(&text);
    }
}
