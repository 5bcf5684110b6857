//! A task from the command line: handed over, decided about, looked at, merged and proven, with a real server and real sandboxes.

use unsupported::supported;

use crate::fixture::{CALC, Fixture};

/// The kinds of events that a log without a terminal has told.
fn kinds(log: &str) -> Vec<&str> {
    let kinds = log.lines().filter_map(|line| line.split_whitespace().nth(1));
    kinds.filter(|kind| !kind.starts_with("agent.") && *kind != "charged").collect()
}

#[test]
fn a_person_gets_from_a_sentence_to_a_merged_change_by_what_is_printed() {
    let fixture = supported!(Fixture::build());
    fixture.server.world().write("calc/notes.txt", "mine");

    let run = fixture.lamp(&["run", "make the sum right", "--agent", "mender"]);
    assert_eq!(run.code(), Some(3), "{}", run.story());
    let told = ["requested", "admitted", "prepared", "researched", "plan_submitted"];
    assert_eq!(kinds(&run.out()), told);
    let err = run.err();
    for words in ["Repository calc (", "changes to 1 file are not committed", "lamp approve t_"] {
        assert!(err.contains(words), "`{words}` in {err}");
    }

    // Where nobody can be asked, the plan has to be named, and it has to be the one that waits.
    let unnamed = fixture.lamp(&["approve", "last"]);
    assert_eq!(unnamed.code(), Some(1), "{}", unnamed.story());
    let wrong = fixture.lamp(&["approve", "last", &"0".repeat(64)]);
    assert!(
        wrong.code() == Some(1) && wrong.err().contains("nothing was approved"),
        "{}",
        wrong.story()
    );
    assert_eq!(fixture.json(&["get", "last"])["state"], "awaiting approval");

    // The line that was printed is typed as it is.
    let line = err.lines().find(|line| line.trim_start().starts_with("lamp approve")).unwrap();
    let words: Vec<&str> = line.split_whitespace().take(4).skip(1).collect();
    let approved = fixture.lamp(&words);
    assert_eq!(approved.code(), Some(0), "{}", approved.story());

    let followed = fixture.wait("last", "pull request open");
    let number = followed["pull_request"].as_u64().unwrap().to_string();
    assert!(fixture.lamp(&["diff", "last"]).out().contains("+    return a + b"));
    assert_eq!(fixture.lamp(&["review", "last"]).code(), Some(0));

    let verified = fixture.lamp(&["verify", "last", "--save", "receipt.json"]);
    // The repository has no check: what is signed is true, and says so.
    assert_eq!(verified.code(), Some(6), "{}", verified.story());
    assert!(!verified.out().contains("does not hold"), "{}", verified.story());
    // A file that is called as the pull request is, whoever delivered it, is not what is meant.
    fs_err::write(fixture.server.world().path().join("calc").join(&number), "no receipt").unwrap();
    assert_eq!(fixture.lamp(&["verify", &number]).code(), Some(6));
    fs_err::remove_file(fixture.server.world().path().join("calc").join(&number)).unwrap();
    // The file alone, with the wrong commit, and with one letter changed.
    assert_eq!(fixture.lamp(&["verify", "receipt.json"]).code(), Some(6));
    assert_eq!(fixture.lamp(&["verify", "receipt.json", "--commit", "HEAD"]).code(), Some(1));
    let receipt = fixture.server.world().path().join("calc/receipt.json");
    let changed =
        fs_err::read_to_string(&receipt).unwrap().replacen("\"payload\":\"e", "\"payload\":\"f", 1);
    fs_err::write(&receipt, changed).unwrap();
    let tampered = fixture.lamp(&["verify", "receipt.json"]);
    assert!(
        tampered.code() == Some(1) && tampered.err().contains("not to be trusted"),
        "{}",
        tampered.story()
    );

    let merged = fixture.lamp(&["pr", "merge", &number]);
    assert_eq!(merged.code(), Some(0), "{}", merged.story());
    assert!(merged.out().contains("was merged"), "{}", merged.story());
    let file = fixture.server.world().path().join("calc/calc.py");
    assert_eq!(fs_err::read_to_string(file).unwrap(), CALC.replace("a - b", "a + b"));
    let log = fixture.lamp(&["log", "-f", "last"]);
    assert_eq!(
        (log.code(), kinds(&log.out()).last().copied()),
        (Some(0), Some("done")),
        "{}",
        log.story()
    );
    // From a line to the request, the plan and its reason for this file, who approved it, and what the agent said meanwhile.
    let why = fixture.lamp(&["why", "calc.py:2"]);
    let task = fixture.json(&["get", "last"]);
    let plan = words.last().unwrap().get(..12).unwrap();
    for words in [
        task["id"].as_str().unwrap(),
        "make the sum right",
        &format!("#{number}"),
        plan,
        "Add instead of subtracting",
        "this file: it subtracts",
        "approved  by local at ",
        "It subtracted, so I add.",
    ] {
        assert!(why.out().contains(words), "`{words}` in {}", why.story());
    }
}

#[test]
fn a_cancelled_task_says_so_with_its_exit_code_and_unknown_ones_are_told_from_known() {
    let fixture = supported!(Fixture::build());
    let none = fixture.lamp(&["get", "last"]);
    assert!(
        none.code() == Some(1) && none.err().contains("there are no tasks yet"),
        "{}",
        none.story()
    );

    let run =
        fixture.lamp(&["run", "make the sum right", "--agent", "mender", "--plan-only", "--json"]);
    assert_eq!(run.code(), Some(0), "{}", run.story());
    let last: serde_json::Value = serde_json::from_str(run.out().lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["task"]["state"]),
        (&"task".into(), &"awaiting approval".into())
    );

    // A script waits so, and is told what for: on a plan it ends as `lamp run` does.
    let waits = fixture.lamp(&["log", "-f", "last"]);
    assert_eq!(waits.code(), Some(3), "{}", waits.story());
    let approve = format!("lamp approve {}", last["task"]["short"].as_str().unwrap());
    assert!(waits.err().contains(&approve), "{}", waits.story());
    let refused = fixture.lamp(&["resume", "last", "--json"]);
    let error: serde_json::Value = serde_json::from_str(refused.err().trim()).unwrap();
    assert_eq!((refused.code(), &error["error"]["code"]), (Some(1), &"not_now".into()));

    let unknown = fixture.lamp(&["get", "t_00000000"]);
    assert!(unknown.err().contains("these are the newest:\n  t_"), "{}", unknown.story());
    assert_eq!(fixture.lamp(&["cancel", "last"]).code(), Some(0));
    assert_eq!(fixture.lamp(&["log", "-f", "last"]).code(), Some(5));
    let nothing = fixture.lamp(&["run", " "]);
    assert!(
        nothing.code() == Some(1) && nothing.err().contains("there is nothing to say"),
        "{}",
        nothing.story()
    );
}
