//! Appending: one winner, all or nothing, nothing ever lost or changed.

use std::sync::Arc;

use domain::task::{Ask, Command, Event, Report};
use futures::future::join_all;
use store::{Append, Filter, Page, StoreError};
use testkit::ann;

use crate::{
    home::{Home, Kind},
    life::{Life, ROOM, at, beginning, id, request, requested},
};

on_both!(
    of_many_who_read_the_same_history_one_wins,
    a_task_begins_once,
    what_does_not_follow_is_refused_and_leaves_nothing,
    events_have_no_gaps_however_many_write,
    an_outcome_whose_lease_is_lost_writes_nothing_at_all,
    an_outcome_takes_its_row_along_and_counts_once,
    a_step_that_was_told_to_stop_has_no_say,
    a_batch_is_kept_whole_or_not_at_all,
    nobody_changes_the_past_even_by_hand,
    any_words_can_be_kept,
);

async fn of_many_who_read_the_same_history_one_wins(home: Home) {
    let life = Life::begin(&home.store, 1, 0).await;
    let others = home.another().await;
    let tries = (0..16).map(|number| {
        let append = life.next(vec![life.message(&format!("from {number}"))], 1);
        if number % 2 == 0 { home.store.append(append) } else { others.append(append) }
    });
    let outcomes = join_all(tries).await;
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for outcome in lost {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { task } if task == life.id), "{error:?}");
    }
    assert_eq!(home.store.history(life.id).await.unwrap().events.len(), 2);
    assert_eq!(home.count("audit").await, 2, "the losers are not in the log either");
}

async fn a_task_begins_once(home: Home) {
    let again = || home.store.append(beginning(id(1), requested(request("acme/web", 1)), 0));
    let outcomes = join_all((0..8).map(|_| again())).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for outcome in outcomes.into_iter().filter(Result::is_err) {
        assert!(matches!(outcome, Err(StoreError::Exists { task }) if task == id(1)));
    }
    assert!(matches!(again().await, Err(StoreError::Exists { .. })));
    assert_eq!(home.count("events").await, 1);
}

async fn what_does_not_follow_is_refused_and_leaves_nothing(home: Home) {
    let store = &home.store;
    let elsewhere = Home::sqlite().await;
    let life = Life::begin(&elsewhere.store, 1, 0).await;
    let unknown = store.append(life.next(vec![life.message("hello?")], 0)).await;
    assert!(matches!(unknown, Err(StoreError::NoTask { .. })), "{unknown:?}");
    let headless = store.append(beginning(id(1), Event::Admitted, 0)).await;
    assert!(matches!(headless, Err(StoreError::NoTask { .. })), "{headless:?}");
    let first = beginning(id(1), requested(request("acme/web", 1)), 0);
    let late = store.append(Append { seq: 7, ..first.clone() }).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    let empty = store.append(Append { events: Vec::new(), ..first }).await;
    assert!(matches!(empty, Err(StoreError::NoTask { .. })), "{empty:?}");
    let mut nowhere = request("acme/web", 1);
    nowhere.repositories.clear();
    let nowhere = store.append(beginning(id(1), requested(nowhere), 0)).await;
    assert!(matches!(nowhere, Err(StoreError::NoRepository { .. })), "{nowhere:?}");
    for table in ["events", "tasks", "outbox", "audit", "blob_uses"] {
        assert_eq!(home.count(table).await, 0, "{table}");
    }
    assert_eq!(store.tasks(&Filter::default(), Page::default()).await.unwrap(), []);
    assert_eq!(store.history(id(1)).await.unwrap().seq(), 0);
    assert_eq!(store.task(id(1)).await.unwrap(), None);
}

async fn events_have_no_gaps_however_many_write(home: Home) {
    let life = Life::begin(&home.store, 1, 0).await;
    let Home { store, .. } = &home;
    let store = Arc::new(store);
    join_all((0..6).map(|writer| {
        let (store, mut life) = (Arc::clone(&store), life.clone());
        async move {
            for number in 0..5 {
                let text = format!("{writer}.{number}");
                while life.add(&store, life.next(vec![life.message(&text)], 1)).await.is_err() {
                    let history = store.history(life.id).await.unwrap();
                    life.seq = history.seq();
                    life.task = history.task().unwrap();
                }
            }
        }
    }))
    .await;
    let history = store.history(life.id).await.unwrap();
    let numbers: Vec<u64> = history.events.iter().map(|recorded| recorded.seq).collect();
    assert_eq!(numbers, (1..=31).collect::<Vec<u64>>());
    let mut texts: Vec<&str> =
        history.events.iter().filter_map(|recorded| message(&recorded.event)).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 30, "each message once");
    let page = store.events_after(life.id, 10, 3).await.unwrap();
    assert_eq!(page.iter().map(|recorded| recorded.seq).collect::<Vec<_>>(), [11, 12, 13]);
    assert_eq!(store.events_after(life.id, 31, 3).await.unwrap(), []);
    assert_eq!(store.events_after(life.id, 0, -1).await.unwrap(), [], "no page is no page");
}

