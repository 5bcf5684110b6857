//! Runs and what follows from them.

use domain::digest::Digest;
use proptest::prelude::*;

use super::*;
use crate::{
    checks::{Check, Confidence},
    finding::{Finding, Kind, Tool},
    location::Workspace,
    naming::Reach,
    report::{Report, Tally},
    test::{Outcome as Test, TestCase, TestName},
    text::Label,
};

fn check(name: &str) -> Check {
    Check::declared(name.to_owned(), "make test".parse().unwrap(), "agents/fix.yaml".to_owned())
}

fn name(name: &str) -> TestName {
    TestName::new("suite", name)
}

/// `a+ b- c? d~`: passed, failed, skipped, flaky by the tool's own word.
fn report(tests: &str) -> Report {
    let mut report = Report::new();
    for word in tests.split_whitespace() {
        let (test, sign) = word.split_at(word.len() - 1);
        let outcome = match sign {
            "+" => Test::Passed,
            "-" => Test::Failed,
            "?" => Test::Skipped,
            "~" => Test::Flaky,
            other => panic!("{other} is no sign"),
        };
        report.ran(TestCase::new(name(test), outcome));
    }
    report
}

fn exits(code: i32, tests: &str) -> Run {
    Run { ended: Ended::Exited(code), report: report(tests) }
}

fn ends(ended: Ended, tests: &str) -> Run {
    Run { ended, report: report(tests) }
}

fn not_run() -> Run {
    ends(Ended::NotRun(Label::new("the sandbox was lost")), "")
}

fn with_errors(code: i32, errors: &[(&str, u32, &str)]) -> Run {
    let mut run = exits(code, "");
    for (file, line, message) in errors {
        let place = Workspace::at("/src").place(file, Some(*line), None);
        run.report.find(Finding::new(Kind::Error, Tool::Rustc, message).rule("E0308").at(place));
    }
    run
}

fn verdict(base: Vec<Run>, head: Vec<Run>) -> Verdict {
    judge(vec![Evidence { check: check("tests"), base, head }])
}

/// The outcome, and the tests that changed.
fn told(base: Vec<Run>, head: Vec<Run>) -> (Outcome, String) {
    let verdict = verdict(base, head);
    let check = &verdict.checks[0];
    let tests: Vec<String> = check
        .tests
        .iter()
        .map(|test| format!("{} {}", test.name.name, test.change.word()))
        .collect();
    (check.outcome, tests.join("; "))
}

fn one(base: Run, head: Run) -> (Outcome, String) {
    told(vec![base], vec![head])
}

#[test]
fn every_way_in_which_a_test_can_change_has_its_word() {
    for (base, head, change) in [
        ("+", "+", ""),
        ("+", "-", "a regression"),
        ("+", "?", "a newly skipped"),
        ("+", "", "a removed"),
        ("+", "~", "a flaky"),
        ("-", "+", "a fixed"),
        ("-", "-", "a known failure"),
        ("-", "?", "a newly skipped"),
        ("-", "", "a removed"),
        ("?", "+", "a new, passing"),
        ("?", "-", "a new, failing"),
        ("?", "?", ""),
        ("?", "", "a removed"),
        ("", "+", "a new, passing"),
        ("", "-", "a new, failing"),
        ("", "?", "a new, skipped"),
        ("~", "+", "a flaky"),
        ("~", "-", "a flaky"),
    ] {
        let tests = |sign: &str| {
            if sign.is_empty() { "other+".to_owned() } else { format!("a{sign} other+") }
        };
        // The exit code is not what is asked here.
        let run = |sign: &str| exits(0, &tests(sign));
        assert_eq!(one(run(base), run(head)).1, change, "{base} to {head}");
    }
}

