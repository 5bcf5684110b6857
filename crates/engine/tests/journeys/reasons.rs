//! A failure tells what stands behind it, and what helps: a host that was refused, time that is used up, the last lines (PL8).

use std::time::Duration;

use contracts::clock::Clock as _;
use domain::{
    approval::Conditions,
    failure::Failure,
    id::TaskId,
    limits::Limits,
    money::Money,
    task::{Ask, PauseReason, Stage, Task},
    time::Timestamp,
};
use testkit::{
    ann, bob,
    clock::{AnyClock, ManualClock},
    world::{HOST, PRICE, World, refuse},
};

use crate::fixture::Fixture;

fn is_paused(task: &Task) -> bool {
    matches!(task.stage, Stage::Paused { .. })
}

fn is_open(task: &Task) -> bool {
    matches!(task.stage, Stage::PullRequestOpen { .. })
}

fn failure(task: &Task) -> Failure {
    let Stage::Paused { why: PauseReason::Failure(failure), .. } = &task.stage else {
        panic!("{:?}", task.stage)
    };
    failure.clone()
}

/// A fixture whose clock the test moves.
async fn stage_with_clock() -> (Fixture, ManualClock) {
    let clock = ManualClock::starting_at(Timestamp::from_millis(1_700_000_000_000));
    let fixture = Fixture::with(AnyClock::Manual(clock.clone()), World::settings("engine")).await;
    (fixture, clock)
}

/// Waits for the plan, and says yes on these conditions.
async fn approve_on(fixture: &Fixture, task: TaskId, conditions: Conditions) {
    let at_the_gate = |it: &Task| matches!(it.stage, Stage::AwaitingApproval { .. });
    let waiting = fixture.wait_until(task, at_the_gate).await;
    let Stage::AwaitingApproval { plan } = waiting.stage else { unreachable!() };
    fixture.engine.ask(task, bob(), Ask::Approve { plan, conditions }).await.unwrap();
}

async fn say(fixture: &Fixture, task: TaskId, words: &str) {
    let text = words.to_owned();
    fixture.engine.ask(task, ann(), Ask::Message { text }).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_failed_after_a_refusal_was_blocked_and_goes_on_when_it_is_resumed() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("blocked").await;
    let running = fixture.run();
    approve_on(&fixture, task, Conditions::default()).await;
    let failure = failure(&fixture.wait_until(task, is_paused).await);
    insta::assert_snapshot!(failure, @"egress_blocked while implementing: the agent stopped: it could not go on; the gateway refused `docs.example.com` (it is not in the script)");
    assert_eq!(failure.last_lines, [format!("asking {HOST}"), "403".to_owned()]);
    say(&fixture, task, "it is allowed now").await;
    fixture.engine.ask(task, ann(), Ask::Resume).await.unwrap();
    fixture.wait_until(task, is_open).await;
    running.stop().await;
}

#[tokio::test]
async fn an_agent_that_fails_without_a_refusal_in_its_step_is_not_called_blocked() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("broken").await;
    let long_ago = Timestamp::from_millis(0);
    refuse(&fixture.ledger, task, HOST, long_ago).unwrap();
    let failed = fixture.play_until(task, crate::fixture::is_over).await;
    let Stage::Failed { failure, .. } = failed.stage else { panic!("{:?}", failed.stage) };
    assert_eq!(failure.kind.name(), "agent_error");
}

#[tokio::test]
async fn a_host_that_was_refused_before_a_crash_is_drift_after_it() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("lingers").await;
    let running = fixture.run();
    let hosts = Some(["other.example.com".to_owned()].into());
    approve_on(&fixture, task, Conditions { hosts, ..Conditions::default() }).await;
    fixture.wait_for_call("agent Implement").await;
    refuse(&fixture.ledger, task, HOST, AnyClock::System.now()).unwrap();
    running.stop().await;
    // The second attempt at the same step is refused nothing.
    say(&fixture, task, "go on").await;
    let running = fixture.run();
    let failure = failure(&fixture.wait_until(task, is_paused).await);
    assert_eq!(failure.kind.name(), "plan_drift");
    assert!(failure.message.contains(HOST), "{failure}");
    running.stop().await;
}

#[tokio::test]
async fn a_host_that_the_approval_allows_and_the_policy_does_not_is_no_drift() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("lingers").await;
    let running = fixture.run();
    let hosts = Some(["*.example.com".to_owned()].into());
    approve_on(&fixture, task, Conditions { hosts, ..Conditions::default() }).await;
    fixture.wait_for_call("agent Implement").await;
    refuse(&fixture.ledger, task, HOST, AnyClock::System.now()).unwrap();
    say(&fixture, task, "go on").await;
    let failure = failure(&fixture.wait_until(task, is_paused).await);
    assert_eq!(failure.kind.name(), "egress_blocked", "{failure}");
    running.stop().await;
}