fn message(event: &Event) -> Option<&str> {
    match event {
        Event::Messaged { text, .. } => Some(text),
        _other => None,
    }
}

/// Everything that can be seen of the database.
async fn all_of(home: &Home, life: &Life) -> String {
    let store = &home.store;
    format!(
        "{:?} {:?} {:?} {:?} {}",
        store.history(life.id).await.unwrap(),
        store.task(life.id).await.unwrap(),
        store.pending(life.id).await.unwrap(),
        store.audit_log(0).await.unwrap(),
        home.count("blob_uses").await,
    )
}

async fn an_outcome_whose_lease_is_lost_writes_nothing_at_all(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 0).await;
    life.report(store, Report::Admitted, 0).await;
    life.report(
        store,
        Report::Prepared {
            sandbox: sandbox(),
            commit: crate::life::base(),
            left: domain::task::Leftovers::default(),
        },
        0,
    )
    .await;
    let stolen = claim_work(&home, "first", 10, 20).await;
    let held = claim_work(&home, "second", 20, 30).await;
    assert_eq!((stolen.attempt, held.attempt), (1, 2));
    let before = all_of(&home, &life).await;
    let researched =
        life.decide(Command::Report(Report::Researched { notes: blob(), session: None }));
    // A person's words, a blob and a new stage: each would leave a trace of its own.
    let events = vec![life.message("in the same batch"), researched];
    let append = Append { settles: Some(stolen), ..life.next(events, 21) };
    let outcome = store.append(append.clone()).await;
    assert!(matches!(outcome, Err(StoreError::LeaseLost)), "{outcome:?}");
    assert_eq!(all_of(&home, &life).await, before);
    store.append(Append { settles: Some(held), ..append }).await.unwrap();
    assert_ne!(all_of(&home, &life).await, before);
}

async fn an_outcome_takes_its_row_along_and_counts_once(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 0).await;
    life.report(store, Report::Admitted, 0).await;
    let lease = claim_work(&home, "driver", 1, 100).await;
    let late = life.clone();
    life.settle(
        store,
        lease.clone(),
        Report::Prepared {
            sandbox: sandbox(),
            commit: crate::life::base(),
            left: domain::task::Leftovers::default(),
        },
        2,
    )
    .await
    .unwrap();
    let left = store.pending(life.id).await.unwrap();
    assert!(left.iter().all(|row| (row.seq, row.step) != (lease.seq, lease.step)), "{left:?}");
    let mut again = life.clone();
    let twice = again.settle(store, lease.clone(), Report::Failed(lost()), 3).await;
    assert!(matches!(twice, Err(StoreError::LeaseLost)), "{twice:?}");
    let stale =
        store.append(Append { settles: Some(lease), ..late.next(vec![late.message("x")], 3) });
    assert!(matches!(stale.await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.history(life.id).await.unwrap().seq(), life.seq);
}

async fn a_step_that_was_told_to_stop_has_no_say(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 0).await;
    life.report(store, Report::Admitted, 0).await;
    let lease = claim_work(&home, "driver", 1, 100).await;
    life.ask(store, ann(), Ask::Pause, 2).await;
    let late = Append { settles: Some(lease), ..life.next(vec![life.message("done!")], 3) };
    let outcome = store.append(late).await;
    assert!(matches!(outcome, Err(StoreError::LeaseLost)), "{outcome:?}");
    assert_eq!(store.history(life.id).await.unwrap().seq(), life.seq);
}

