//! What is due, who does it, and what happens when they do not.

use std::collections::HashSet;

use domain::{
    id::SandboxId,
    task::{Ask, Lane, Report, Step, TimeUp},
};
use futures::future::join_all;
use store::{Append, Lease, Renewal, Store, StoreError};
use testkit::ann;

use crate::{
    append::claim_work,
    home::Home,
    life::{Life, ROOM, at},
};

on_both!(
    what_is_due_later_is_not_claimed_before,
    notices_of_one_task_go_out_one_after_the_other,
    the_work_of_one_task_never_runs_twice_at_a_time,
    timers_wait_for_nobody,
    whoever_lets_a_lease_run_out_loses_it_for_good,
    what_nobody_has_begun_vanishes_with_its_stage,
    whoever_is_at_it_is_told_to_stop,
    a_step_that_is_put_back_is_nobodys_until_it_is_due_again,
    many_claimers_never_get_the_same_step,
    the_next_look_is_when_something_can_be_claimed,
    a_step_of_a_newer_lamp_holds_up_nobody,
    many_steps_of_a_newer_lamp_starve_nobody,
    only_a_step_that_was_told_to_stop_is_abandoned,
    a_step_that_was_handed_over_counts_no_try,
);

async fn claim(store: &Store, now: i64, until: i64) -> Vec<Lease> {
    store.claim("driver", at(now), at(until), 100).await.unwrap()
}

fn steps(leases: &[Lease]) -> Vec<Step> {
    let mut steps: Vec<Step> = leases.iter().map(|lease| lease.step).collect();
    steps.sort_unstable();
    steps
}

async fn admitted(store: &Store, number: u128, when: i64) -> Life {
    let mut life = Life::begin(store, number, when).await;
    life.report(store, Report::Admitted, when).await;
    life
}

async fn what_is_due_later_is_not_claimed_before(home: Home) {
    let mut life = Life::begin(&home.store, 1, 1_000).await;
    life.reach_the_gate(&home.store, 1_000).await;
    // A clock that was set back holds up nothing that is to be done now.
    let now = claim(&home.store, 500, 2_000).await;
    assert!(steps(&now).contains(&Step::Tell), "{now:?}");
    assert!(!steps(&now).contains(&Step::TimeUp(TimeUp::Approval)), "{now:?}");
    let patience = i64::try_from(life.task.limits.gate.patience.as_millis()).unwrap();
    let patience_ends = 1_000 + patience;
    let early = claim(&home.store, patience_ends - 1, patience_ends).await;
    assert!(!steps(&early).contains(&Step::TimeUp(TimeUp::Approval)), "{early:?}");
    let late = home.store.claim("d", at(patience_ends), at(patience_ends + 1), 100).await.unwrap();
    assert!(steps(&late).contains(&Step::TimeUp(TimeUp::Approval)), "{late:?}");
}

async fn notices_of_one_task_go_out_one_after_the_other(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 0).await;
    life.ask(store, ann(), Ask::Pause, 1).await;
    life.ask(store, ann(), Ask::Cancel, 2).await;
    let mut told = Vec::new();
    for now in 10..13 {
        let notices: Vec<Lease> = claim(store, now, 100).await;
        let notices: Vec<Lease> =
            notices.into_iter().filter(|lease| lease.step == Step::Tell).collect();
        assert_eq!(notices.len(), 1, "one at a time");
        assert!(claim(store, now, 100).await.is_empty());
        for lease in notices {
            told.push(lease.seq);
            store.finish(lease).await.unwrap();
        }
    }
    assert_eq!(told, [1, 2, 3], "in the order of what happened");
}

async fn the_work_of_one_task_never_runs_twice_at_a_time(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 0).await;
    life.reach_the_gate(store, 0).await;
    let resting = claim_work(&home, "driver", 1, 100).await;
    assert_eq!(resting.step, Step::Rest);
    life.approve(store, 2).await;
    store.give_places(ROOM, at(3)).await.unwrap();
    let meanwhile = claim(store, 4, 50).await;
    assert!(meanwhile.iter().all(|lease| lease.step.lane() != Lane::Work), "{meanwhile:?}");
    store.finish(resting).await.unwrap();
    assert_eq!(claim_work(&home, "driver", 5, 50).await.step, Step::Open);
}

async fn timers_wait_for_nobody(home: Home) {
    let store = &home.store;
    let mut life = admitted(store, 1, 0).await;
    let open = claim_work(&home, "driver", 1, i64::MAX).await;
    let limit = i64::try_from(life.task.limits.time.prepare.as_millis()).unwrap();
    let timers = claim(store, limit, limit + 10).await;
    let timers: Vec<Lease> =
        timers.into_iter().filter(|lease| lease.step.lane() == Lane::Timer).collect();
    assert_eq!(timers.len(), 1, "while `{:?}` is still running", open.step);
    let Step::TimeUp(up) = timers[0].step else { panic!("{timers:?}") };
    life.settle(store, timers[0].clone(), Report::TimeUp(up), limit + 1).await.unwrap();
    assert_eq!(store.renew(vec![open], at(limit + 9)).await.unwrap(), [Renewal::Superseded]);
}

