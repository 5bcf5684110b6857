//! What is known before anything is run: checks of base commits (FB3), their state and other tasks for agents (CX1); and what is found after, coverage (FB5).

use domain::{
    id::TaskId,
    limits::Limits,
    task::{Event, Stage, Task},
};
use engine::{
    Baselines, Settings,
    record::{ChecksRecord, CoverageRecord},
};
use testkit::{clock::AnyClock, world::World};

use crate::fixture::{Fixture, is_over};

async fn stage_with_memory() -> (Fixture, tempfile::TempDir) {
    let memory = tempfile::tempdir().unwrap();
    let baselines = Baselines::at(memory.path().join("baselines"));
    let settings = Settings { baselines, ..World::settings("engine") };
    (Fixture::with(AnyClock::System, settings).await, memory)
}

async fn played(fixture: &Fixture) -> TaskId {
    let task = fixture.submit("fix it").await;
    fixture.play_until(task, is_over).await;
    task
}

/// How often checks were run on a base commit.
fn baselines(fixture: &Fixture) -> usize {
    let calls = fixture.ledger.calls().unwrap();
    calls.iter().filter(|call| call.contains("baseline check")).count()
}

async fn checks(fixture: &Fixture, task: TaskId) -> ChecksRecord {
    let history = fixture.store().history(task).await.unwrap();
    let found = history.events.iter().rev().find_map(|it| {
        let Event::ChecksPassed { evidence } = &it.event else { return None };
        Some(*evidence)
    });
    ChecksRecord::read(&fixture.store().blobs().get(found.unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn checks_of_a_base_commit_are_run_once_for_each_state_of_the_hosts_tools() {
    let (fixture, _memory) = stage_with_memory().await;
    played(&fixture).await;
    assert_eq!(baselines(&fixture), 1);
    played(&fixture).await;
    assert_eq!(baselines(&fixture), 1, "it is remembered");
    fixture.ledger.set("host", "tools", "a newer compiler").unwrap();
    played(&fixture).await;
    assert_eq!(baselines(&fixture), 2, "other tools may give another answer");
}

#[tokio::test]
async fn a_check_whose_command_was_missing_is_not_remembered() {
    let (fixture, _memory) = stage_with_memory().await;
    fixture.ledger.set("host", "lacks", "make").unwrap();
    let task = fixture.submit("fix it").await;
    let failed = |it: &Task| matches!(it.stage, Stage::Paused { .. } | Stage::Failed { .. });
    fixture.play_until(task, failed).await;
    let view = fixture.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("dependency_conflict"));
    let before = baselines(&fixture);

    // Somebody installs it.
    fixture.ledger.remove("host", "lacks").unwrap();
    let next = played(&fixture).await;
    assert!(baselines(&fixture) > before, "it is run, now that it can be");
    let record = checks(&fixture, next).await;
    assert_eq!(record.checks[0].base.as_ref().unwrap().ended, "passed");
}

/// How often checks were run: on the base commit, and on the change.
fn runs(fixture: &Fixture) -> (usize, usize) {
    let calls = fixture.ledger.calls().unwrap();
    let all =
        calls.iter().filter(|call| call.starts_with("exec ") && call.contains("check")).count();
    (baselines(fixture), all.saturating_sub(baselines(fixture)))
}

#[tokio::test]
async fn a_base_that_is_already_red_costs_one_run_more_and_the_change_none() {
    let (fixture, _memory) = stage_with_memory().await;
    fixture.ledger.set("host", "checks", "ruff check .\nmypy .\nexit 1").unwrap();
    played(&fixture).await;
    assert_eq!(
        runs(&fixture),
        (3 + 1, 3),
        "the red one is confirmed alone, and on the change it is known"
    );
    played(&fixture).await;
    assert_eq!(runs(&fixture), (3 + 1, 6), "it is remembered");
}

#[tokio::test]
async fn what_a_red_check_may_need_is_run_before_it_again() {
    let (fixture, _memory) = stage_with_memory().await;
    fixture.ledger.set("host", "checks", "make build\n./prepare\nruff check .\nexit 1").unwrap();
    played(&fixture).await;
    assert_eq!(runs(&fixture), (4 + 3, 4));
}

#[tokio::test]
async fn an_agent_is_told_how_the_checks_stand_and_who_else_is_at_work() {
    let fixture = Fixture::new().await;
    let around = |task: TaskId, mode: &str| {
        fixture.ledger.read("around", &format!("{task} {mode}")).unwrap_or_default()
    };
    let first = fixture.submit("fix the login").await;
    let is_open = |it: &Task| matches!(it.stage, Stage::PullRequestOpen { .. });
    let running = fixture.run();
    fixture.wait_until(first, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    assert_eq!(
        around(first, "Research"),
        "Surroundings { base_checks: None, issues: [], in_flight: [] }",
        "nothing was ever run here"
    );
    fixture.approve(first).await;
    fixture.wait_until(first, is_open).await;

    let second = fixture.submit("fix the logout").await;
    fixture.wait_until(second, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    running.stop().await;
    let told = around(second, "Research");
    let checks = "tests (`make test`) here: passed; tests: 0 passed, 0 failed, 0 skipped";
    assert!(told.contains(checks), "{told}");
    assert!(told.contains("title: \"fix the login\""), "{told}");
    assert!(told.contains(&format!("branch: \"agent/{first}-fix-the-login\"")), "{told}");
    assert!(told.contains("paths: [\"src/login.rs\"]"), "{told}");
}

#[tokio::test]
async fn an_agent_is_told_what_was_said_on_the_pull_requests_that_its_request_names() {
    let fixture = Fixture::new().await;
    let waits = |it: &Task| matches!(it.stage, Stage::AwaitingApproval { .. });
    let first = fixture.submit("fix the login").await;
    let running = fixture.run();
    fixture.wait_until(first, waits).await;
    fixture.approve(first).await;
    fixture.wait_until(first, |it| matches!(it.stage, Stage::PullRequestOpen { .. })).await;
    let number = fixture.store().task(first).await.unwrap().unwrap().pull_request.unwrap();

    let second =
        fixture.submit(&format!("as in #{number}, and not as in #77: fix the logout")).await;
    fixture.wait_until(second, waits).await;
    running.stop().await;
    let quoted = fixture.ledger.read("quoted", &format!("{second} Research")).unwrap();
    assert!(quoted.starts_with(&format!("pull request #{number} (")), "{quoted}");
    assert!(quoted.contains("fix the login"), "{quoted}");
    assert!(!quoted.contains("pull request #77"), "{quoted}");
    assert_eq!(fixture.ledger.read("quoted", &format!("{first} Research")).unwrap(), "");
}

#[tokio::test]
async fn coverage_of_the_changed_lines_is_in_the_record_and_in_the_pull_request() {
    let fixture = Fixture::new().await;
    let report = "TN:\nSF:src/login.rs\nDA:1,3\nDA:7,0\nend_of_record\n";
    fixture.ledger.set("left", "/workspace/web/coverage/lcov.info", report).unwrap();
    let task = played(&fixture).await;
    let record = checks(&fixture, task).await;
    // One line was changed, and it is run. What else the report speaks of was not this change's work.
    assert_eq!(record.coverage, Some(CoverageRecord { covered: 1, missed: 0 }));
    let name = fixture.ledger.names("body").unwrap().remove(0).replace('|', "/");
    let body = fixture.ledger.read("body", &name).unwrap();
    let told = "Coverage: tests run 1 of the 1 changed lines that they could run.";
    assert!(body.contains(told), "{body}");
}

#[tokio::test]
async fn an_agent_is_told_nothing_of_the_checks_of_another() {
    let fixture = Fixture::new().await;
    played(&fixture).await;
    let mut trigger = testkit::trigger("acme/web", "fix the logout").unwrap();
    trigger.agent = "another".parse().unwrap();
    let other = fixture.engine.submit(trigger, Limits::default()).await.unwrap();
    let running = fixture.run();
    fixture.wait_until(other, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    running.stop().await;
    let told = fixture.ledger.read("around", &format!("{other} Research")).unwrap();
    assert!(told.contains("base_checks: None"), "{told}");
}
