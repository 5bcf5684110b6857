//! The server is killed at every event of a whole journey, and started again: nothing is lost, nothing is done twice.
//!
//! ```text
//!  event 1, 2, … n is seen ──▶ SIGKILL ──▶ `lamp up` on the same data ──▶ the people go on ──▶ one pull request, merged
//! ```

use std::ops::Range;

use wire::{
    pull::MergePull,
    task::{ask::Approve, event::TaskEvent, transcript::PageQuery},
};

use crate::{
    evening::no_sandbox_is_left,
    house::{Ground, House},
    play::Play,
    repository::Repository,
};

/// A journey has at least so many events; fewer would mean that the loop does not see all of it.
const LEAST: usize = 12;

/// Journeys that are each killed once: at the first event, then at the one `step` later, until one ends before it is to be killed.
pub(crate) fn one_kill_for_each_journey(first: usize, step: usize) {
    let house = House::build(Ground::Sqlite);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut at = first;
        while journey(&house, &format!("kill-{at}"), at..at + 1).await >= at {
            at += step;
        }
        assert!(at > LEAST, "killed up to event {at} only: is it the whole journey?");
        no_sandbox_is_left(&house).await;
    });
    house.close();
}

/// One journey that is killed at each of its events.
pub(crate) fn one_journey_with_all_the_kills(ground: Ground) {
    let house = House::build(ground);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let kills = journey(&house, "kill-always", 1..usize::MAX).await;
        assert!(kills >= LEAST, "killed at {kills} events only: is it the whole journey?");
        no_sandbox_is_left(&house).await;
    });
    house.close();
}

/// Plays a journey through; how many events it had.
async fn journey(house: &House, name: &str, kills: Range<usize>) -> usize {
    let repository = Repository::make(&house.repositories(), name);
    let mut play = Play::begin(house, repository, "Mend the sum.").await;
    loop {
        let Some(recorded) = play.next().await else { break };
        let (number, event) = (usize::try_from(recorded.number).unwrap(), recorded.event.clone());
        if kills.contains(&number) {
            house.kill();
            house.up();
        }
        decide(&play, &event).await;
    }
    ended_well(&play).await;
    play.events.len()
}

/// What people do about an event.
async fn decide(play: &Play<'_>, event: &TaskEvent) {
    let client = &play.house.client;
    if let TaskEvent::PlanSubmitted { plan, .. } = event {
        let yes = Approve { plan: plan.hash.clone(), ..Approve::default() };
        client.approve(&play.id, &yes).await.unwrap();
    }
    if let TaskEvent::PullRequestOpened { number, .. } = event {
        let pull = client.pull(&play.repository.name, *number).await.unwrap();
        let merge = MergePull { head: pull.delivered, base: pull.base };
        client.merge_pull(&play.repository.name, *number, &merge).await.unwrap();
    }
}

async fn ended_well(play: &Play<'_>) {
    let client = &play.house.client;
    let task = play.task().await;
    assert_eq!(task.done_because.as_deref(), Some("merged"), "{play}");
    assert!(play.repository.is_mended(), "{play}");
    let pulls = client.pulls(&play.repository.name).await.unwrap();
    assert_eq!((pulls.len(), play.repository.branches().len()), (1, 1), "{pulls:#?} {play}");
    let opened = |event: &TaskEvent| matches!(event, TaskEvent::PullRequestOpened { .. });
    assert_eq!(play.count(opened), 1, "{play}");
    // What was seen live is what is kept: no event is lost, none is there twice.
    let query = PageQuery { after: None, limit: Some(500) };
    let kept = client.task_events(&play.id, query).await.unwrap();
    assert!(!kept.more);
    assert_eq!(kept.events, play.events, "{play}");
    play.house.told_last(&play.id, "Merged. The task is done.").await;
}