async fn whoever_lets_a_lease_run_out_loses_it_for_good(home: Home) {
    let store = &home.store;
    let mut life = admitted(store, 1, 0).await;
    let old = claim_work(&home, "driver", 1, 10).await;
    assert!(claim(store, 9, 20).await.iter().all(|lease| lease.step != Step::Open), "still held");
    assert_eq!(store.renew(vec![old.clone()], at(20)).await.unwrap(), [Renewal::Held]);
    assert!(claim(store, 19, 30).await.iter().all(|lease| lease.step != Step::Open), "renewed");
    // Even by someone with the same name: the same program, started again.
    let new = claim_work(&home, "driver", 20, 30).await;
    assert_eq!((new.seq, new.step, new.attempt), (old.seq, old.step, 2));
    assert_eq!(store.renew(vec![old.clone()], at(99)).await.unwrap(), [Renewal::Lost]);
    assert!(matches!(store.finish(old.clone()).await, Err(StoreError::LeaseLost)));
    let back = store.put_back(old.clone(), at(0), "too late".to_owned()).await;
    assert!(matches!(back, Err(StoreError::LeaseLost)));
    let prepared = Report::Prepared {
        sandbox: SandboxId::from_u128(1),
        commit: crate::life::base(),
        left: domain::task::Leftovers::default(),
    };
    let late = life.settle(store, old, prepared.clone(), 21).await;
    assert!(matches!(late, Err(StoreError::LeaseLost)));
    assert_eq!(store.renew(vec![new.clone()], at(40)).await.unwrap(), [Renewal::Held]);
    life.settle(store, new, prepared, 22).await.unwrap();
}

async fn what_nobody_has_begun_vanishes_with_its_stage(home: Home) {
    let store = &home.store;
    let mut life = admitted(store, 1, 0).await;
    let pending = |rows: Vec<store::Pending>| {
        let mut steps: Vec<Step> = rows.into_iter().map(|row| row.step).collect();
        steps.sort_unstable();
        steps
    };
    let before = pending(store.pending(life.id).await.unwrap());
    assert!(before.contains(&Step::Open) && before.len() == 3, "{before:?}");
    life.ask(store, ann(), Ask::Cancel, 1).await;
    let after = pending(store.pending(life.id).await.unwrap());
    assert_eq!(after, [Step::Close, Step::Tell, Step::Tell]);
}

async fn whoever_is_at_it_is_told_to_stop(home: Home) {
    let store = &home.store;
    let mut life = admitted(store, 1, 0).await;
    let lease = claim_work(&home, "driver", 1, 10).await;
    let expired = claim_work_of(&admitted(store, 2, 0).await, store, 1, 3).await;
    life.ask(store, ann(), Ask::Cancel, 5).await;
    let answers = store.renew(vec![lease.clone(), expired], at(12)).await.unwrap();
    assert_eq!(answers, [Renewal::Superseded, Renewal::Held]);
    assert!(
        claim(store, 11, 20).await.iter().all(|it| it.task != life.id || it.step == Step::Tell)
    );
    // Its holder dies. The row is swept, and what comes next in the lane is free.
    let next = claim(store, 12, 20).await;
    assert!(next.iter().any(|it| it.task == life.id && it.step == Step::Close), "{next:?}");
    assert_eq!(store.renew(vec![lease.clone()], at(30)).await.unwrap(), [Renewal::Lost]);
    assert!(matches!(store.finish(lease).await, Err(StoreError::LeaseLost)));
}

async fn claim_work_of(life: &Life, store: &Store, now: i64, until: i64) -> Lease {
    let leases = claim(store, now, until).await;
    let mine = |lease: &Lease| lease.task == life.id && lease.step.lane() == Lane::Work;
    leases.into_iter().find(mine).unwrap()
}

async fn a_step_that_is_put_back_is_nobodys_until_it_is_due_again(home: Home) {
    let store = &home.store;
    let life = admitted(store, 1, 0).await;
    let lease = claim_work(&home, "driver", 1, 100).await;
    store.put_back(lease.clone(), at(50), "the image is being pulled".to_owned()).await.unwrap();
    assert_eq!(store.renew(vec![lease.clone()], at(900)).await.unwrap(), [Renewal::Lost]);
    assert!(matches!(store.finish(lease.clone()).await, Err(StoreError::LeaseLost)));
    let settle = Append { settles: Some(lease), ..life.next(vec![life.message("x")], 3) };
    assert!(matches!(store.append(settle).await, Err(StoreError::LeaseLost)));
    let row = store.pending(life.id).await.unwrap();
    let row = row.iter().find(|row| row.step == Step::Open).unwrap();
    assert_eq!(row.last_error.as_deref(), Some("the image is being pulled"));
    assert_eq!((row.due_at, row.attempts), (at(50), 1));
    assert!(claim(store, 49, 100).await.iter().all(|lease| lease.step != Step::Open));
    assert_eq!(claim_work(&home, "other", 50, 100).await.attempt, 2);
}

