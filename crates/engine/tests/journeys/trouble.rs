//! What goes wrong outside becomes a failure with a name, a phase and a next step (PL8).

use std::time::Duration;

use contracts::clock::Clock as _;
use domain::{
    money::Money,
    phase::Phase,
    task::{Ask, Event, Stage, Task},
};
use engine::Settings;
use testkit::{
    ann,
    clock::AnyClock,
    world::{PRICE, World},
};

use crate::fixture::{Fixture, is_over};

fn is_paused(task: &Task) -> bool {
    matches!(task.stage, Stage::Paused { .. })
}

#[tokio::test]
async fn an_agent_that_stops_fails_the_task_with_its_last_lines() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("broken").await;
    let failed = fixture.play_until(task, is_over).await;
    let Stage::Failed { failure, .. } = failed.stage else { panic!("{:?}", failed.stage) };
    assert_eq!(failure.kind.name(), "agent_error");
    assert_eq!(failure.last_lines, ["reading", "stopping"]);
    insta::assert_snapshot!(fixture.news(task).lines().skip(2).collect::<Vec<_>>().join("\n"), @r"
    task.failed
    agent_error while researching: the agent stopped: the script says so.
    Next: read the last lines; `lamp retry` tries again; `lamp agent check` with a program of `lamp agent list` tests it alone.
    ");
}

#[tokio::test]
async fn an_unusable_plan_pauses_before_anyone_is_asked() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("empty-plan").await;
    fixture.play_until(task, is_paused).await;
    let view = fixture.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("plan_unusable"));
    assert!(!fixture.told(task).await.contains("plan_submitted"));
}

#[tokio::test]
async fn checks_that_never_pass_end_in_a_call_for_help() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("red 99").await;
    fixture.play_until(task, is_paused).await;
    let view = fixture.store().task(task).await.unwrap().unwrap();
    assert_eq!(view.failure.as_deref(), Some("test_loop"));
    assert_eq!(fixture.told(task).await.matches("checks_failed").count(), 5);
}

#[tokio::test]
async fn a_busy_forge_is_asked_again_and_the_work_goes_on() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("busy 3").await;
    let done = fixture.play_until(task, is_over).await;
    assert!(matches!(done.stage, Stage::Done { .. }), "{:?}", done.stage);
}

#[tokio::test]
async fn a_forge_that_stays_busy_fails_the_task_after_the_last_try() {
    let settings = Settings { tries: 3, ..World::settings("engine") };
    let fixture = Fixture::with(AnyClock::System, settings).await;
    let task = fixture.submit("busy 99").await;
    let failed = fixture.play_until(task, is_over).await;
    let Stage::Failed { failure, .. } = failed.stage else { panic!("{:?}", failed.stage) };
    assert!(failure.message.starts_with("gave up after 3 tries"), "{failure}");
}

#[tokio::test]
async fn a_damaged_log_does_not_stop_the_agent_from_trying_again() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("red 6").await;
    fixture.play_until(task, is_paused).await;
    let torn = fixture.blob_files();
    assert!(torn.len() >= 5, "notes and failed checks: {torn:?}");
    for blob in torn {
        std::fs::write(blob, "torn").unwrap();
    }
    fixture.engine.ask(task, ann(), Ask::Resume).await.unwrap();
    let done = fixture.play_until(task, is_over).await;
    assert!(matches!(done.stage, Stage::Done { .. }), "{:?}", done.stage);
}

#[tokio::test]
async fn a_run_that_failed_is_paid_for_all_the_same() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("broken").await;
    let failed = fixture.play_until(task, is_over).await;
    assert_eq!(failed.spent.money, Money::from_micros(PRICE));
    assert_eq!(fixture.ledger.names(&format!("charge-{task}")).unwrap().len(), 1);
}

#[tokio::test]
async fn a_failed_task_that_is_retried_gets_its_credentials_again() {
    let settings = Settings { tries: 1, ..World::settings("engine") };
    let fixture = Fixture::with(AnyClock::System, settings).await;
    let task = fixture.submit("busy 1").await;
    let failed = fixture.play_until(task, is_over).await;
    assert!(matches!(failed.stage, Stage::Failed { .. }), "{:?}", failed.stage);
    fixture.engine.ask(task, ann(), Ask::Retry { from: Phase::Implement }).await.unwrap();
    let done = fixture.play_until(task, is_over).await;
    assert!(matches!(done.stage, Stage::Done { .. }), "{:?}", done.stage);
}

#[tokio::test]
async fn what_was_done_for_a_plan_that_was_dropped_is_not_in_the_next_ones_change() {
    let fixture = Fixture::new().await;
    let task = fixture.submit("red 6").await;
    fixture.play_until(task, is_paused).await;
    fixture.engine.ask(task, ann(), Ask::Retry { from: Phase::Research }).await.unwrap();
    let done = fixture.play_until(task, is_over).await;
    assert!(matches!(done.stage, Stage::Done { .. }), "{:?}", done.stage);
    let history = fixture.store().history(task).await.unwrap();
    let told: Vec<&Event> = history.events.iter().map(|recorded| &recorded.event).collect();
    let places = told.iter().filter_map(|event| {
        let Event::Prepared { commit, .. } = event else { return None };
        Some(commit)
    });
    let places: Vec<_> = places.collect();
    assert!(places.len() >= 4, "research and work, twice: {places:?}");
    assert!(places.iter().all(|place| place == &places[0]), "on nothing of its own: {places:?}");
    let last = told.iter().rposition(|event| matches!(event, Event::Approved { .. })).unwrap();
    let next = told[last..].iter().find_map(|event| {
        let Event::Implemented { base, .. } = event else { return None };
        Some(base)
    });
    assert_eq!(next, Some(places[0]), "all of it is new");
}

#[tokio::test]
async fn a_step_that_ends_every_engine_is_given_up() {
    let settings = Settings { tries: 2, ..World::settings("engine") };
    let fixture = Fixture::with(AnyClock::System, settings).await;
    let task = fixture.submit("endless").await;
    let running = fixture.run();
    fixture.wait_for_call("agent Research").await;
    running.stop().await;
    // Six engines claim it and are never heard of again.
    for life in 1..=6 {
        let now = AnyClock::System.now() + Duration::from_hours(life);
        let until = now + Duration::from_millis(1);
        fixture.store().claim("doomed", now, until, 9).await.unwrap();
    }
    fixture.store().let_go("doomed").await.unwrap();
    let failed = fixture.play_until(task, is_over).await;
    let Stage::Failed { failure, .. } = failed.stage else { panic!("{:?}", failed.stage) };
    assert_eq!(failure.kind.name(), "internal");
    assert_eq!(failure.message, "the engine ended 6 times in the middle of this step");
}
