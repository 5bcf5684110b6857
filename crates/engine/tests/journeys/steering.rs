//! People who step in while a step is running (PL9).

use domain::task::{Ask, ForgeNews, Stage, Work};
use testkit::ann;

use crate::fixture::{Fixture, is_over};

fn is_researching(task: &domain::task::Task) -> bool {
    task.stage == Stage::Working(Work::Research)
}

#[tokio::test]
async fn cancelling_reaches_a_running_step_and_leaves_nothing_behind() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_until(task, is_researching).await;
    fixture.wait_for_call("agent Research").await;
    fixture.engine.ask(task, ann(), Ask::Cancel).await.unwrap();
    fixture.wait_until(task, is_over).await;
    running.stop().await;
    assert_eq!(fixture.ledger.names("sandbox").unwrap(), Vec::<String>::new());
    assert_eq!(fixture.ledger.names(&format!("grant-{task}")).unwrap(), Vec::<String>::new());
    assert!(fixture.news(task).contains("task.cancelled"));
}

#[tokio::test]
async fn a_pause_puts_the_sandbox_to_sleep_and_resuming_wakes_the_same_one() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    let before = fixture.wait_until(task, is_researching).await.workspace;
    fixture.wait_for_call("agent Research").await;
    fixture.engine.ask(task, ann(), Ask::Pause).await.unwrap();
    fixture.wait_for_call("rest ").await;
    fixture.engine.ask(task, ann(), Ask::Resume).await.unwrap();
    let after = fixture.wait_until(task, is_researching).await.workspace;
    assert_eq!(before, after);
    running.stop().await;
}

#[tokio::test]
async fn a_message_reaches_the_running_agent() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_until(task, is_researching).await;
    fixture.wait_for_call("agent Research").await;
    let text = "look at the clock".to_owned();
    fixture.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    running.stop().await;
}

#[tokio::test]
async fn a_stopped_engine_hands_its_steps_to_the_next_at_once() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_until(task, is_researching).await;
    fixture.wait_for_call("agent Research").await;
    running.stop().await;
    let pending = fixture.store().pending(task).await.unwrap();
    let held = pending.iter().filter(|it| it.lease_until.as_millis() > 0).count();
    assert_eq!(held, 0, "{pending:?}");
}

#[tokio::test]
async fn a_comment_on_the_pull_request_wakes_the_same_task_on_the_same_branch() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("fix it").await;
    let open = |it: &domain::task::Task| matches!(it.stage, Stage::PullRequestOpen { .. });
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingApproval { .. })).await;
    fixture.approve(task).await;
    let first = fixture.wait_until(task, open).await;
    let text = "also the docs".to_owned();
    fixture.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    let second = fixture.wait_until(task, |it| open(it) && it.stage != first.stage).await;
    assert_eq!(first.workspace, second.workspace, "it kept its computer");
    assert_eq!(fixture.ledger.names("pull").unwrap().len(), 1);
    assert_eq!(fixture.ledger.names("push").unwrap().len(), 2);
    fixture.engine.forge_says(task, ForgeNews::TakenOver).await.unwrap();
    fixture.wait_until(task, is_over).await;
    running.stop().await;
}