async fn many_claimers_never_get_the_same_step(home: Home) {
    let other = home.another().await;
    let lives = join_all((1..=40).map(|number| Life::begin(&home.store, number, 0))).await;
    home.store.give_places(ROOM, at(1)).await.unwrap();
    let claimers = (0..8).map(|number| {
        let store = if number % 2 == 0 { &home.store } else { &other };
        async move {
            let mut mine = Vec::new();
            // Rows that another claimer looks at are passed over, so one empty look is not the end.
            for _ in 0..60 {
                let holder = format!("driver {number}");
                mine.extend(store.claim(&holder, at(2), at(1_000), 3).await.unwrap());
            }
            mine
        }
    });
    let claimed: Vec<Lease> = join_all(claimers).await.into_iter().flatten().collect();
    let keys: HashSet<_> = claimed.iter().map(|it| (it.task, it.seq, it.step)).collect();
    assert_eq!(keys.len(), claimed.len(), "nothing twice");
    assert_eq!(claimed.len(), 2 * lives.len(), "a notice and an opening for each");
    assert!(claimed.iter().all(|lease| lease.attempt == 1));
}

async fn the_next_look_is_when_something_can_be_claimed(home: Home) {
    let store = &home.store;
    assert_eq!(store.next_due().await.unwrap(), None);
    Life::begin(store, 1, 100).await.ask(store, ann(), Ask::Cancel, 200).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(0)), "the first notice, now");
    let first = store.claim("driver", at(100), at(900), 1).await.unwrap().remove(0);
    assert_eq!(store.next_due().await.unwrap(), Some(at(0)), "cleaning up, now");
    let close = store.claim("driver", at(200), at(800), 9).await.unwrap();
    assert_eq!(steps(&close), [Step::Close]);
    assert_eq!(store.next_due().await.unwrap(), Some(at(800)), "if its holder dies");
    store.finish(close[0].clone()).await.unwrap();
    assert_eq!(store.next_due().await.unwrap(), Some(at(900)), "the second notice waits for it");
    store.put_back(first, at(5_000), "busy".to_owned()).await.unwrap();
    assert_eq!(store.next_due().await.unwrap(), Some(at(5_000)));
}

async fn a_step_of_a_newer_lamp_holds_up_nobody(home: Home) {
    let store = &home.store;
    let life = admitted(store, 1, 10).await;
    let sql = format!(
        "INSERT INTO outbox (task, seq, step, lane, span, due_at) \
         VALUES ('{}', 0, 'teleport', 'timer', 'always', 0)",
        life.id
    );
    home.raw(&sql).await.unwrap();
    assert_eq!(steps(&claim(store, 10, 20).await), [Step::Open, Step::Tell]);
}

async fn many_steps_of_a_newer_lamp_starve_nobody(home: Home) {
    let store = &home.store;
    let life = admitted(store, 1, 10).await;
    for number in 0..3 {
        // Before everything else, however the line is ordered.
        let sql = format!(
            "INSERT INTO outbox (task, seq, step, lane, span, due_at) \
             VALUES ('{}', 0, 'teleport{number}', 'timer', 'always', -1)",
            life.id
        );
        home.raw(&sql).await.unwrap();
    }
    let mut claimed = Vec::new();
    for _ in 0..5 {
        claimed.extend(store.claim("driver", at(10), at(20), 1).await.unwrap());
    }
    assert_eq!(steps(&claimed), [Step::Open, Step::Tell]);
}

async fn only_a_step_that_was_told_to_stop_is_abandoned(home: Home) {
    let store = &home.store;
    let mut life = admitted(store, 1, 10).await;
    let open = |leases: Vec<Lease>| leases.into_iter().find(|it| it.step == Step::Open);
    let wanted = open(claim(store, 10, 20).await).unwrap();
    store.abandon(wanted.clone()).await.unwrap();
    let again = open(claim(store, 30, 40).await).unwrap();
    assert_eq!(again.attempt, 2, "it is still to be done");
    life.ask(store, ann(), Ask::Pause, 35).await;
    store.abandon(again).await.unwrap();
    let pending = store.pending(life.id).await.unwrap();
    assert!(pending.iter().all(|it| it.step != Step::Open), "{pending:?}");
}

async fn a_step_that_was_handed_over_counts_no_try(home: Home) {
    let store = &home.store;
    admitted(store, 1, 10).await;
    let open = |leases: Vec<Lease>| leases.into_iter().find(|it| it.step == Step::Open);
    let first = open(claim(store, 10, 1_000).await).unwrap();
    store.hand_over(first.clone()).await.unwrap();
    let next = open(store.claim("other", at(11), at(1_000), 9).await.unwrap()).unwrap();
    assert_eq!(next.attempt, 1);
    let renewed = store.renew(vec![first], at(2_000)).await.unwrap();
    assert_eq!(renewed, [Renewal::Lost]);
}
