//! Many tasks, few places (TR10).

use domain::{
    queue::{Places, WaitReason},
    task::{Standing, Task},
};
use engine::Settings;
use testkit::{clock::AnyClock, world::World};

use crate::fixture::Fixture;

const PLACES: Places = Places { total: 3, per_repository: 3, per_person: 3 };

fn holds_a_place(task: &Task) -> bool {
    task.stage.standing() == Standing::HoldsPlace
}

#[tokio::test]
async fn no_more_tasks_run_than_there_are_places_and_the_rest_know_why_they_wait() {
    let settings = Settings { places: PLACES, ..World::settings("engine") };
    let fixture = Fixture::with(AnyClock::System, settings).await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        tasks.push(fixture.submit("endless").await);
    }
    let running = fixture.run();
    fixture.wait_for_calls("agent Research", 3).await;
    fixture.settle().await;
    let mut holding = 0;
    for task in &tasks {
        holding += usize::from(holds_a_place(&fixture.task(*task).await));
    }
    assert_eq!(holding, 3);
    let queue = fixture.store().queue(PLACES, 100).await.unwrap();
    let places: Vec<usize> = queue.iter().map(|position| position.place).collect();
    assert_eq!(places, [1, 2, 3, 4, 5]);
    assert!(queue.iter().all(|it| it.reason != WaitReason::StartsNow));
    running.stop().await;
}