#[test]
fn a_regression_is_one_that_fails_again() {
    let (base, head) = (exits(0, "a+ b+"), exits(1, "a- b+"));
    assert_eq!(one(base.clone(), head.clone()).0, Outcome::Regressed(Reason::Tests));
    let wanted = verdict(vec![base.clone()], vec![head.clone()]);
    assert_eq!(wanted.wanted_reruns().count(), 1);
    let confirmed = verdict(vec![base.clone()], vec![head.clone(), head.clone()]);
    assert_eq!((confirmed.passes(), confirmed.wanted_reruns().count()), (false, 0));
    let flaky = told(vec![base], vec![head, exits(0, "a+ b+")]);
    assert_eq!(flaky, (Outcome::Flaky, "a flaky".to_owned()));
}

#[test]
fn runs_in_which_another_flaky_test_fails_each_time_are_flaky() {
    let base = vec![exits(0, "a+ b+")];
    assert_eq!(
        told(base, vec![exits(1, "a- b+"), exits(1, "a+ b-")]),
        (Outcome::Flaky, "a flaky; b flaky".to_owned())
    );
}

#[test]
fn a_failure_that_was_there_before_does_not_count() {
    assert_eq!(
        one(exits(1, "a- b+"), exits(1, "a- b+")),
        (Outcome::KnownFailure, "a known failure".to_owned())
    );
    assert_eq!(one(exits(1, "a- b+"), exits(1, "a- b-")).0, Outcome::Regressed(Reason::Tests));
    assert_eq!(one(exits(1, "a- b+"), exits(0, "a+ b+")), (Outcome::Fixed, "a fixed".to_owned()));
    // With `|| true` it calls itself a success, and the test fails as before.
    assert_eq!(one(exits(1, "a- b+"), exits(0, "a- b+")).0, Outcome::KnownFailure);
    // A second run of the base shows that it was chance.
    let flaky = told(vec![exits(0, "a+"), exits(1, "a-")], vec![exits(1, "a-")]);
    assert_eq!(flaky, (Outcome::Flaky, "a flaky".to_owned()));
}

#[test]
fn words_do_not_make_a_run_pass() {
    // All tests claim to pass, and the exit code says no.
    assert_eq!(one(exits(0, "a+"), exits(1, "a+")).0, Outcome::Regressed(Reason::Unexplained));
    // The exit code claims success, and a test fails: somebody wrote `|| true`.
    assert_eq!(one(exits(0, "a+"), exits(0, "a-")).0, Outcome::Regressed(Reason::Tests));
    let mut said = exits(1, "");
    said.report.said(Tally { passed: 100, failed: 0, skipped: 0 });
    assert_eq!(one(exits(0, "a+"), said).0, Outcome::Regressed(Reason::Unexplained));
}

#[test]
fn a_run_that_broke_off_has_removed_nothing() {
    let base = || exits(0, "a+ b+");
    let broken = one(base(), with_errors(101, &[("a.rs", 1, "mismatched types")]));
    assert_eq!(
        broken,
        (Outcome::Regressed(Reason::NoTestReached), "a not reached; b not reached".to_owned())
    );
    assert_eq!(
        one(base(), ends(Ended::TimedOut, "a+")),
        (Outcome::Regressed(Reason::Stopped), "b not reached".to_owned())
    );
    assert_eq!(one(base(), ends(Ended::OutOfMemory, "")).0, Outcome::Regressed(Reason::Stopped));
    assert_eq!(one(base(), ends(Ended::Killed(11), "a+")).0, Outcome::Regressed(Reason::Stopped));
    // `cargo test` does not go on to the next program after a failure.
    assert_eq!(
        one(base(), exits(1, "a-")),
        (Outcome::Regressed(Reason::Tests), "a regression; b not reached".to_owned())
    );
    // Fails exactly as before, so it got as far as before, and what is missing is gone.
    assert_eq!(
        one(exits(1, "a- b+"), exits(1, "a-")),
        (Outcome::KnownFailure, "b removed; a known failure".to_owned())
    );
}

/// A report that names only these, and says that so many ran.
fn quiet(code: i32, tests: &str, passed: u64, failed: u64) -> Run {
    let mut run = exits(code, tests);
    run.report.said(Tally { passed, failed, skipped: 0 });
    run
}