async fn a_batch_is_kept_whole_or_not_at_all(home: Home) {
    let store = &home.store;
    let life = Life::begin(store, 1, 0).await;
    let before = all_of(&home, &life).await;
    // Somebody's row stands where the third event of the batch has to go.
    let blocker = format!(
        "INSERT INTO blob_uses (digest, task, seq) VALUES ('{}', '{}', 4)",
        blob(),
        life.id
    );
    home.raw(&blocker).await.unwrap();
    let researched = Event::Researched { notes: blob(), session: None };
    let events = vec![life.message("one"), life.message("two"), researched];
    let outcome = store.append(life.next(events, 1)).await;
    assert!(matches!(outcome, Err(StoreError::Database(_))), "{outcome:?}");
    home.raw("DELETE FROM blob_uses").await.unwrap();
    assert_eq!(all_of(&home, &life).await, before);
}

async fn nobody_changes_the_past_even_by_hand(home: Home) {
    Life::begin(&home.store, 1, 0).await.reach_the_gate(&home.store, 1).await;
    let replace = match home.kind {
        Kind::Sqlite => [
            "REPLACE INTO events SELECT task, seq, kind, version, '{}', at FROM events WHERE seq = 2",
            "INSERT OR REPLACE INTO audit SELECT position, at, 'u_', action, subject, detail, \
             previous, hash FROM audit",
        ],
        Kind::Postgres => ["TRUNCATE events", "TRUNCATE audit"],
    };
    let forbidden = [
        "UPDATE events SET body = '{}' WHERE seq = 2",
        "UPDATE events SET at = at + 1",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 5",
        "INSERT INTO events SELECT task, 9, kind, version, body, at FROM events WHERE seq = 5",
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit WHERE position = 1",
        "INSERT INTO audit SELECT 7, at, actor, action, subject, detail, previous, hash FROM audit",
    ];
    let before = home.store.history(id(1)).await.unwrap();
    for sql in forbidden.into_iter().chain(replace) {
        let refusal = home.raw(sql).await.expect_err(sql).to_string();
        assert!(refusal.contains("append-only") || refusal.contains("gaps"), "{sql}: {refusal}");
    }
    assert_eq!(home.store.history(id(1)).await.unwrap(), before);
    assert_eq!(home.store.verify_audit().await.unwrap().rows, 1);
}

/// NUL, which PostgreSQL cannot keep; quotes; what moves a cursor; letters beyond the usual.
async fn any_words_can_be_kept(home: Home) {
    const ODD: &str = "a\0b '; DROP TABLE events; -- \u{1b}[2J \u{202e} 🏮 \\u0000 \"";
    let store = &home.store;
    let mut asked = request("acme/web", 1);
    asked.text = format!("\n  {ODD}\nmore");
    let mut life = Life::begin_as(store, 1, asked.clone(), 0).await;
    let message = life.message(ODD);
    life.add(store, life.next(vec![message.clone()], 1)).await.unwrap();
    let history = store.history(life.id).await.unwrap();
    assert_eq!(history.events[0].event, requested(asked), "to the letter");
    assert_eq!(history.events[1].event, message);
    let title = store.task(life.id).await.unwrap().unwrap().title;
    assert!(title.starts_with("a b '; DROP") && !title.contains(char::is_control), "{title:?}");
    store.give_places(ROOM, at(2)).await.unwrap();
    let lease = claim_work(&home, "driver", 2, 9).await;
    store.put_back(lease, at(2), ODD.repeat(1_000)).await.unwrap();
    let pending = store.pending(life.id).await.unwrap();
    let reason = pending.iter().find_map(|row| row.last_error.as_deref()).unwrap();
    assert_eq!(reason.chars().count(), 4_001, "a reason, not a transcript");
    let odd = || ODD.to_owned();
    let entry =
        store::AuditEntry { at: at(3), actor: odd(), action: odd(), subject: odd(), detail: odd() };
    store.audit(entry).await.unwrap();
    assert_eq!(store.verify_audit().await.unwrap().rows, 3);
}

pub(crate) fn sandbox() -> domain::id::SandboxId {
    domain::id::SandboxId::from_u128(1)
}

pub(crate) fn blob() -> domain::digest::Digest {
    domain::digest::Digest::of(b"evidence")
}

fn lost() -> domain::failure::Failure {
    use domain::{
        failure::{Failure, FailureKind},
        phase::Phase,
    };
    Failure::new(FailureKind::SandboxLost, Phase::Research, "gone")
}

/// The one step of the work lane that is due.
pub(crate) async fn claim_work(home: &Home, holder: &str, now: i64, until: i64) -> store::Lease {
    let leases = home.store.claim(holder, at(now), at(until), 100).await.unwrap();
    leases.into_iter().find(|lease| lease.step.lane() == domain::task::Lane::Work).unwrap()
}
