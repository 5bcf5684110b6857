//! People who step in while a step is running (PL9).

use domain::task::{Ask, ForgeNews, Stage as TaskStage, Work};
use testkit::ann;

use crate::stage::{Stage, is_over};

fn is_researching(task: &domain::task::Task) -> bool {
    task.stage == TaskStage::Working(Work::Research)
}

#[tokio::test]
async fn cancelling_reaches_a_running_step_and_leaves_nothing_behind() {
    let stage = Stage::new().await;
    let task = stage.submit("endless").await;
    let running = stage.run();
    stage.wait_until(task, is_researching).await;
    stage.wait_for_call("agent Research").await;
    stage.engine.ask(task, ann(), Ask::Cancel).await.unwrap();
    stage.wait_until(task, is_over).await;
    running.stop().await;
    assert_eq!(stage.ledger.names("sandbox").unwrap(), Vec::<String>::new());
    assert_eq!(stage.ledger.names(&format!("grant-{task}")).unwrap(), Vec::<String>::new());
    assert!(stage.news(task).contains("task.cancelled"));
}

#[tokio::test]
async fn a_pause_puts_the_sandbox_to_sleep_and_resuming_wakes_the_same_one() {
    let stage = Stage::new().await;
    let task = stage.submit("endless").await;
    let running = stage.run();
    let before = stage.wait_until(task, is_researching).await.workspace;
    stage.wait_for_call("agent Research").await;
    stage.engine.ask(task, ann(), Ask::Pause).await.unwrap();
    stage.wait_for_call("rest ").await;
    stage.engine.ask(task, ann(), Ask::Resume).await.unwrap();
    let after = stage.wait_until(task, is_researching).await.workspace;
    assert_eq!(before, after);
    running.stop().await;
}

#[tokio::test]
async fn a_message_reaches_the_running_agent() {
    let stage = Stage::new().await;
    let task = stage.submit("endless").await;
    let running = stage.run();
    stage.wait_until(task, is_researching).await;
    stage.wait_for_call("agent Research").await;
    let text = "look at the clock".to_owned();
    stage.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    stage.wait_until(task, |it| matches!(it.stage, TaskStage::AwaitingApproval { .. })).await;
    running.stop().await;
}

#[tokio::test]
async fn a_stopped_engine_hands_its_steps_to_the_next_at_once() {
    let stage = Stage::new().await;
    let task = stage.submit("endless").await;
    let running = stage.run();
    stage.wait_until(task, is_researching).await;
    stage.wait_for_call("agent Research").await;
    running.stop().await;
    let pending = stage.store().pending(task).await.unwrap();
    let held = pending.iter().filter(|it| it.lease_until.as_millis() > 0).count();
    assert_eq!(held, 0, "{pending:?}");
}

#[tokio::test]
async fn a_comment_on_the_pull_request_wakes_the_same_task_on_the_same_branch() {
    let stage = Stage::new().await;
    let task = stage.submit("fix it").await;
    let open = |it: &domain::task::Task| matches!(it.stage, TaskStage::PullRequestOpen { .. });
    let running = stage.run();
    stage.wait_until(task, |it| matches!(it.stage, TaskStage::AwaitingApproval { .. })).await;
    stage.approve(task).await;
    let first = stage.wait_until(task, open).await;
    let text = "also the docs".to_owned();
    stage.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    let second = stage.wait_until(task, |it| open(it) && it.stage != first.stage).await;
    assert_eq!(first.workspace, second.workspace, "it kept its computer");
    assert_eq!(stage.ledger.names("pull").unwrap().len(), 1);
    assert_eq!(stage.ledger.names("push").unwrap().len(), 2);
    stage.engine.forge_says(task, ForgeNews::TakenOver).await.unwrap();
    stage.wait_until(task, is_over).await;
    running.stop().await;
}
