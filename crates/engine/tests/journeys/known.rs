//! What is known before anything is run: checks of base commits (FB3), their state and other tasks for agents (CX1); and what is found after, coverage (FB5).

use domain::{
    id::TaskId,
    task::{Event, Stage as TaskStage, Task},
};
use engine::{
    Baselines, Settings,
    record::{ChecksRecord, CoverageRecord},
};
use testkit::{clock::AnyClock, world::World};

use crate::stage::{Stage, is_over};

async fn stage_with_memory() -> (Stage, tempfile::TempDir) {
    let memory = tempfile::tempdir().unwrap();
    let baselines = Baselines::at(memory.path().join("baselines"));
    let settings = Settings { baselines, ..World::settings("engine") };
    (Stage::with(AnyClock::System, settings).await, memory)
}

async fn played(stage: &Stage) -> TaskId {
    let task = stage.submit("fix it").await;
    stage.play_until(task, is_over).await;
    task
}

/// How often checks were run on a base commit.
fn baselines(stage: &Stage) -> usize {
    let calls = stage.ledger.calls().unwrap();
    calls.iter().filter(|call| call.contains("baseline check")).count()
}

async fn checks(stage: &Stage, task: TaskId) -> ChecksRecord {
    let history = stage.store().history(task).await.unwrap();
    let found = history.events.iter().rev().find_map(|it| {
        let Event::ChecksPassed { evidence } = &it.event else { return None };
        Some(*evidence)
    });
    ChecksRecord::read(&stage.store().blobs().get(found.unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn checks_of_a_base_commit_are_run_once_for_each_state_of_the_hosts_tools() {
    let (stage, _memory) = stage_with_memory().await;
    played(&stage).await;
    assert_eq!(baselines(&stage), 1);
    played(&stage).await;
    assert_eq!(baselines(&stage), 1, "it is remembered");
    stage.ledger.set("host", "tools", "a newer compiler").unwrap();
    played(&stage).await;
    assert_eq!(baselines(&stage), 2, "other tools may give another answer");
}

#[tokio::test]
async fn a_check_whose_command_was_missing_is_not_remembered() {
    let (stage, _memory) = stage_with_memory().await;
    stage.ledger.set("host", "lacks", "make").unwrap();
    let task = stage.submit("fix it").await;
    let failed =
        |it: &Task| matches!(it.stage, TaskStage::Paused { .. } | TaskStage::Failed { .. });
    stage.play_until(task, failed).await;
    let view = stage.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("dependency_conflict"));
    let before = baselines(&stage);

    // Somebody installs it.
    stage.ledger.remove("host", "lacks").unwrap();
    let next = played(&stage).await;
    assert!(baselines(&stage) > before, "it is run, now that it can be");
    let record = checks(&stage, next).await;
    assert_eq!(record.checks[0].base.as_ref().unwrap().ended, "passed");
}

#[tokio::test]
async fn an_agent_is_told_how_the_checks_stand_and_who_else_is_at_work() {
    let stage = Stage::new().await;
    let around = |task: TaskId, mode: &str| {
        stage.ledger.read("around", &format!("{task} {mode}")).unwrap_or_default()
    };
    let first = stage.submit("fix the login").await;
    let is_open = |it: &Task| matches!(it.stage, TaskStage::PullRequestOpen { .. });
    let running = stage.run();
    stage.wait_until(first, |it| matches!(it.stage, TaskStage::AwaitingApproval { .. })).await;
    assert_eq!(
        around(first, "Research"),
        "Surroundings { base_checks: None, issues: [], in_flight: [] }",
        "nothing was ever run here"
    );
    stage.approve(first).await;
    stage.wait_until(first, is_open).await;

    let second = stage.submit("fix the logout").await;
    stage.wait_until(second, |it| matches!(it.stage, TaskStage::AwaitingApproval { .. })).await;
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
    let stage = Stage::new().await;
    let waits = |it: &Task| matches!(it.stage, TaskStage::AwaitingApproval { .. });
    let first = stage.submit("fix the login").await;
    let running = stage.run();
    stage.wait_until(first, waits).await;
    stage.approve(first).await;
    stage.wait_until(first, |it| matches!(it.stage, TaskStage::PullRequestOpen { .. })).await;
    let number = stage.store().task(first).await.unwrap().unwrap().pull_request.unwrap();

    let second = stage.submit(&format!("as in #{number}, and not as in #77: fix the logout")).await;
    stage.wait_until(second, waits).await;
    running.stop().await;
    let quoted = stage.ledger.read("quoted", &format!("{second} Research")).unwrap();
    assert!(quoted.starts_with(&format!("pull request #{number} (")), "{quoted}");
    assert!(quoted.contains("fix the login"), "{quoted}");
    assert!(!quoted.contains("pull request #77"), "{quoted}");
    assert_eq!(stage.ledger.read("quoted", &format!("{first} Research")).unwrap(), "");
}

#[tokio::test]
async fn coverage_of_the_changed_lines_is_in_the_record_and_in_the_pull_request() {
    let stage = Stage::new().await;
    let report = "TN:\nSF:src/login.rs\nDA:1,3\nDA:7,0\nend_of_record\n";
    stage.ledger.set("left", "/workspace/web/coverage/lcov.info", report).unwrap();
    let task = played(&stage).await;
    let record = checks(&stage, task).await;
    // One line was changed, and it is run. What else the report speaks of was not this change's work.
    assert_eq!(record.coverage, Some(CoverageRecord { covered: 1, missed: 0 }));
    let name = stage.ledger.names("body").unwrap().remove(0).replace('|', "/");
    let body = stage.ledger.read("body", &name).unwrap();
    let told = "Coverage: tests run 1 of the 1 changed lines that they could run.";
    assert!(body.contains(told), "{body}");
}