#[test]
fn a_test_that_a_quiet_runner_does_not_name_is_not_removed() {
    let (base, head) = (quiet(1, "a-", 4, 1), quiet(0, "", 5, 0));
    assert_eq!(
        one(base.clone(), head.clone()),
        (Outcome::NoLongerFails, "a no longer fails".to_owned())
    );
    let none: [String; 0] = [];
    let found = weakened::in_runs(&verdict(vec![base.clone()], vec![head])).weakened;
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), none);
    // With fewer tests it may be gone: that is all that can be told.
    let fewer = verdict(vec![base], vec![quiet(0, "", 4, 0)]);
    assert_eq!(fewer.checks[0].outcome, Outcome::NoLongerFails);
    assert_eq!(fewer.checks[0].count(Change::Removed), 0);
    let found = weakened::in_runs(&fewer).weakened;
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["test no longer run: `tests` had 5 tests, and has 4; it does not name them"]
    );
    assert_eq!(
        one(quiet(0, "", 5, 0), quiet(1, "a-", 4, 1)),
        (Outcome::Regressed(Reason::Tests), "a fails now".to_owned())
    );
}

#[test]
fn deleting_or_skipping_what_failed_is_not_fixing_it() {
    assert_eq!(one(exits(1, "a- b+"), exits(0, "b+")), (Outcome::Gone, "a removed".to_owned()));
    assert_eq!(
        one(exits(1, "a- b+"), exits(0, "a? b+")),
        (Outcome::Skipped, "a newly skipped".to_owned())
    );
    assert_eq!(one(exits(1, "a- c- b+"), exits(0, "b+ c+")).0, Outcome::Gone);
}

#[test]
fn a_check_that_ended_before_all_of_its_tests_does_not_pass() {
    let cut = |code, tests: &str| {
        let mut run = exits(code, tests);
        run.report.reached(Reach::Cut);
        run
    };
    // `cargo test` ended at the same failing program, and never came to a new one.
    let same = verdict(vec![cut(1, "a-")], vec![cut(1, "a-")]);
    assert_eq!(
        (same.checks[0].outcome, same.conclusion),
        (Outcome::KnownFailure, Conclusion::Unproven)
    );
    // What base never came to is not new.
    assert_eq!(
        one(cut(1, "a-"), exits(0, "a+ b+")),
        (Outcome::Fixed, "a fixed; b passes, not reached on base".to_owned())
    );
    assert_eq!(
        one(cut(1, "a-"), exits(1, "a+ b-")),
        (Outcome::Unjudged, "b fails, not reached on base; a fixed".to_owned())
    );
    // `|| true` behind a run that stopped early.
    let tolerant = one(exits(0, "a+ b+"), cut(0, "a+")).0;
    assert_eq!(tolerant, Outcome::Regressed(Reason::CutShort));
}

#[test]
fn a_success_without_tests_is_none_if_there_were_tests() {
    assert_eq!(
        one(exits(0, "a+"), exits(0, "")),
        (Outcome::Regressed(Reason::NoTestLeft), "a removed".to_owned())
    );
    assert_eq!(one(exits(0, ""), exits(0, "")).0, Outcome::Passed);
}

#[test]
fn checks_without_tests_are_judged_by_exit_code_and_errors() {
    let known = [("a.rs", 3, "mismatched types")];
    let moved = [("a.rs", 30, "mismatched types")];
    let more = [("a.rs", 3, "mismatched types"), ("a.rs", 9, "mismatched types")];
    assert_eq!(one(with_errors(0, &[]), with_errors(0, &[])).0, Outcome::Passed);
    assert_eq!(
        one(with_errors(0, &[]), with_errors(1, &known)).0,
        Outcome::Regressed(Reason::NewErrors)
    );
    assert_eq!(one(with_errors(1, &known), with_errors(1, &moved)).0, Outcome::KnownFailure);
    assert_eq!(
        one(with_errors(1, &known), with_errors(1, &more)).0,
        Outcome::Regressed(Reason::NewErrors)
    );
    let timed = |time| with_errors(2, &[("x.sh", 1, time)]);
    let (slow, slower) =
        (timed("failed after 1.2s in /tmp/ab"), timed("failed after 12.25s in /tmp/cd"));
    assert_eq!(one(slow, slower).0, Outcome::KnownFailure);
    assert_eq!(one(with_errors(1, &known), with_errors(0, &[])).0, Outcome::Fixed);
    assert_eq!(one(with_errors(1, &[]), with_errors(1, &[])).0, Outcome::KnownFailure);
    assert_eq!(
        one(with_errors(0, &[]), with_errors(1, &[])).0,
        Outcome::Regressed(Reason::Unexplained)
    );
    assert_eq!(one(ends(Ended::TimedOut, ""), ends(Ended::TimedOut, "")).0, Outcome::KnownFailure);
    assert_eq!(
        one(with_errors(1, &[]), ends(Ended::TimedOut, "")).0,
        Outcome::Regressed(Reason::Stopped)
    );
}

