//! Two engines on one PostgreSQL, one of which dies, or is cut off without knowing it.

use std::time::Duration;

use domain::id::TaskId;
use testkit::postgres::Postgres;
use tests::{
    arena::{Arena, Ground, pause},
    player::Doom,
};

use crate::program;

const TASKS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(90);

async fn submitted(arena: &Arena) -> Vec<TaskId> {
    let scripts = ["fix it", "question", "red 1", "faults 1; busy 2"];
    let mut tasks = Vec::new();
    for (number, script) in scripts.into_iter().cycle().take(TASKS).enumerate() {
        tasks.push(arena.submit(number, script).await.unwrap());
    }
    tasks
}

async fn in_the_middle(arena: &Arena, tasks: &[TaskId]) {
    while arena.settled(tasks).await.unwrap() < TASKS / 4 {
        pause(Duration::from_millis(5)).await;
    }
}

async fn check(arena: &Arena, tasks: &[TaskId]) {
    arena.wait(tasks, PATIENCE).await.unwrap();
    let verdict = arena.inspect_patiently(tasks, PATIENCE).await.unwrap();
    assert!(verdict.is_clean(), "{verdict}");
}

#[tokio::test]
async fn when_one_of_two_engines_is_killed_the_other_takes_its_steps() {
    let postgres = Postgres::start().unwrap();
    let arena = Arena::new(Ground::Postgres(postgres.url())).await.unwrap();
    let tasks = submitted(&arena).await;
    let one = program().start(&arena, "one", Doom::Never).unwrap();
    let two = program().start(&arena, "two", Doom::Never).unwrap();
    in_the_middle(&arena, &tasks).await;
    one.kill().unwrap();
    check(&arena, &tasks).await;
    two.kill().unwrap();
}

/// A frozen process is a driver that is cut off: its leases run out, someone else does its steps, and
/// then it comes back and goes on as if nothing had happened.
#[tokio::test]
async fn an_engine_that_comes_back_after_its_leases_ran_out_does_no_harm() {
    let postgres = Postgres::start().unwrap();
    let arena = Arena::new(Ground::Postgres(postgres.url())).await.unwrap();
    let tasks = submitted(&arena).await;
    let one = program().start(&arena, "one", Doom::Never).unwrap();
    let two = program().start(&arena, "two", Doom::Never).unwrap();
    for _ in 0..3 {
        one.freeze().unwrap();
        pause(Duration::from_secs(2)).await;
        one.thaw().unwrap();
        two.freeze().unwrap();
        pause(Duration::from_secs(2)).await;
        two.thaw().unwrap();
    }
    check(&arena, &tasks).await;
}

#[tokio::test]
async fn when_the_database_crashes_and_comes_back_both_engines_go_on() {
    let mut postgres = Postgres::start().unwrap();
    let arena = Arena::new(Ground::Postgres(postgres.url())).await.unwrap();
    let tasks = submitted(&arena).await;
    let mut one = program().start(&arena, "one", Doom::Never).unwrap();
    let mut two = program().start(&arena, "two", Doom::Never).unwrap();
    in_the_middle(&arena, &tasks).await;
    postgres.crash_and_restart().unwrap();
    check(&arena, &tasks).await;
    assert!(one.is_running().unwrap() && two.is_running().unwrap(), "no engine gave up");
}
