//! What a person reads in the demo, word for word.

use wire::{
    agent::PlannedFile,
    money::Money,
    pull::PullState,
    task::{
        checks::{CheckOutcome, CheckVerdict, Headline, TestOfNote, WeakenedClass, WeakenedTest},
        event::{RecordedEvent, TaskEvent},
        plan::Estimate,
        review::ReviewFinding,
        usage::{PhaseUsage, Spent},
    },
    time::Time,
};

use super::*;

fn shown(print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    print(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_plan_is_shown_whole() {
    let file = |path: &str, why: &str| PlannedFile { path: path.into(), why: why.into() };
    let mut wanted = Plan {
        hash: "745169c4753d52d888826ffb4e0dcef9fdd92e307fb01ee15e15dd1e493f26a8".to_owned(),
        summary: "Count nights".to_owned(),
        files: vec![file("lamps.py", "it is wrong"), file("test_lamps.py", "a \u{1b}[2Jtest")],
        tests: words(&["a night"]),
        expected_behaviour: "480".to_owned(),
        commands: words(&["make test"]),
        hosts: Vec::new(),
        risks: words(&["none known"]),
        estimate: Estimate { seconds: Some(61), cost: Some(Money::from_micros(0)) },
    };
    insta::assert_snapshot!(shown(|out| plan(&wanted, out)), @r"
    The plan, 745169c4753d:
      what      Count nights
      files     lamps.py: it is wrong
                test_lamps.py: a ␛[2Jtest
      tests     a night
      then      480
      commands  make test
      hosts     none
      risks     none known
      estimate  2 min, $0.00
    ");
    wanted.estimate = Estimate::default();
    assert!(shown(|out| plan(&wanted, out)).contains("estimate  not known"));
}

fn side(ended: &str, passed: u64, failed: u64) -> CheckSide {
    let (skipped, errors, millis) = (0, 0, 0);
    CheckSide { ended: ended.to_owned(), not_run: false, passed, failed, skipped, errors, millis }
}

fn headline(conclusion: Conclusion, sentence: &str) -> Headline {
    Headline {
        conclusion,
        sentence: sentence.to_owned(),
        warning: None,
        next: Vec::new(),
        tests: 3,
        failing_checks: 0,
        failing_tests: 0,
        mended: 0,
        gone: 0,
        not_run: 0,
    }
}

fn verdict() -> Checks {
    let test = |name: &str, change: &str| TestOfNote { name: name.into(), change: change.into() };
    Checks {
        commit: String::new(),
        base: String::new(),
        at: Time::from_millis(0),
        conclusion: Conclusion::Passes,
        headline: headline(Conclusion::Passes, "passed: 3 tests ran, and all pass"),
        checks: vec![CheckVerdict {
            name: "test".to_owned(),
            kind: "test".to_owned(),
            command: "make test".to_owned(),
            directory: String::new(),
            file: "Makefile".to_owned(),
            why: String::new(),
            outcome: CheckOutcome::Fixed,
            sentence: "failed before and passes now".to_owned(),
            blocks: false,
            base: Some(side("failed with 2", 1, 1)),
            head: Some(side("passed", 3, 0)),
            tests: vec![test("test_a_night", "fixed"), test("test_new", "new, passing")],
            findings: Vec::new(),
            log: String::new(),
        }],
        weakened: Vec::new(),
        weakened_left_off: 0,
        unready: None,
        left_out: Vec::new(),
        coverage: None,
    }
}

#[test]
fn checks_are_shown_before_and_after() {
    insta::assert_snapshot!(shown(|out| checks(&verdict(), Colors::OFF, out)), @r"
    `make test`: failed before and passes now
      before  failed with 2 (1 passed, 1 failed)
      after   passed (3 passed)
      fixed         test_a_night
      new, passing  test_new
    Checks: passed: 3 tests ran, and all pass.
    ");
}

#[test]
fn checks_that_prove_nothing_or_fail_are_not_told_as_passing() {
    let weakened = WeakenedTest {
        class: WeakenedClass::Deleted,
        kind: String::new(),
        path: None,
        line: None,
        what: "one is gone".into(),
    };
    let fails = Checks {
        headline: headline(Conclusion::Fails, "failed"),
        conclusion: Conclusion::Fails,
        weakened: vec![weakened],
        ..verdict()
    };
    let unproven = headline(
        Conclusion::Unproven,
        "nothing was proven, because no check is known for this repository",
    );
    let none = Checks {
        headline: unproven,
        conclusion: Conclusion::Unproven,
        checks: Vec::new(),
        ..verdict()
    };
    let told = [fails, none].map(|it| shown(|out| checks(&it, Colors::OFF, out)));
    assert!(told.iter().all(|text| !text.contains("passed: ")), "{told:?}");
    assert!(told[0].contains("one is gone") && told[0].ends_with("Checks: failed.\n"));
    insta::assert_snapshot!(told[1], @r"
        Checks: nothing was proven, because no check is known for this repository.
    ");
}

#[test]
fn a_review_is_silent_only_when_nothing_was_found() {
    let finding = ReviewFinding {
        id: "a".repeat(64),
        path: "lamps.py".to_owned(),
        line: 14,
        what: "it is wrong".to_owned(),
        failing_input: "t(1)".to_owned(),
        dismissed: None,
    };
    let passed = TaskReview {
        commit: String::new(),
        at: Time::from_millis(0),
        passed: true,
        round: 1,
        findings: vec![],
    };
    let found = TaskReview { passed: false, findings: vec![finding], ..passed.clone() };
    let told = [passed, found].map(|it| shown(|out| review(&it, Colors::OFF, out)));
    insta::assert_snapshot!(told.concat(), @r"
    The reviewer found nothing wrong.
    lamps.py:14: it is wrong
      shown by t(1)
    The reviewer found one fault.
    ");
}

#[test]
fn a_pull_request_is_shown_with_its_text() {
    let mut opened = Pull {
        number: 1,
        repository: "lamps".to_owned(),
        address: String::new(),
        title: "Count nights".to_owned(),
        body: "## What\n\nNights \u{1b}[31mare counted.\n".to_owned(),
        state: PullState::Open {},
        branch: "lamp/count-nights".to_owned(),
        base: "main".to_owned(),
        head: None,
        delivered: String::new(),
        comments: Vec::new(),
        checks: Vec::new(),
        reviews: Vec::new(),
    };
    insta::assert_snapshot!(shown(|out| pull(&opened, Colors::OFF, out)), @r"
    Pull request #1: Count nights
      branch `lamp/count-nights`, to be merged into `main`
      | ## What
      |
      | Nights ␛[31mare counted.
    ");
    opened.body = format!("one\n<details>\n{}", "line\n".repeat(100));
    assert!(shown(|out| pull(&opened, Colors::OFF, out)).contains("| one\n    | [101 more lines"));
    opened.body = "line\n".repeat(100);
    assert!(shown(|out| pull(&opened, Colors::OFF, out)).contains("    | [50 more lines"));
}

#[test]
fn what_it_took_is_told_for_each_phase() {
    let spent = |micros: u64, tokens: u64| Spent {
        money: Money::from_micros(micros),
        input_tokens: tokens,
        output_tokens: 0,
        cpu_millis: 0,
        memory_mib_seconds: 0,
        network_bytes: 0,
    };
    let phase = |phase: &str, spent: Spent| PhaseUsage { phase: phase.to_owned(), spent };
    let used = TaskUsage {
        task: String::new(),
        total: spent(12_300, 4200),
        budget: Money::from_micros(1),
        phases: vec![phase("review", spent(2_300, 200)), phase("implement", spent(10_000, 4000))],
    };
    let mut watch = Stopwatch::default();
    let implemented = TaskEvent::ChecksFailed {
        footprint: wire::task::event::AttemptFootprint {
            failing: String::new(),
            change: String::new(),
        },
        evidence: String::new(),
        stopped_by: None,
    };
    let events = [
        (0, implemented),
        (12_340, TaskEvent::ReviewPassed { evidence: String::new() }),
        (12_500, TaskEvent::PullRequestOpened { number: 1, receipt: String::new() }),
    ];
    for (millis, event) in events {
        watch.hear(&RecordedEvent { number: 1, at: Time::from_millis(millis), event });
    }
    insta::assert_snapshot!(shown(|out| usage(&used, &watch, out)), @r"
    phase          time   tokens      cost
    implement    12.3 s     4000     $0.01
    deliver       0.2 s        0     $0.00
    together     12.5 s     4200   $0.0123
    ");
}