#[test]
fn what_was_not_run_is_neither_passed_nor_failed() {
    assert_eq!(one(exits(0, "a+"), not_run()).0, Outcome::NotRun);
    assert!(!verdict(vec![exits(0, "a+")], vec![not_run()]).passes());
    assert!(!verdict(vec![exits(0, "a+")], vec![]).passes());
    assert!(!verdict(vec![exits(0, "")], vec![exits(127, "")]).passes());
    // On base it is not known, and head fails.
    assert_eq!(one(not_run(), exits(1, "a-")).0, Outcome::Unjudged);
    assert!(!verdict(vec![], vec![exits(1, "")]).passes());
    // Nor does a success count that has failing tests in it.
    assert_eq!(one(not_run(), exits(0, "a-")).0, Outcome::Unjudged);
    // Head passes: then base does not matter.
    assert_eq!(one(not_run(), exits(0, "a+")).0, Outcome::Passed);
    // A lost sandbox is made up for by the next one.
    assert_eq!(told(vec![exits(0, "a+")], vec![not_run(), exits(0, "a+")]).0, Outcome::Passed);
}

#[test]
fn a_guess_that_cannot_be_run_anywhere_is_dropped_and_a_declared_check_is_not() {
    let judged = |confidence| {
        let guess = Check { confidence, ..check("mypy .") };
        let missing =
            Evidence { check: guess, base: vec![exits(127, "")], head: vec![exits(127, "")] };
        let fine = Evidence {
            check: check("tests"),
            base: vec![exits(0, "a+")],
            head: vec![exits(0, "a+")],
        };
        (judge(vec![missing.clone(), fine]).conclusion, judge(vec![missing]).conclusion)
    };
    assert_eq!(judged(Confidence::Guessed), (Conclusion::Passes, Conclusion::Unproven));
    assert_eq!(judged(Confidence::Certain), (Conclusion::Passes, Conclusion::Unproven));
    assert_eq!(judged(Confidence::Declared), (Conclusion::Fails, Conclusion::Fails));
}

#[test]
fn nothing_that_ran_proves_nothing() {
    assert_eq!(judge(vec![]).conclusion, Conclusion::Unproven);
    assert_eq!(verdict(vec![exits(1, "")], vec![exits(1, "")]).conclusion, Conclusion::Unproven);
    assert_eq!(
        verdict(vec![exits(1, "a- b+")], vec![exits(1, "a- b+")]).conclusion,
        Conclusion::Passes
    );
}

#[test]
fn checks_that_only_the_change_brings_can_speak_against_it_and_not_for_it() {
    let brought = |base: Run, head: Run| {
        let verdict = verdict(vec![base], vec![head]).of_checks_that_the_change_brings();
        (verdict.checks[0].outcome, verdict.conclusion)
    };
    // `make: *** No rule to make target` on base, and `true` or a test that is always right on head.
    for head in [exits(0, ""), exits(0, "a+")] {
        assert_eq!(brought(exits(2, ""), head), (Outcome::Brought, Conclusion::Unproven));
    }
    assert_eq!(brought(exits(0, "a+"), exits(0, "a+")).1, Conclusion::Unproven);
    assert_eq!(brought(exits(1, "a- b+"), exits(1, "a- b+")).1, Conclusion::Unproven);
    // Base got nowhere, so nobody knows whether the test would have failed there.
    assert_eq!(brought(exits(2, ""), exits(1, "a-")), (Outcome::Unjudged, Conclusion::Fails));
    let failing = (Outcome::Regressed(Reason::Tests), Conclusion::Fails);
    assert_eq!(brought(exits(0, ""), exits(1, "a-")), failing);
}

