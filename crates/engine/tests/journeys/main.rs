//! Whole journeys of scripted tasks through the real engine and the real store.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say so")]

mod stage;

use domain::task::{Stage as TaskStage, Standing};
use stage::Stage;
use testkit::inspect::inspect;

fn is_over(task: &domain::task::Task) -> bool {
    task.stage.standing() == Standing::Over
}

#[tokio::test]
async fn a_request_becomes_a_merged_pull_request() {
    let stage = Stage::new().await;
    let task = stage.submit("fix the flaky login test").await;
    let done = stage.play_until(task, is_over).await;
    assert!(matches!(done.stage, TaskStage::Done { .. }), "{:?}", done.stage);
    insta::assert_snapshot!(stage.told(task).await);
    let verdict = inspect(stage.store(), &stage.ledger, &[task]).await.unwrap();
    assert!(verdict.is_clean(), "{verdict}");
}
