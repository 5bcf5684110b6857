//! Commands that an agent tells of count under its approval, however the run ended in which it did (GA4).

use domain::{
    approval::Conditions,
    id::TaskId,
    money::Money,
    task::{Ask, PauseReason, Stage, Task},
};
use testkit::{ann, bob, world::COMMAND};

use crate::fixture::Fixture;

fn is_open(task: &Task) -> bool {
    matches!(task.stage, Stage::PullRequestOpen { .. })
}

fn is_paused(task: &Task) -> bool {
    matches!(task.stage, Stage::Paused { .. })
}

/// Whether it waits for somebody because the approval was left.
fn has_drifted(task: &Task) -> bool {
    let Stage::Paused { why: PauseReason::Failure(failure), .. } = &task.stage else {
        return false;
    };
    failure.kind.name() == "plan_drift" && failure.message.contains(COMMAND)
}

fn only(commands: &[&str]) -> Conditions {
    let commands = commands.iter().map(|it| (*it).to_owned()).collect();
    Conditions { commands: Some(commands), ..Conditions::default() }
}

/// A task whose plan was approved for one command alone.
async fn approved(fixture: &Fixture, script: &str) -> TaskId {
    let task = fixture.submit(script).await;
    let at_the_gate = |it: &Task| matches!(it.stage, Stage::AwaitingApproval { .. });
    let waiting = fixture.wait_until(task, at_the_gate).await;
    let Stage::AwaitingApproval { plan } = waiting.stage else { unreachable!() };
    let approve = Ask::Approve { plan, conditions: only(&["make test"]) };
    fixture.engine.ask(task, bob(), approve).await.unwrap();
    task
}

/// Lets it go on, and tells it something, after which it keeps to its approval.
async fn go_on(fixture: &Fixture, task: TaskId) {
    let text = "keep to the plan".to_owned();
    fixture.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    fixture.engine.ask(task, ann(), Ask::Resume).await.unwrap();
}

async fn amend(fixture: &Fixture, task: TaskId, conditions: Conditions) {
    fixture.engine.ask(task, bob(), Ask::Amend { conditions }).await.unwrap();
}

/// Waits until it has told of its command, and stops it there.
async fn pause(fixture: &Fixture, task: TaskId) {
    for _ in 0..1_500 {
        let said = fixture.store().transcript_end(task, 5).await.unwrap();
        if said.iter().any(|it| matches!(it.event, domain::transcript::AgentEvent::ToolCall(_))) {
            break;
        }
        fixture.settle().await;
    }
    fixture.engine.ask(task, ann(), Ask::Pause).await.unwrap();
    fixture.wait_until(task, is_paused).await;
}

#[tokio::test]
async fn a_command_that_an_agent_told_before_it_failed_is_drift_until_it_is_amended() {
    let fixture = Fixture::new().await;
    let running = fixture.run();
    let task = approved(&fixture, "tells; unusable").await;
    let told = fixture.wait_until(task, is_paused).await;
    assert!(has_drifted(&told), "{:?}", told.stage);
    // Asking to go on is heard at once, so what is waited for is where it comes to rest after it.
    go_on(&fixture, task).await;
    let again = fixture.wait_until(task, |it| is_open(it) || is_paused(it)).await;
    assert!(has_drifted(&again), "nobody has amended anything: {:?}", again.stage);
    amend(&fixture, task, only(&["make test"])).await;
    fixture.wait_until(task, is_open).await;
    running.stop().await;
}

#[tokio::test]
async fn a_command_of_a_run_that_was_paused_counts_when_it_goes_on() {
    let fixture = Fixture::new().await;
    let running = fixture.run();
    let task = approved(&fixture, "tells; lingers").await;
    pause(&fixture, task).await;
    go_on(&fixture, task).await;
    fixture.wait_until(task, |it| is_open(it) || has_drifted(it)).await;
    assert!(has_drifted(&fixture.task(task).await));
    amend(&fixture, task, only(&["make test", COMMAND])).await;
    fixture.wait_until(task, is_open).await;
    running.stop().await;
}

#[tokio::test]
async fn an_amendment_for_another_reason_does_not_settle_what_nobody_was_told() {
    let fixture = Fixture::new().await;
    let running = fixture.run();
    let task = approved(&fixture, "tells; lingers").await;
    pause(&fixture, task).await;
    let budget = Some(Money::from_dollars(3));
    amend(&fixture, task, Conditions { budget, ..only(&["make test"]) }).await;
    fixture.wait_until(task, |it| is_open(it) || has_drifted(it)).await;
    assert!(has_drifted(&fixture.task(task).await));
    running.stop().await;
}

#[tokio::test]
async fn what_was_allowed_when_it_ran_is_no_drift_when_the_approval_is_narrowed() {
    let fixture = Fixture::new().await;
    let running = fixture.run();
    let task = fixture.submit("tells; lingers").await;
    let at_the_gate = |it: &Task| matches!(it.stage, Stage::AwaitingApproval { .. });
    fixture.wait_until(task, at_the_gate).await;
    fixture.approve(task).await;
    pause(&fixture, task).await;
    let text = "keep to the plan".to_owned();
    fixture.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
    amend(&fixture, task, only(&["make test"])).await;
    fixture.wait_until(task, |it| is_open(it) || has_drifted(it)).await;
    assert!(is_open(&fixture.task(task).await));
    running.stop().await;
}