#[test]
fn a_run_that_is_stopped_each_time_and_gets_less_far_proves_nothing() {
    let base = ends(Ended::TimedOut, "a+ b+ c+");
    let same = verdict(vec![base.clone()], vec![base.clone()]);
    assert_eq!(
        (same.checks[0].outcome, same.conclusion),
        (Outcome::KnownFailure, Conclusion::Passes)
    );
    let less = verdict(vec![base], vec![ends(Ended::TimedOut, "a+")]);
    assert_eq!(
        (less.checks[0].outcome, less.conclusion),
        (Outcome::KnownFailure, Conclusion::Unproven)
    );
}

fn busy() -> Verdict {
    let mut head = exits(1, "adds- subtracts+ new- old? kept- a|`b@c-");
    let place = Workspace::at("/src").place("src/add.rs", Some(7), None);
    let finding = Finding::new(Kind::Failure, Tool::Libtest, "assertion `left == right` failed")
        .of_test(name("adds"))
        .at(place);
    head.report.find(finding.expected("3").actual("4"));
    head.report
        .find(Finding::new(Kind::Failure, Tool::Libtest, "was there before").of_test(name("kept")));
    let tests = Evidence {
        check: check("tests"),
        base: vec![exits(1, "adds+ subtracts- old+ kept- a|`b@c- gone+")],
        head: vec![head],
    };
    let lint = Evidence {
        check: check("lint | `strict` @all <b>\n"),
        base: vec![with_errors(0, &[])],
        head: vec![with_errors(1, &[("src/add.rs", 3, "mismatched types")])],
    };
    let build = Evidence { check: check("build"), base: vec![not_run()], head: vec![exits(0, "")] };
    judge(vec![build, lint, tests])
}

#[test]
fn people_read_a_table() {
    insta::assert_snapshot!(busy().to_text());
}

#[test]
fn a_pull_request_has_a_table_that_no_name_can_break() {
    let markdown = busy().to_markdown();
    insta::assert_snapshot!(markdown);
    let table: Vec<&str> = markdown.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 5);
    for row in table {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
    }
}

#[test]
fn agents_read_what_is_their_fault() {
    insta::assert_snapshot!(busy().to_agent_text());
    assert_eq!(verdict(vec![exits(1, "a-")], vec![exits(1, "a-")]).to_agent_text(), "");
}

#[test]
fn what_an_agent_reads_is_bounded() {
    let tests: Vec<String> =
        (0..2_000).map(|number| format!("{}{number}- ", "x".repeat(200))).collect();
    let mut head = exits(1, &tests.concat());
    for number in 0..200 {
        let test = name(&format!("{}{number}", "x".repeat(200)));
        head.report
            .find(Finding::new(Kind::Failure, Tool::Libtest, &"é".repeat(3_000)).of_test(test));
    }
    let text = verdict(vec![exits(0, "a+")], vec![head]).to_agent_text();
    assert!(text.len() <= 16 * 1024, "{}", text.len());
    assert!(text.ends_with("this is the beginning\n"));
}