/// Waits while the clock goes on slowly: what is tried again later waits for it.
async fn reached(
    fixture: &Fixture,
    clock: &ManualClock,
    task: TaskId,
    enough: impl Fn(&Task) -> bool,
) -> Task {
    let ticking = async {
        loop {
            clock.advance(Duration::from_millis(5));
            fixture.settle().await;
        }
    };
    tokio::select! {
        reached = fixture.wait_until(task, enough) => reached,
        () = ticking => unreachable!(),
    }
}

#[tokio::test]
async fn the_time_of_an_approval_is_for_all_rounds_together() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("lingers; red 1").await;
    let running = fixture.run();
    let time = Some(Duration::from_mins(10));
    approve_on(&fixture, task, Conditions { time, ..Conditions::default() }).await;
    fixture.wait_for_call("agent Implement").await;
    clock.advance(Duration::from_mins(4));
    say(&fixture, task, "go on").await;
    reached(&fixture, &clock, task, is_open).await;
    running.stop().await;
    let calls = fixture.ledger.calls().unwrap();
    let behind = calls
        .iter()
        .filter(|it| it.starts_with("agent Implement") || it.starts_with("agent Review"));
    let seconds = behind.filter_map(|call| call.split(' ').rev().nth(1)?.parse::<u64>().ok());
    let given: Vec<u64> = seconds.collect();
    let (Some(first), Some(last)) = (given.first(), given.last()) else { panic!("{calls:#?}") };
    assert!((590..=600).contains(first), "{calls:#?}");
    assert!((300..=360).contains(last), "what the first round took is gone: {calls:#?}");
}

#[tokio::test]
async fn time_that_is_used_up_pauses_until_somebody_amends() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("lingers").await;
    let running = fixture.run();
    let time =
        |minutes| Conditions { time: Some(Duration::from_mins(minutes)), ..Conditions::default() };
    approve_on(&fixture, task, time(4)).await;
    fixture.wait_for_call("agent Implement").await;
    clock.advance(Duration::from_mins(4));
    say(&fixture, task, "go on").await;
    let paused = reached(&fixture, &clock, task, is_paused).await;
    let told = failure(&paused);
    assert_eq!(told.kind.name(), "time_limit", "{told}");
    assert_eq!(
        told.message,
        "all work took the 240 seconds that the approval allows; `lamp amend --time` allows more"
    );
    fixture.engine.ask(task, ann(), Ask::Resume).await.unwrap();
    for _ in 0..1_500 {
        if fixture.told(task).await.matches("paused").count() == 2 {
            break;
        }
        clock.advance(Duration::from_millis(5));
        fixture.settle().await;
    }
    let again = reached(&fixture, &clock, task, is_paused).await;
    assert_eq!(failure(&again).kind.name(), "time_limit", "to go on as before is no way around it");
    fixture.engine.ask(task, bob(), Ask::Amend { conditions: time(5) }).await.unwrap();
    reached(&fixture, &clock, task, is_open).await;
    running.stop().await;
}

#[tokio::test]
async fn the_last_lines_of_failing_checks_are_told() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("red 99").await;
    let failure = failure(&fixture.play_until(task, is_paused).await);
    assert_eq!(failure.kind.name(), "test_loop");
    assert_eq!(failure.last_lines, ["$ make test", "the scripted check ended with 1"]);
}

#[tokio::test]
async fn what_the_reviewer_still_finds_is_told() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("faults 99").await;
    let failure = failure(&fixture.play_until(task, is_paused).await);
    assert_eq!(failure.kind.name(), "review_loop");
    let found = "src/login.rs:7: the lock is not released on error (fails with: an empty password)";
    assert_eq!(failure.last_lines, [found]);
}

#[tokio::test]
async fn what_the_agent_said_last_is_told_when_the_money_is_spent() {
    let fixture = Fixture::new().await;
    let limits = Limits { budget: Money::from_micros(PRICE / 2), ..Limits::default() };
    let trigger = testkit::trigger("acme/web", "dear").unwrap();
    let task = fixture.engine.submit(trigger, limits).await.unwrap();
    let hit = failure(&fixture.play_until(task, is_paused).await);
    assert_eq!((hit.kind.name(), hit.last_lines), ("budget_hit", said("Research")));
}

#[tokio::test]
async fn what_the_agent_said_last_is_told_when_its_time_is_over() {
    let (fixture, clock) = stage_with_clock().await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_for_call("agent Research").await;
    // What it says is kept after a moment.
    for _ in 0..500 {
        if !fixture.store().transcript_end(task, 10).await.unwrap().is_empty() {
            break;
        }
        clock.advance(Duration::from_millis(100));
        fixture.settle().await;
    }
    clock.advance(Duration::from_mins(31));
    let late = failure(&fixture.wait_until(task, is_paused).await);
    assert_eq!((late.kind.name(), late.last_lines), ("time_limit", said("Research")));
    running.stop().await;
}

fn said(mode: &str) -> Vec<String> {
    vec![format!("{mode} as the script says")]
}

#[tokio::test]
async fn a_reviewer_that_asks_pauses_the_task_and_does_not_end_it() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("puzzled").await;
    let failure = failure(&fixture.play_until(task, is_paused).await);
    insta::assert_snapshot!(failure, @"answer_unusable while reviewing: the agent answered with a question, which does not fit this phase");
}
