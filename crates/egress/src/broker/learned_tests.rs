//! What sandboxes asked for becomes a proposal for a policy; and a gateway that dies is replaced.

use super::*;

#[tokio::test]
async fn what_was_seen_becomes_a_proposal() {
    let world = World::new().await;
    world.broker.ended(WHOSE, Exchange(1), &report(Outcome::Done { status: Some(200) }, None));
    let denied = world.connect("docs.example.com", 443).await;
    let Answer::Refused(refusal) = denied else { panic!("refused") };
    let tried = Report {
        host: "docs.example.com".to_owned(),
        request: None,
        rule: None,
        ..report(Outcome::Refused(refusal), None)
    };
    world.broker.ended(WHOSE, Exchange(2), &tried);
    insta::assert_snapshot!(world.broker.learn(SANDBOX).unwrap().to_yaml(), @r"
    egress:
      implement:
        allow:
          - model:anthropic   # used 1×
          - { host: docs.example.com, methods: [GET, HEAD], paths: [/**] }   # refused 1×: allow it only if it is meant
    ");
    assert_eq!(world.broker.seen(SANDBOX).unwrap().len(), 2);
    let explained = world.broker.explain(SANDBOX, "POST", "https://api.example.com/x").unwrap();
    let explain::Verdict::Denied(refusal) = &explained.verdict else { panic!("denied") };
    assert_eq!(refusal.rule.as_deref(), Some("api.example.com:443 POST /**"));
    let says: Vec<&explain::Says> = explained.layers.iter().map(|layer| &layer.says).collect();
    assert!(matches!(says.as_slice(), [explain::Says::Denies(_)]));
}

/// Starts gateways that die as soon as they are told to.
struct Dying {
    started: Mutex<Vec<UnixStream>>,
    refreshed: tokio::sync::Notify,
}

impl Gateways for Dying {
    fn start(&self) -> BoxFuture<'_, Result<UnixStream, String>> {
        Box::pin(async {
            let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
            lock(&self.started).push(theirs);
            Ok(ours)
        })
    }

    fn fresh_doors(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.refreshed.notify_one() })
    }
}

#[tokio::test]
async fn a_gateway_that_dies_is_replaced_and_fresh_doors_are_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Arc::new(MemoryLedger::default());
    let broker =
        Broker::open(settings(directory.path().join("egress"), Arc::clone(&ledger))).unwrap();
    let early = broker.join(SANDBOX, Some(&network()), Vec::new()).await;
    assert!(matches!(early, Err(EgressError::Gone { .. })));
    let broker = Arc::new(broker);
    let gateways =
        Arc::new(Dying { started: Mutex::default(), refreshed: tokio::sync::Notify::new() });
    let stop = CancellationToken::new();
    let tracker = TaskTracker::new();
    let serving = {
        let (broker, gateways, stop) = (Arc::clone(&broker), Arc::clone(&gateways), stop.clone());
        tracker.spawn(async move { broker.serve(gateways.as_ref(), &stop).await })
    };
    while lock(&gateways.started).is_empty() {
        tokio::task::yield_now().await;
    }
    drop(lock(&gateways.started).pop());
    gateways.refreshed.notified().await;
    broker.join(SANDBOX, Some(&network()), Vec::new()).await.unwrap();
    stop.cancel();
    serving.await.unwrap().unwrap();
    let alarms =
        ledger.records().iter().filter(|record| matches!(record.what, What::Alarm { .. })).count();
    assert_eq!(alarms, 1);
}
