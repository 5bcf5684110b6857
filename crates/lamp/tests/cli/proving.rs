//! What the checks say of a change is one sentence, and is the same wherever somebody or a script meets it.

use serde_json::Value;
use unsupported::supported;

use crate::fixture::Fixture;

const TESTS: &str = "import unittest\nfrom calc import add\n\n\nclass Sums(unittest.TestCase):\n    def test_five(self):\n        self.assertEqual(add(2, 3), 5)\n\n    def test_nothing(self):\n        self.assertEqual(add(2, 0), 2)\n";

/// What has to be the same, and the codes that scripts see.
struct Told<'a> {
    sentence: &'a str,
    conclusion: &'a str,
    /// The kind of the event.
    event: &'a str,
    /// Of `lamp checks`, `lamp verify` and `lamp log -f`.
    code: i32,
}

/// Looks at a delivered task from every side.
fn is_told(fixture: &Fixture, request: &str, told: &Told<'_>) -> (String, Value) {
    let Told { sentence, conclusion, event, code } = *told;
    let task = fixture.planned(request);
    fixture.approve(&task);
    let page = fixture.wait(&task, "pull request open");
    assert_eq!(page["headline"]["sentence"], sentence, "{page:#}");
    let log = fixture.lamp(&["log", "-f", &task]);
    assert_eq!(log.code(), Some(code), "{}", log.story());
    let line = log.out().lines().find(|line| line.contains(" checks_")).unwrap().to_owned();
    assert!(line.contains(&format!(" {event} ")) && line.contains(sentence), "{line}");
    assert!(log.err().contains(&format!("Checks: {sentence}.")), "the last words: {}", log.story());
    let checks = fixture.lamp(&["checks", &task]);
    let whole = format!("{}{}.", sentence[..1].to_uppercase(), &sentence[1..]);
    assert!(checks.out().starts_with(&whole), "{}", checks.story());
    assert_eq!(checks.code(), Some(code), "{}", checks.story());
    let json = fixture.json(&["checks", &task]);
    let verified = fixture.lamp(&["verify", &task, "--save", "../receipt.json"]);
    assert_eq!(verified.code(), Some(code), "{}", verified.story());
    assert!(verified.out().contains(sentence), "{}", verified.story());
    assert!(!verified.out().contains("NOT hold"), "an honest receipt: {}", verified.story());
    let verified = fixture.json(&["verify", &task]);
    assert_eq!((&verified["holds"], &verified["headline"]), (&true.into(), &sentence.into()));
    let receipt = fs_err::read(fixture.server.world().path().join("receipt.json")).unwrap();
    let envelope = evidence::envelope::Envelope::read(&receipt).unwrap();
    let payload: Value = serde_json::from_slice(envelope.payload()).unwrap();
    assert_eq!(payload["predicate"]["headline"]["conclusion"], conclusion, "{payload:#}");
    let number = page["pull_request"].as_u64().unwrap().to_string();
    let body = fixture.json(&["pr", "get", &number])["body"].as_str().unwrap().to_owned();
    let plain = body.replace('\\', "");
    assert!(plain.contains(&format!("**{whole}**")), "{body}");
    fixture.fine(&["pr", "close", &number]);
    (plain, json)
}

#[test]
fn event_checks_verify_pull_request_receipt_and_exit_code_say_the_same() {
    let fixture = supported!(Fixture::build());

    fixture.commit("Makefile", "test:\n\tno-such-program --all\n");
    let unproven = Told {
        sentence: "nothing was proven, because 1 of 1 check could not be run",
        conclusion: "unproven",
        event: "checks_unproven",
        code: 6,
    };
    let (body, checks) = is_told(&fixture, "make the sum right", &unproven);
    let next = checks["headline"]["next"][0].as_str().unwrap();
    assert!(next.contains("`no-such-program` was not found in the `PATH` of the image"), "{next}");
    assert!(next.contains("`image.setup`") && next.contains("`toolchains`"), "{next}");
    assert!(body.contains("no-such-program` was not found"), "{body}");
    assert!(!body.contains("0 passed, 0 failed"), "{body}");

    fixture.commit("Makefile", "test:\n\tpython3 -m unittest -v\n");
    fixture.commit("test_calc.py", TESTS);
    let not_worse = Told {
        sentence: "nothing got worse: 1 check fails as before (1 test)",
        conclusion: "nothing_worse",
        event: "checks_not_worse",
        code: 0,
    };
    let request = "tell more\n#implement\ngit checkout calc.py; echo '# more' >> calc.py\n";
    let (body, checks) = is_told(&fixture, request, &not_worse);
    let warning = checks["headline"]["warning"].as_str().unwrap();
    assert!(warning.contains("nothing that failed before was mended"), "{warning}");
    assert!(body.contains("Nothing that failed before was mended"), "{body}");

    let passed = Told {
        sentence: "passed: 2 tests ran, and all pass; 1 that failed before is mended",
        conclusion: "passed",
        event: "checks_passed",
        code: 0,
    };
    let (body, _) = is_told(&fixture, "make the sum right", &passed);
    assert!(body.contains("mended: ") && body.contains("test_five"), "named: {body}");

    let gone = Told {
        sentence: "nothing got worse: 1 test that failed is gone",
        conclusion: "nothing_worse",
        event: "checks_not_worse",
        code: 0,
    };
    let request =
        "mend it\n#implement\ngit checkout calc.py; sed -i '/def test_five/,+2d' test_calc.py\n";
    let (body, checks) = is_told(&fixture, request, &gone);
    assert_eq!(checks["checks"][0]["sentence"], "what failed is gone");
    assert_eq!(body.matches("`test_five` is gone").count(), 1, "told once: {body}");
    assert!(body.contains("test deleted: test_calc.py:6: `test_five` is gone"), "{body}");
    assert!(!body.contains("no longer run"), "{body}");
    assert!(!body.contains("**fixed**") && !body.contains("- mended: "), "{body}");
}
