//! Places are few, and given fairly, whoever gives them.

use std::collections::BTreeMap;

use domain::queue::{Places, WaitReason};
use futures::future::join_all;
use store::{Filter, Page, Store};

use crate::{
    home::Home,
    life::{Life, ROOM, at, id, request},
};

on_both!(
    no_limit_is_passed_however_many_give_places,
    one_persons_many_tasks_delay_a_colleague_by_one_place,
    those_who_wait_see_their_place_and_the_reason,
    begun_work_goes_first,
    a_task_that_cannot_be_read_keeps_no_place_from_others,
);

async fn begin_many(store: &Store, tasks: impl IntoIterator<Item = (u128, String, u128)>) {
    for (number, repository, person) in tasks {
        let when = i64::try_from(number).unwrap();
        Life::begin_as(store, number, request(&repository, person), when).await;
    }
}

async fn holders(store: &Store) -> Vec<store::TaskView> {
    let filter = Filter { stage: Some("preparing".to_owned()), ..Filter::default() };
    store.tasks(&filter, Page { before: None, size: 500 }).await.unwrap()
}

async fn no_limit_is_passed_however_many_give_places(home: Home) {
    let other = home.another().await;
    begin_many(&home.store, (1..=40).map(|n| (n, format!("acme/r{}", n % 4), n % 5))).await;
    let places = Places { total: 7, per_repository: 3, per_person: 2 };
    let callers = (0..12).map(|number| {
        let store = if number % 2 == 0 { &home.store } else { &other };
        store.give_places(places, at(100))
    });
    let given: Vec<_> =
        join_all(callers).await.into_iter().flat_map(|outcome| outcome.unwrap()).collect();
    let holders = holders(&home.store).await;
    assert_eq!((given.len(), holders.len()), (7, 7), "all places are used, none twice");
    let (mut repositories, mut people) = (BTreeMap::new(), BTreeMap::new());
    for holder in &holders {
        *repositories.entry(&holder.repository).or_insert(0) += 1;
        *people.entry(holder.person).or_insert(0) += 1;
    }
    assert!(repositories.values().all(|count| *count <= 3), "{repositories:?}");
    assert!(people.values().all(|count| *count <= 2), "{people:?}");
    assert_eq!(home.store.give_places(places, at(101)).await.unwrap(), []);
}

async fn one_persons_many_tasks_delay_a_colleague_by_one_place(home: Home) {
    let web = || "acme/web".to_owned();
    begin_many(&home.store, (1..=30).map(|n| (n, web(), 1)).chain([(31, web(), 2)])).await;
    let two = Places { total: 2, per_repository: 9, per_person: 9 };
    assert_eq!(home.store.give_places(two, at(99)).await.unwrap(), [id(1), id(31)]);
}

async fn those_who_wait_see_their_place_and_the_reason(home: Home) {
    let web = || "acme/web".to_owned();
    begin_many(&home.store, (1..=3).map(|n| (n, web(), 1))).await;
    begin_many(&home.store, [(4, web(), 2), (5, "acme/api".to_owned(), 3)]).await;
    let places = Places { total: 2, per_repository: 2, per_person: 1 };
    let told = |positions: Vec<domain::queue::Position>| {
        let line = |at: domain::queue::Position| {
            format!("{} {}: {}", at.place, at.task.as_u128(), at.reason)
        };
        positions.into_iter().map(line).collect::<Vec<_>>()
    };
    let before = home.store.queue(places, 3).await.unwrap();
    assert_eq!(before[0].reason, WaitReason::StartsNow);
    assert_eq!(told(before), ["1 1: starts now", "2 5: starts now", "3 4: all 2 places are taken"]);
    home.store.give_places(places, at(9)).await.unwrap();
    assert_eq!(
        told(home.store.queue(places, 100).await.unwrap()),
        [
            "1 4: all 2 places are taken",
            "2 2: its repository already has 2 running",
            "3 3: its repository already has 2 running"
        ]
    );
    assert_eq!(home.store.queue(places, 0).await.unwrap(), []);
}

async fn begun_work_goes_first(home: Home) {
    let store = &home.store;
    let mut begun = Life::begin(store, 9, 900).await;
    begun.reach_the_gate(store, 900).await;
    begun.approve(store, 901).await;
    begin_many(store, [(1, "acme/web".to_owned(), 1)]).await;
    let one = Places { total: 1, ..ROOM };
    assert_eq!(store.give_places(one, at(999)).await.unwrap(), [begun.id]);
}

async fn a_task_that_cannot_be_read_keeps_no_place_from_others(home: Home) {
    begin_many(&home.store, (1..=3).map(|n| (n, "acme/web".to_owned(), n))).await;
    let task = id(1);
    let event = format!("INSERT INTO events VALUES ('{task}', 2, 'dreamt', 1, '{{}}', 2)");
    home.raw(&event).await.unwrap();
    home.raw(&format!("UPDATE tasks SET seq = 2 WHERE task = '{task}'")).await.unwrap();
    let one = Places { total: 1, ..ROOM };
    assert_eq!(home.store.give_places(one, at(9)).await.unwrap(), [id(2)]);
}
