//! What a person does with what a task made: `lamp pr`, and where to look, what it cost, whether it holds.

use unsupported::supported;

use crate::fixture::{Fixture, filters};

/// Greets as well, when somebody on the pull request says so.
const GREETS: &str = r#"make the sum right
#implement
if grep -q 'say hel''lo' "$TOLD"; then echo hello > HELLO; fi
"#;

#[test]
fn a_pull_request_is_listed_shown_commented_on_and_closed_from_the_command_line() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    insta::assert_snapshot!(fixture.story(&[&["pr", "list"], &["pr", "diff", "1"]]));
    let task = fixture.planned(GREETS);
    let early = fixture.lamp(&["pr", "diff", &task]);
    assert!(
        early.err().contains("has no pull request: it is awaiting approval"),
        "{}",
        early.story()
    );
    fixture.approve(&task);
    let first = fixture.wait(&task, "pull request open")["commit"].clone();
    insta::assert_snapshot!(fixture.story(&[
        &["pr", "list", "--repo", "calc"],
        &["pr", "diff", "1"],
        &["pr", "comment", "1"],
        &["pr", "comment", "1", "say hello", "--path", "calc.py"],
        &["pr", "comment", "1", "say hello", "--path", "calc.py", "--line", "2"],
    ]));

    // The comment wakes the task, which goes on with the same branch.
    fixture.until("it has gone on", || {
        let task = fixture.json(&["get", &task]);
        assert_ne!(task["state"], "paused", "{task:#}");
        (task["state"] == "pull request open" && task["commit"] != first).then_some(())
    });
    let pull = fixture.json(&["pr", "get", &task]);
    assert_eq!((&pull["number"], &pull["comments"][0]["line"]), (&1.into(), &2.into()), "{pull:#}");
    let listed = fixture.json(&["pr", "list"]);
    assert_eq!(listed["pulls"].as_array().unwrap().len(), 1);
    let patch = fixture.json(&["pr", "diff", "1"]);
    assert!(patch.to_string().contains("+hello"), "{patch:#}");

    insta::assert_snapshot!(fixture.story(&[&["pr", "close", "1"], &["pr", "close", "1"]]));
    fixture.wait(&task, "done");
    assert_eq!(fixture.json(&["get", &task])["done_because"], "pull_request_closed");
    insta::assert_snapshot!(fixture.story(&[
        &["pr", "comment", "1", "a pity"],
        &["pr", "merge", "1"],
        &["pr", "list"],
    ]));
}

#[test]
fn where_the_work_is_what_it_cost_and_whether_it_holds_is_told() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    insta::assert_snapshot!(fixture.story(&[&["list"], &["usage"]]));
    let task = fixture.planned("make the sum right");
    insta::assert_snapshot!(fixture.story(&[
        &["open", &task],
        &["checks", &task],
        &["verify", &task]
    ]));
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
    insta::assert_snapshot!(fixture.story(&[
        &["list", "--repo", "calc"],
        &["list", "--repo", "other"],
        &["open", &task],
        &["usage", "--repo", "calc"],
        &["verify", &task],
    ]));
    let places = fixture.json(&["open", &task]);
    assert_eq!(places["pull_request"], 1);
    assert_eq!(fixture.json(&["get", &task])["commit"], places["commit"]);
    let spent = fixture.json(&["usage", &task]);
    let phases: Vec<&str> = spent["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["phase"].as_str().unwrap())
        .collect();
    let all = ["prepare", "research", "plan", "implement", "verify", "review", "deliver"];
    assert_eq!(phases, all);
    assert!(spent["total"]["cpu_millis"].as_u64() > Some(0), "{spent:#}");
    assert_eq!(fixture.json(&["usage"])["tasks"], 1);
    let verified = fixture.json(&["verify", &task]);
    assert_eq!(verified["holds"], true);
    assert_eq!(verified["commit"], places["commit"]);

    // From the second task on a plan has an estimate, and is still the one that was approved.
    let second = fixture.planned("make the sum right again");
    assert!(fixture.json(&["plan", &second])["plan"]["estimate"]["seconds"].as_u64() > Some(0));
    fixture.approve(&second);
    fixture.wait(&second, "pull request open");
    let verified = fixture.json(&["verify", &second]);
    let row = verified["rows"].as_array().unwrap().iter().find(|row| row["subject"] == "plan");
    assert_eq!(row.unwrap()["finding"], "holds", "{verified:#}");
}
