//! Who did what, and the proof that nobody has touched it since.

use domain::task::{Ask, Report};
use futures::future::join_all;
use store::{AuditEntry, AuditFault};
use testkit::{ann, bob};

use crate::{
    home::{Home, Kind},
    life::{Life, at},
};

on_both!(
    what_people_did_is_in_the_log_and_what_machines_did_is_not,
    a_refusal_is_remembered,
    many_writers_make_one_chain,
    any_change_by_hand_is_found,
    an_empty_log_verifies,
);

async fn what_people_did_is_in_the_log_and_what_machines_did_is_not(home: Home) {
    let store = &home.store;
    let mut life = Life::begin(store, 1, 10).await;
    life.reach_the_gate(store, 20).await;
    life.approve(store, 30).await;
    life.report(store, Report::Admitted, 40).await;
    life.ask(store, ann(), Ask::Cancel, 50).await;
    let log = store.audit_log(0).await.unwrap();
    let told: Vec<_> = log
        .iter()
        .map(|link| {
            (link.position, link.entry.actor.clone(), link.entry.action.as_str(), link.entry.at)
        })
        .collect();
    let (ann, bob) = (ann().id.to_string(), bob().id.to_string());
    assert_eq!(
        told,
        [
            (1, ann.clone(), "requested", at(10)),
            (2, bob, "approved", at(30)),
            (3, ann, "cancelled", at(50)),
        ]
    );
    assert!(log.iter().all(|link| link.entry.subject == life.id.to_string()));
    assert!(log[1].entry.detail.contains("plan"), "{}", log[1].entry.detail);
    assert_eq!(store.audit_log(2).await.unwrap(), log[2..]);
    let verified = store.verify_audit().await.unwrap();
    assert_eq!((verified.rows, verified.head), (3, log[2].hash));
}

fn note(text: &str) -> AuditEntry {
    AuditEntry {
        at: at(1),
        actor: bob().id.to_string(),
        action: "refused".to_owned(),
        subject: "t_1".to_owned(),
        detail: format!("{{\"why\":\"{text}\"}}"),
    }
}

async fn a_refusal_is_remembered(home: Home) {
    home.store.audit(note("you may not")).await.unwrap();
    let log = home.store.audit_log(0).await.unwrap();
    assert_eq!(log[0].entry, note("you may not"));
    assert_eq!(home.store.verify_audit().await.unwrap().rows, 1);
}

async fn many_writers_make_one_chain(home: Home) {
    let other = home.another().await;
    let write = (0..40).map(|number| {
        let store = if number % 2 == 0 { &home.store } else { &other };
        async move { store.audit(note(&number.to_string())).await }
    });
    // Someone verifies while it grows: what is being added is no fault.
    let verify = async {
        for _ in 0..20 {
            home.store.verify_audit().await.unwrap();
        }
    };
    let (written, ()) = tokio::join!(join_all(write), verify);
    assert!(written.iter().all(Result::is_ok));
    assert_eq!(other.verify_audit().await.unwrap().rows, 40);
}

async fn an_empty_log_verifies(home: Home) {
    assert_eq!(home.store.verify_audit().await.unwrap().rows, 0);
}

async fn any_change_by_hand_is_found(home: Home) {
    for number in 1..=5 {
        home.store.audit(note(&number.to_string())).await.unwrap();
    }
    let of = match home.kind {
        Kind::Sqlite => "",
        Kind::Postgres => " ON audit",
    };
    for trigger in ["audit_is_never_changed", "audit_is_never_deleted", "audit_has_no_gaps"] {
        home.raw(&format!("DROP TRIGGER {trigger}{of}")).await.unwrap();
    }
    home.raw("CREATE TABLE kept AS SELECT * FROM audit").await.unwrap();
    home.raw("CREATE TABLE kept_head AS SELECT * FROM audit_head").await.unwrap();
    let zeros = "0".repeat(64);
    let set_hash = format!("UPDATE audit SET hash = '{zeros}' WHERE position = 5");
    let set_previous = format!("UPDATE audit SET previous = '{zeros}' WHERE position = 3");
    let tampering: &[(&str, &str)] = &[
        ("UPDATE audit SET at = at + 1 WHERE position = 3", "row 3 was changed"),
        ("UPDATE audit SET actor = 'u_' WHERE position = 1", "row 1 was changed"),
        ("UPDATE audit SET action = 'approved' WHERE position = 5", "row 5 was changed"),
        ("UPDATE audit SET subject = 't_2' WHERE position = 2", "row 2 was changed"),
        ("UPDATE audit SET detail = '{}' WHERE position = 4", "row 4 was changed"),
        // The same letters, moved from one column to the next.
        (
            "UPDATE audit SET action = 'refusedt', subject = '_1' WHERE position = 4",
            "row 4 was changed",
        ),
        (&set_previous, "row 3 does not follow"),
        (&set_hash, "row 5 was changed"),
        ("UPDATE audit SET hash = 'none' WHERE position = 2", "row 2 was changed"),
        ("UPDATE audit SET position = 9 WHERE position = 5", "row 9 was added"),
        ("DELETE FROM audit WHERE position = 1", "row 1 is missing"),
        ("DELETE FROM audit WHERE position = 3", "row 3 is missing"),
        ("DELETE FROM audit WHERE position = 5", "the log ends at row 4, but 5 rows were written"),
        ("DELETE FROM audit", "the log ends at row 0, but 5 rows were written"),
        (
            "INSERT INTO audit SELECT 6, at, actor, action, subject, detail, hash, hash FROM audit WHERE position = 5",
            "row 6 was added",
        ),
        (
            "INSERT INTO audit SELECT 0, at, actor, action, subject, detail, previous, hash FROM audit WHERE position = 1",
            "row 0 was added",
        ),
        (
            "UPDATE audit SET position = CASE position WHEN 2 THEN -3 ELSE -2 END WHERE position IN (2, 3)",
            "row -3 was added",
        ),
        ("UPDATE audit_head SET position = 4", "row 5 was added"),
        ("UPDATE audit_head SET position = 6", "the log ends at row 5, but 6 rows were written"),
        (
            "UPDATE audit_head SET hash = (SELECT hash FROM audit WHERE position = 4)",
            "another hash",
        ),
        ("DELETE FROM audit_head", "lost its head"),
    ];
    for (sql, expected) in tampering {
        home.raw(sql).await.unwrap();
        expect_fault(&home, sql, expected).await;
        restore(&home).await;
    }
    // Two rows that have changed places, each otherwise as it was.
    home.raw("UPDATE audit SET position = -position WHERE position IN (2, 3)").await.unwrap();
    home.raw("UPDATE audit SET position = 5 + position WHERE position < 0").await.unwrap();
    expect_fault(&home, "reordering", "row 2 does not follow").await;
    restore(&home).await;
    assert_eq!(home.store.verify_audit().await.unwrap().rows, 5);
}

async fn expect_fault(home: &Home, sql: &str, expected: &str) {
    let fault: AuditFault = home.store.verify_audit().await.expect_err(sql);
    assert!(fault.to_string().contains(expected), "{sql}: {fault}");
}

async fn restore(home: &Home) {
    for (table, kept) in [("audit", "kept"), ("audit_head", "kept_head")] {
        home.raw(&format!("DELETE FROM {table}")).await.unwrap();
        home.raw(&format!("INSERT INTO {table} SELECT * FROM {kept}")).await.unwrap();
    }
}