#[test]
fn a_baseline_is_known_by_all_that_it_depends_on() {
    let (check, other) =
        (check("tests"), Check { command: "make check".parse().unwrap(), ..check("tests") });
    let (repository, another) = ("acme/web".parse().unwrap(), "acme/api".parse().unwrap());
    let (commit, next) = ("a".repeat(40).parse().unwrap(), "b".repeat(40).parse().unwrap());
    let first = Baseline {
        repository: &repository,
        commit: &commit,
        check: &check,
        image: Digest::of(b"1"),
        platform_version: "0.1.0",
        report: None,
        around: &[],
    };
    let around = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
    let (hook, variable) = (around("post_clone", "make deps"), around("variable X", "1"));
    let (other_value, other_commit) = (around("variable X", "2"), around("repository b", "c"));
    let all = [
        first,
        Baseline { repository: &another, ..first },
        Baseline { commit: &next, ..first },
        Baseline { check: &other, ..first },
        Baseline { image: Digest::of(b"2"), ..first },
        Baseline { platform_version: "0.2.0", ..first },
        Baseline { report: Some("report.xml"), ..first },
        Baseline { around: &hook, ..first },
        Baseline { around: &variable, ..first },
        Baseline { around: &other_value, ..first },
        Baseline { around: &other_commit, ..first },
    ];
    let keys: std::collections::BTreeSet<Digest> = all.iter().map(baseline_key).collect();
    assert_eq!(keys.len(), all.len());
    let renamed = Check { name: "another name".to_owned(), ..check.clone() };
    assert_eq!(baseline_key(&Baseline { check: &renamed, ..first }), baseline_key(&first));
}

#[test]
fn tests_that_are_gone_or_skipped_in_the_runs_are_called_out() {
    let verdict = verdict(vec![exits(0, "a+ b+ c+")], vec![exits(0, "a+ c?")]);
    assert!(verdict.passes());
    let found: Vec<String> =
        weakened::in_runs(&verdict).weakened.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "test skipped in the run: `suite › c` of `tests`",
            "test no longer run: `suite › b` of `tests`"
        ]
    );
}

#[test]
fn checks_that_a_change_takes_away_are_called_out() {
    let run = |command: &str| Check { command: command.parse().unwrap(), ..check("x") };
    let told = |base: &[Check], head: &[Check]| -> Vec<String> {
        weakened::lost_checks(base, head).weakened.iter().map(ToString::to_string).collect()
    };
    let base = [run("cargo test"), run("cargo clippy")];
    assert_eq!(told(&base, &[]).len(), 2);
    assert_eq!(told(&base, &base), [""; 0]);
    assert_eq!(told(&base, &[run("true"), run("cargo clippy")]).len(), 1);
}

fn any_run() -> impl Strategy<Value = Run> {
    let ended = prop::sample::select(vec![
        Ended::Exited(0),
        Ended::Exited(1),
        Ended::Exited(127),
        Ended::TimedOut,
        Ended::OutOfMemory,
        Ended::Killed(9),
        Ended::NotRun(Label::new("lost")),
    ]);
    let tests =
        prop::collection::vec((0..6_u8, prop::sample::select(vec!["+", "-", "?", "~"])), 0..8);
    (ended, tests).prop_map(|(ended, tests)| {
        let tests: Vec<String> =
            tests.iter().map(|(test, sign)| format!("t{test}{sign}")).collect();
        ends(ended, &tests.join(" "))
    })
}

proptest! {
    #[test]
    fn a_change_that_changes_nothing_has_no_regression(runs in prop::collection::vec(any_run(), 0..4)) {
        let verdict = verdict(runs.clone(), runs);
        for check in &verdict.checks {
            prop_assert!(!matches!(check.outcome, Outcome::Regressed(_)), "{:?}", check.outcome);
            prop_assert!(!check.tests.iter().any(|test| test.change.is_fault()));
        }
    }

    #[test]
    fn nothing_passes_that_never_passed(base in prop::collection::vec(any_run(), 0..3), head in prop::collection::vec(any_run(), 0..3)) {
        let passed = |runs: &[Run]| runs.iter().any(|run| run.ended == Ended::Exited(0));
        let verdict = verdict(base.clone(), head.clone());
        if verdict.passes() && passed(&base) && !passed(&head) {
            prop_assert_eq!(verdict.checks[0].outcome, Outcome::Flaky);
        }
        let _ = (verdict.to_text(), verdict.to_markdown(), verdict.to_agent_text());
    }
}
