//! Readers hear of what is new, or that they missed something; and reading again misses nothing.

use std::time::Duration;

use domain::time::Timestamp;
use futures::future::join_all;
use store::{Change, Heard, Subscription};

use crate::{
    home::{Home, Kind},
    life::{Life, ROOM, at, beginning, id, request, requested},
};

on_both!(
    a_reader_hears_of_every_append,
    a_reader_in_another_process_hears_of_it_too,
    a_reader_that_is_too_slow_is_told_so,
    whoever_reads_on_from_the_last_number_misses_nothing,
    a_caller_who_gave_up_does_not_silence_the_news,
);

/// What is heard next. Waiting for ever would be a hanging test.
pub(crate) async fn next(ear: &mut Subscription) -> Heard {
    tokio::time::timeout(Duration::from_secs(20), ear.next()).await.expect("nothing was heard")
}

async fn a_reader_hears_of_every_append(home: Home) {
    let mut ear = home.store.subscribe();
    let life = Life::begin(&home.store, 1, 0).await;
    assert_eq!(next(&mut ear).await, Heard::Change(Change { task: life.id, seq: 1 }));
    let refused = home.store.append(beginning(life.id, requested(request("acme/web", 1)), 0)).await;
    assert!(refused.is_err(), "and nothing is told about it");
    home.store.give_places(ROOM, at(1)).await.unwrap();
    assert_eq!(next(&mut ear).await, Heard::Change(Change { task: life.id, seq: 2 }));
    home.store.close().await;
}

async fn a_reader_in_another_process_hears_of_it_too(home: Home) {
    let other = home.another().await;
    let mut ear = other.subscribe();
    let life = Life::begin(&home.store, 1, 0).await;
    match home.kind {
        Kind::Postgres => {
            assert_eq!(next(&mut ear).await, Heard::Change(Change { task: life.id, seq: 1 }));
        }
        // One server owns the file, so there is nobody to tell. But what it reads is the same.
        Kind::Sqlite => assert_eq!(other.history(life.id).await.unwrap().seq(), 1),
    }
}

async fn a_reader_that_is_too_slow_is_told_so(home: Home) {
    let mut ear = home.store.subscribe();
    join_all((1..=1_100).map(|number| Life::begin(&home.store, number, 0))).await;
    let last = Life::begin(&home.store, 5_000, 0).await.id;
    let mut missed = 0;
    loop {
        match next(&mut ear).await {
            Heard::Missed => missed += 1,
            Heard::Change(change) if change.task == last => break,
            Heard::Change(_) | Heard::Transcript(_) => {}
            Heard::Closed => panic!("closed"),
        }
    }
    // PostgreSQL tells in its own time, and may be slow enough for us.
    let is_certain = home.kind == Kind::Sqlite;
    assert!(missed == 1 || !is_certain, "heard of {missed} gaps");
}

async fn whoever_reads_on_from_the_last_number_misses_nothing(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 0).await;
    let task = life.id;
    let mut ear = store.subscribe();
    let write = async {
        for number in 0..60 {
            let message = life.message(&number.to_string());
            life.add(store, life.next(vec![message], number)).await.unwrap();
        }
    };
    let read = async {
        let mut seen = Vec::new();
        loop {
            let last = seen.last().copied().unwrap_or(0);
            let new = store.events_after(task, last, 7).await.unwrap();
            seen.extend(new.iter().map(|recorded| recorded.seq));
            if seen.len() == 61 {
                return seen;
            }
            if new.is_empty() {
                next(&mut ear).await;
            }
        }
    };
    let ((), seen) = tokio::join!(write, read);
    assert_eq!(seen, (1..=61).collect::<Vec<u64>>());
}

async fn a_caller_who_gave_up_does_not_silence_the_news(home: Home) {
    if home.kind == Kind::Postgres {
        // There the database tells, in the transaction; nothing depends on the caller.
        return;
    }
    let mut ear = home.store.subscribe();
    let append = beginning(id(1), requested(request("acme/web", 1)), 0);
    let mut given_up = Box::pin(home.store.append(append));
    // Asked once, and then forgotten. On a busy machine the writer may have answered already.
    let _asked = futures::poll!(&mut given_up);
    drop(given_up);
    assert_eq!(next(&mut ear).await, Heard::Change(Change { task: id(1), seq: 1 }));
    assert_eq!(home.store.task(id(1)).await.unwrap().unwrap().since, Timestamp::from_millis(0));
}
