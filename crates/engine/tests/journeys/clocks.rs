//! Timers, on a clock that the test moves; and clocks that jump (RE2).

use std::time::Duration;

use contracts::{
    agent::Agents as _,
    clock::Clock as _,
    sandbox::{Owner, Sandboxes as _},
};
use domain::{
    cost::Cost,
    id::TaskId,
    task::{Stage, Task, Work},
    time::Timestamp,
};
use testkit::{
    clock::{AnyClock, ManualClock},
    world::{ScriptedAgents, ScriptedSandboxes, World},
};

use crate::fixture::{Fixture, is_over};

async fn stage_with_clock() -> (Fixture, ManualClock) {
    let clock = ManualClock::starting_at(Timestamp::from_millis(1_700_000_000_000));
    let fixture = Fixture::with(AnyClock::Manual(clock.clone()), World::settings("engine")).await;
    (fixture, clock)
}

fn waits_for_approval(task: &Task) -> bool {
    matches!(task.stage, Stage::AwaitingApproval { .. })
}

fn is_paused(task: &Task) -> bool {
    matches!(task.stage, Stage::Paused { .. })
}

/// What the meters outside say.
async fn bill(fixture: &Fixture, task: TaskId) -> Cost {
    let agents = ScriptedAgents::new(fixture.ledger.clone(), AnyClock::System).bill(task).await;
    let sandboxes = ScriptedSandboxes::new(fixture.ledger.clone()).bill(&Owner::Task(task)).await;
    agents.unwrap() + sandboxes.unwrap()
}

#[tokio::test]
async fn an_approval_that_does_not_come_in_time_pauses_the_task_without_cost() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("fix it").await;
    let running = fixture.run();
    fixture.wait_until(task, waits_for_approval).await;
    fixture.wait_for_call("rest ").await;
    fixture.settle().await;
    let (calls, bill) = (fixture.ledger.calls().unwrap(), bill(&fixture, task).await);
    assert_ne!(bill, Cost::ZERO, "what it did before is on the bill");
    clock.advance(Duration::from_hours(23));
    fixture.settle().await;
    assert!(waits_for_approval(&fixture.task(task).await), "it still has an hour");
    clock.advance(Duration::from_hours(2));
    let paused = fixture.wait_until(task, is_paused).await;
    let view = fixture.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("approval_timeout"));
    fixture.settle().await;
    assert_eq!(self::bill(&fixture, task).await, bill, "a day of waiting costs nothing");
    assert_eq!(paused.spent, bill, "and no more than that was charged");
    let woken = |call: &&String| call.starts_with("open ") || call.starts_with("agent ");
    let all = fixture.ledger.calls().unwrap();
    assert_eq!(all.iter().skip(calls.len()).find(woken), None, "nothing ran meanwhile");
    fixture.approve_paused(task).await;
    fixture.wait_until(task, |it| matches!(it.stage, Stage::PullRequestOpen { .. })).await;
    running.stop().await;
}

#[tokio::test]
async fn a_phase_that_takes_too_long_is_stopped() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_until(task, |it| it.stage == Stage::Working(Work::Research)).await;
    fixture.wait_for_call("agent Research").await;
    clock.advance(Duration::from_mins(31));
    fixture.wait_until(task, is_paused).await;
    let view = fixture.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("time_limit"));
    running.stop().await;
}

#[tokio::test]
async fn a_restart_does_not_give_a_phase_its_time_again() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_for_call("agent Research").await;
    running.stop().await;
    clock.advance(Duration::from_mins(31));
    let running = fixture.run();
    fixture.wait_until(task, is_paused).await;
    running.stop().await;
}

#[tokio::test]
async fn a_clock_that_jumps_back_a_day_stops_nobody() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("question").await;
    let running = fixture.run();
    fixture.wait_until(task, |it| matches!(it.stage, Stage::AwaitingAnswer { .. })).await;
    let before = clock.now();
    clock.jump_to(Timestamp::from_millis(before.as_millis() - 24 * 60 * 60 * 1_000));
    fixture.answer(task).await;
    // What was due by the old clock becomes due again when it catches up.
    let ticking = async {
        loop {
            // A phase has its own time limit, which a slow machine must not run into.
            let hurry = fixture.task(task).await.stage.phase().is_none();
            clock.advance(if hurry { Duration::from_mins(10) } else { Duration::from_secs(1) });
            fixture.settle().await;
        }
    };
    tokio::select! {
        _reached = fixture.wait_until(task, waits_for_approval) => {}
        () = ticking => {}
    }
    running.stop().await;
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_makes_no_step_happen_twice() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("red 1").await;
    let running = fixture.run();
    fixture.wait_until(task, waits_for_approval).await;
    fixture.approve(task).await;
    let jumping = async {
        for _ in 0..200 {
            clock.advance(Duration::from_secs(7));
            fixture.settle().await;
        }
    };
    let open = |it: &Task| matches!(it.stage, Stage::PullRequestOpen { .. });
    let (_reached, ()) = tokio::join!(fixture.wait_until(task, open), jumping);
    fixture.merge(task).await;
    fixture.wait_until(task, is_over).await;
    running.stop().await;
    assert_eq!(fixture.ledger.names("pull").unwrap().len(), 1);
}
