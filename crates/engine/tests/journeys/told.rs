//! Commands that an agent tells of count under its approval, however the run ended in which it did (GA4).

use domain::{
    approval::Conditions,
    id::TaskId,
    money::Money,
    task::{Ask, PauseReason, Stage as TaskStage, Task},
};
use testkit::{ann, bob, world::COMMAND};

use crate::stage::Stage;

fn is_open(task: &Task) -> bool {
    matches!(task.stage, TaskStage::PullRequestOpen { .. })
}

fn is_paused(task: &Task) -> bool {
    matches!(task.stage, TaskStage::Paused { .. })
}

/// Whether it waits for somebody because the approval was left.
fn has_drifted(task: &Task) -> bool {
    let TaskStage::Paused { why: PauseReason::Failure(failure), .. } = &task.stage else {
        return false;
    };
    failure.kind.name() == "plan_drift" && failure.message.contains(COMMAND)
}

fn only(commands: &[&str]) -> Conditions {
    let commands = commands.iter().map(|it| (*it).to_owned()).collect();
    Conditions { commands: Some(commands), ..Conditions::default() }
}

/// A task whose plan was approved for one command alone.
async fn approved(stage: &Stage, script: &str) -> TaskId {
    let task = stage.submit(script).await;
    let at_the_gate = |it: &Task| matches!(it.stage, TaskStage::AwaitingApproval { .. });
    let waiting = stage.wait_until(task, at_the_gate).await;
    let TaskStage::AwaitingApproval { plan } = waiting.stage else { unreachable!() };
    let approve = Ask::Approve { plan, conditions: only(&["make test"]) };
    stage.engine.ask(task, bob(), approve).await.unwrap();
    task
}

/// Lets it go on, and tells it something, after which it keeps to its approval.
async fn go_on(stage: &Stage, task: TaskId) {
    let text = "keep to the plan".to_owned();
    stage.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    stage.engine.ask(task, ann(), Ask::Resume).await.unwrap();
}

async fn amend(stage: &Stage, task: TaskId, conditions: Conditions) {
    stage.engine.ask(task, bob(), Ask::Amend { conditions }).await.unwrap();
}

/// Waits until it has told of its command, and stops it there.
async fn pause(stage: &Stage, task: TaskId) {
    for _ in 0..1_500 {
        let said = stage.store().transcript_end(task, 5).await.unwrap();
        if said.iter().any(|it| matches!(it.event, domain::transcript::AgentEvent::ToolCall(_))) {
            break;
        }
        stage.settle().await;
    }
    stage.engine.ask(task, ann(), Ask::Pause).await.unwrap();
    stage.wait_until(task, is_paused).await;
}

#[tokio::test]
async fn a_command_that_an_agent_told_before_it_failed_is_drift_until_it_is_amended() {
    let stage = Stage::new().await;
    let running = stage.run();
    let task = approved(&stage, "tells; unusable").await;
    let told = stage.wait_until(task, is_paused).await;
    assert!(has_drifted(&told), "{:?}", told.stage);
    // Asking to go on is heard at once, so what is waited for is where it comes to rest after it.
    go_on(&stage, task).await;
    let again = stage.wait_until(task, |it| is_open(it) || is_paused(it)).await;
    assert!(has_drifted(&again), "nobody has amended anything: {:?}", again.stage);
    amend(&stage, task, only(&["make test"])).await;
    stage.wait_until(task, is_open).await;
    running.stop().await;
}

#[tokio::test]
async fn a_command_of_a_run_that_was_paused_counts_when_it_goes_on() {
    let stage = Stage::new().await;
    let running = stage.run();
    let task = approved(&stage, "tells; lingers").await;
    pause(&stage, task).await;
    go_on(&stage, task).await;
    stage.wait_until(task, |it| is_open(it) || has_drifted(it)).await;
    assert!(has_drifted(&stage.task(task).await));
    amend(&stage, task, only(&["make test", COMMAND])).await;
    stage.wait_until(task, is_open).await;
    running.stop().await;
}

#[tokio::test]
async fn an_amendment_for_another_reason_does_not_settle_what_nobody_was_told() {
    let stage = Stage::new().await;
    let running = stage.run();
    let task = approved(&stage, "tells; lingers").await;
    pause(&stage, task).await;
    let budget = Some(Money::from_dollars(3));
    amend(&stage, task, Conditions { budget, ..only(&["make test"]) }).await;
    stage.wait_until(task, |it| is_open(it) || has_drifted(it)).await;
    assert!(has_drifted(&stage.task(task).await));
    running.stop().await;
}

#[tokio::test]
async fn what_was_allowed_when_it_ran_is_no_drift_when_the_approval_is_narrowed() {
    let stage = Stage::new().await;
    let running = stage.run();
    let task = stage.submit("tells; lingers").await;
    let at_the_gate = |it: &Task| matches!(it.stage, TaskStage::AwaitingApproval { .. });
    stage.wait_until(task, at_the_gate).await;
    stage.approve(task).await;
    pause(&stage, task).await;
    let text = "keep to the plan".to_owned();
    stage.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    amend(&stage, task, only(&["make test"])).await;
    stage.wait_until(task, |it| is_open(it) || has_drifted(it)).await;
    assert!(is_open(&stage.task(task).await));
    running.stop().await;
}
