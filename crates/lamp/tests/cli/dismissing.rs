//! A person reads what the reviewer found and says that it does not count: on a real server, for people and for programs.

use unsupported::supported;

use crate::fixture::{Fixture, filters};

/// Its reviewer finds two things that its agent does nothing about.
const STUBBORN: &str = r#"make the sum right
#review
answer '{"review": {"findings": [{"path": "calc.py", "line": 2, "what": "large sums are not looked at", "failing_input": "add(1e308, 1e308)"}, {"path": "calc.py", "line": 1, "what": "there is no test", "failing_input": "add(1, 1)"}]}}'
"#;

#[test]
fn what_a_reviewer_finds_is_dismissed_from_the_command_line_and_the_change_is_delivered() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let task = fixture.planned(STUBBORN);
    fixture.approve(&task);
    let paused = fixture.wait(&task, "paused");
    assert_eq!(paused["failure"]["kind"], "no_progress", "{paused:#}");
    let review = fixture.json(&["review", &task]);
    let ids: Vec<&str> = review["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    let [large, untested] = ids.as_slice() else { panic!("{review:#}") };
    assert_eq!(fixture.lamp(&["review", &task]).code(), Some(1), "it does not pass");
    insta::assert_snapshot!(fixture.story(&[
        &["review", &task],
        &["review", &task, "--dismiss", "abc"],
        &["review", &task, "--dismiss", "000000000000"],
        &["review", &task, "--why", "because"],
        &["review", &task, "--dismiss", &large[..12], "--why", "sums are small here"],
        &["review", &task, "--dismiss", &large[..12]],
    ]));
    let dismissed = fixture.json(&["review", &task, "--dismiss", untested]);
    assert_eq!(dismissed["state"], "paused", "{dismissed:#}");
    insta::assert_snapshot!(fixture.story(&[&["review", &task], &["get", &task]]));
    assert_eq!(fixture.lamp(&["review", &task]).code(), Some(0), "nothing is left");
    assert_eq!(fixture.json(&["review", &task])["passed"], true);

    fixture.fine(&["resume", &task]);
    let open = fixture.wait(&task, "pull request open");
    assert_eq!(open["commit"], review["commit"], "what was reviewed is delivered");
    let told = &open["dismissed"][0];
    assert_eq!(told["id"], *large);
    assert_eq!(
        (&told["why"], &told["finding"]["line"]),
        (&"sums are small here".into(), &2.into())
    );
    let log = fixture.fine(&["log", &task]);
    assert_eq!(log.matches("review_found_faults").count(), 1, "{log}");
    assert!(log.contains("sums are small here"), "{log}");
    let number = open["pull_request"].to_string();
    let body = fixture.json(&["pr", "get", &number])["body"].to_string();
    assert!(body.contains("0 open, 2 dismissed") && body.contains("sums are small here"), "{body}");
    // The repository has no check, so that nothing was proven; the receipt is true all the same.
    assert_eq!(fixture.lamp(&["verify", &number]).code(), Some(6));
}
