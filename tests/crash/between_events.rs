//! SIGKILL between every two moments of complete histories.
//!
//! A history is played again and again, and the engine dies at its first moment (claimed, done outside,
//! written), its second, its third, until it comes to its end before it is to die. Every death counts.

use std::time::Duration;

use testkit::postgres::Postgres;
use tests::{
    arena::{Arena, Ground},
    player::Doom,
};

use crate::program;

const PATIENCE: Duration = Duration::from_mins(1);

/// Whether the engine met its end in the middle of a history, or the history came to its own.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Killed,
    Undisturbed,
}

async fn dies_at(ground: Ground, script: &str, moment: u32) -> Ended {
    let arena = Arena::new(ground).await.unwrap();
    let task = arena.submit(0, script).await.unwrap();
    let mut doomed = program().start(&arena, "engine", Doom::Moment(moment)).unwrap();
    while doomed.is_running().unwrap() && arena.settled(&[task]).await.unwrap() == 0 {
        tests::arena::pause(Duration::from_millis(5)).await;
    }
    let ended = if doomed.is_running().unwrap() { Ended::Undisturbed } else { Ended::Killed };
    drop(doomed);
    let heir = program().start(&arena, "engine", Doom::Never).unwrap();
    arena.wait(&[task], PATIENCE).await.unwrap();
    heir.kill().unwrap();
    let verdict = arena.inspect(&[task]).await.unwrap();
    assert!(verdict.is_clean(), "killed at moment {moment} of `{script}`: {verdict}");
    ended
}

/// Kills at every moment of `script`; fails if there were not even `least` of them.
async fn survives_everywhere(script: &str, least: u32, ground: impl Fn(u32) -> Ground) {
    let mut kills = 0;
    while dies_at(ground(kills + 1), script, kills + 1).await == Ended::Killed {
        kills += 1;
    }
    assert!(kills >= least, "`{script}` was killed {kills} times only: is it the whole history?");
}

fn on_sqlite(_moment: u32) -> Ground {
    Ground::Sqlite
}

#[tokio::test]
async fn a_straight_history_survives_a_kill_between_every_two_events() {
    survives_everywhere("fix the login", 30, on_sqlite).await;
}

#[tokio::test]
async fn a_history_with_a_question_survives_a_kill_between_every_two_events() {
    survives_everywhere("question; busy 1", 30, on_sqlite).await;
}

#[tokio::test]
async fn a_history_with_failing_checks_and_faults_survives_a_kill_between_every_two_events() {
    survives_everywhere("red 1; faults 1", 30, on_sqlite).await;
}

#[tokio::test]
async fn a_history_that_fails_survives_a_kill_between_every_two_events() {
    survives_everywhere("broken", 10, on_sqlite).await;
}

#[tokio::test]
async fn on_postgres_a_history_survives_a_kill_between_every_two_events() {
    let postgres = Postgres::start().unwrap();
    let fresh =
        |moment| Ground::Postgres(postgres.new_database(&format!("crash_{moment}")).unwrap());
    survives_everywhere("question; red 1", 30, fresh).await;
}
