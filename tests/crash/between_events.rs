//! SIGKILL between every two moments of complete histories.
//!
//! A history is played once to count its moments (claimed, done outside, written). Then it is played
//! once for each of them, and the engine dies there.

use std::time::Duration;

use testkit::postgres::Postgres;
use tests::{
    arena::{Arena, Ground},
    player::Doom,
};

use crate::program;

const PATIENCE: Duration = Duration::from_mins(1);

/// Counts the moments of a history that nobody interrupts.
async fn moments(script: &str) -> u32 {
    let arena = Arena::new(Ground::Sqlite).await.unwrap();
    let task = arena.submit(0, script).await.unwrap();
    let counter = arena.directory().join("moments");
    let mut command = std::process::Command::new(program().0);
    command.args(["--database", arena.url(), "--name", "counting", "--directory"]);
    command.arg(arena.directory()).arg("--count-into").arg(&counter);
    let mut child = command.spawn().unwrap();
    arena.wait(&[task], PATIENCE).await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::read_to_string(counter).unwrap().parse().unwrap()
}

async fn dies_at(ground: Ground, script: &str, moment: u32) {
    let arena = Arena::new(ground).await.unwrap();
    let task = arena.submit(0, script).await.unwrap();
    let mut doomed = program().start(&arena, "engine", Doom::Moment(moment)).unwrap();
    while doomed.is_running().unwrap() && arena.settled(&[task]).await.unwrap() == 0 {
        tests::arena::pause(Duration::from_millis(5)).await;
    }
    drop(doomed);
    let heir = program().start(&arena, "engine", Doom::Never).unwrap();
    arena.wait(&[task], PATIENCE).await.unwrap();
    heir.kill().unwrap();
    let verdict = arena.inspect(&[task]).await.unwrap();
    assert!(verdict.is_clean(), "killed at moment {moment} of `{script}`: {verdict}");
}

/// Kills at every moment of `script`, on SQLite.
async fn survives_everywhere(script: &str) {
    let last = moments(script).await;
    assert!(last > 20, "`{script}` has only {last} moments: is it the whole history?");
    for moment in 1..=last {
        dies_at(Ground::Sqlite, script, moment).await;
    }
}

#[tokio::test]
async fn a_straight_history_survives_a_kill_between_every_two_events() {
    survives_everywhere("fix the login").await;
}

#[tokio::test]
async fn a_history_with_a_question_survives_a_kill_between_every_two_events() {
    survives_everywhere("question; busy 1").await;
}

#[tokio::test]
async fn a_history_with_failing_checks_and_faults_survives_a_kill_between_every_two_events() {
    survives_everywhere("red 1; faults 1").await;
}

#[tokio::test]
async fn a_history_that_fails_survives_a_kill_between_every_two_events() {
    let script = "broken";
    for moment in 1..=moments(script).await {
        dies_at(Ground::Sqlite, script, moment).await;
    }
}

#[tokio::test]
async fn on_postgres_a_history_survives_a_kill_between_every_two_events() {
    let postgres = Postgres::start().unwrap();
    let script = "question; red 1";
    for moment in 1..=moments(script).await {
        let database = postgres.new_database(&format!("crash_{moment}")).unwrap();
        dies_at(Ground::Postgres(database), script, moment).await;
    }
}
