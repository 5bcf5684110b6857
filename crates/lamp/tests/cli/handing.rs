//! What can be said when a task is handed over: where, by whom, how many at once, and for how much.

use unsupported::supported;

use crate::fixture::{Fixture, filters};

#[test]
fn a_repository_that_the_server_knows_is_named_from_anywhere() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let elsewhere = |words: &[&str]| {
        let mut command = fixture.command(words);
        // The tests may be built inside a repository, which is not the one that is meant.
        command.env("GIT_CEILING_DIRECTORIES", fixture.server.world().path().parent().unwrap());
        crate::world::Ended::of(
            command.current_dir(fixture.server.world().path()).output().unwrap(),
        )
    };
    let unknown =
        elsewhere(&["run", "make the sum right", "--repo", "acme/calc", "--agent", "mender"]);
    insta::assert_snapshot!(unknown.story());
    // Said once with its place, it is known by its name.
    let place = fixture.server.world().path().join("calc");
    let said = format!("acme/calc={}", place.display());
    let words = ["run", "make the sum right", "--repo", &said, "--agent", "mender", "--detach"];
    assert_eq!(elsewhere(&words).code(), Some(0));
    let first = fixture.wait("last", "awaiting approval")["id"].clone();

    let run = elsewhere(&["run", "make the sum right", "--repo", "acme/calc", "--agent", "mender"]);
    assert_eq!(run.code(), Some(3), "{}", run.story());
    let task = fixture.json(&["get", "last"]);
    assert_ne!(task["id"], first);
    assert_eq!(task["repositories"][0]["name"], "acme/calc");
    let nowhere = elsewhere(&["run", "make the sum right", "--agent", "mender"]);
    insta::assert_snapshot!(nowhere.story());
}

#[test]
fn attempts_and_budget_hold_as_they_were_said() {
    let fixture = supported!(Fixture::build());
    fixture.commit("Makefile", "test:\n\t@python3 -c 'import calc; assert calc.add(0, 0) == 0'\n");
    let request = "make the sum right\n#implement\nsed -i 's/return .*/return 7/' calc.py\n";
    let run = fixture.lamp(&[
        "run",
        request,
        "--agent",
        "actor",
        "--attempts",
        "1",
        "--budget",
        "2.50",
        "--watch",
        "--json",
    ]);
    assert_eq!(run.code(), Some(3), "{}", run.story());
    let last: serde_json::Value = serde_json::from_str(run.out().lines().last().unwrap()).unwrap();
    let task = last["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(last["task"]["budget"]["micros"], 2_500_000);
    fixture.approve(&task);
    let stopped = fixture.until("it stops", || {
        let task = fixture.json(&["get", &task]);
        (task["state"] == "paused").then_some(task)
    });
    // Once, as it was said, and not the five times that are usual.
    assert_eq!(stopped["failure"]["kind"], "test_loop", "{stopped:#}");
    assert_eq!(fixture.fine(&["log", &task]).matches("  checks_failed ").count(), 1);
    let checks = fixture.lamp(&["checks", &task]);
    assert_eq!(checks.code(), Some(1), "{}", checks.story());
    for wrong in [["--attempts", "0"], ["--budget", "much"], ["--parallel", "0"]] {
        assert_eq!(fixture.lamp(&[["run", "x"], wrong].concat()).code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn several_work_side_by_side_and_one_is_picked() {
    let fixture = supported!(Fixture::build());
    let begun =
        fixture.json(&["run", "make the sum right", "--agent", "mender", "--parallel", "2"]);
    let tasks: Vec<&str> =
        begun["tasks"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    let [first, second] = tasks[..] else { panic!("{begun:#}") };
    for task in [first, second] {
        let task = fixture.wait(task, "awaiting approval");
        assert_eq!(task["siblings"].as_array().unwrap().len(), 1, "{task:#}");
    }
    assert_eq!(fixture.json(&["list"])["tasks"].as_array().unwrap().len(), 2);
    let picked = fixture.json(&["pick", first]);
    assert_eq!((&picked["task"]["id"], &picked["cancelled"][0]), (&first.into(), &second.into()));
    fixture.wait(second, "cancelled");
    fixture.approve(first);
    fixture.wait(first, "pull request open");
    let said =
        fixture.fine(&["run", "make the sum right", "--agent", "mender", "--agent", "actor"]);
    assert!(said.starts_with("2 tasks were handed over, side by side:\n"), "{said}");
}

/// The actor does what the request says, and changes more than it has to; the other worker does not read that part.
#[test]
fn the_checks_pick_the_better_of_two_attempts() {
    let fixture = supported!(Fixture::build());
    let request = "make the sum right\n#implement\ntouch more\n";
    let begun = fixture.json(&["run", request, "--agent", "actor", "--agent", "mender"]);
    let tasks: Vec<&str> =
        begun["tasks"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    let [more, less] = tasks[..] else { panic!("{begun:#}") };
    for task in [more, less] {
        fixture.wait(task, "awaiting approval");
        let early = fixture.lamp(&["pick", more, "--checks"]);
        assert_eq!(early.code(), Some(1), "{}", early.story());
        fixture.approve(task);
        fixture.wait(task, "pull request open");
    }
    let said = fixture.fine(&["pick", more, "--checks"]);
    assert!(said.contains(" is kept: it changes fewer files.\n"), "{said}");
    fixture.wait(more, "cancelled");
    assert_eq!(fixture.json(&["get", less])["state"], "pull request open");
}
