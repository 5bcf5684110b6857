//! What is written down: every credential before it is handed out, and every refusal with whoever caused it.

use super::{
    super::ledger::{Ledger, NotWritten},
    *,
};

fn kinds(ledger: &MemoryLedger) -> Vec<String> {
    let told = |record: &Record| match &record.what {
        What::Credential { secret, host, method, path, .. } => {
            format!("{secret} for {method} {host}{path}")
        }
        What::Exchange(it) => {
            format!("{} {}:{} by {}", it.way, it.host, it.port, it.cause.as_deref().unwrap_or("?"))
        }
        What::Finding { .. }
        | What::Alarm { .. }
        | What::Joined { .. }
        | What::Changed { .. }
        | What::Left
        | What::Forgotten => String::new(),
    };
    ledger.records().iter().map(told).filter(|told| !told.is_empty()).collect()
}

#[tokio::test]
async fn a_credential_goes_to_its_host_over_tls_and_nowhere_else() {
    let world = World::new().await;
    let swaps = |answer: Answer| granted(answer).swaps.len();
    let asks = format!("GET https://api.example.com/x?t={PLACEHOLDER}");
    assert_eq!(swaps(world.request(1, &asks, None).await), 1);
    assert_eq!(swaps(world.request(2, "GET https://github.com/x", None).await), 0);
    let unasked = granted(world.request(3, "GET https://api.example.com/x", None).await);
    assert!(unasked.swaps.is_empty(), "nobody asked for it");
    assert_eq!(unasked.scrub.len(), 1, "but the host may know it");
    let line = format!("GET https://github.com/x?t={PLACEHOLDER}");
    granted(world.request(4, &line, None).await);
    let found = |record: &Record| {
        matches!(record.what, What::Finding { what: "placeholder_elsewhere", .. })
    };
    assert_eq!(world.ledger.records().iter().filter(|record| found(record)).count(), 1);
    let shown = format!("{:?}", world.request(5, &asks, None).await);
    assert!(!shown.contains("the-real-value"), "{shown}");
}

#[tokio::test]
async fn each_use_of_a_credential_is_written_down() {
    let world = World::new().await;
    let asks = format!("GET https://api.example.com/x?q={PLACEHOLDER}");
    granted(world.request(1, &asks, None).await);
    granted(world.request(4, "GET https://api.example.com/y", None).await);
    granted(world.request(2, "POST https://api.anthropic.com/v1/messages", Some(MESSAGE)).await);
    granted(world.request(3, "GET https://github.com/acme/shop", None).await);
    assert_eq!(
        kinds(&world.ledger),
        [
            "TOKEN for GET api.example.com/x",
            "ANTHROPIC_API_KEY for POST api.anthropic.com/v1/messages"
        ]
    );
}

struct Broken;

impl Ledger for Broken {
    fn write(&self, _record: &Record) -> Result<(), NotWritten> {
        Err(NotWritten("the disk is full".to_owned()))
    }
}

#[tokio::test]
async fn a_credential_that_cannot_be_written_down_is_not_handed_out_and_other_requests_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path().to_owned(), Arc::default());
    let world =
        World::of(Broker::open(Settings { ledger: Arc::new(Broken), ..settings }).unwrap()).await;
    let asks = format!("GET https://api.example.com/x?q={PLACEHOLDER}");
    let refused = refused(&world.request(1, &asks, None).await);
    insta::assert_snapshot!(refused, @r"
    403 credential [-] that `TOKEN` is used cannot be written down, so it is not: the disk is full
        → look at the server's log; requests without a credential go on
    ");
    granted(world.request(2, "GET https://github.com/acme/shop", None).await);
}

#[tokio::test]
async fn a_refusal_names_the_command_that_caused_it_where_it_can_be_found() {
    let world = World::new().await;
    let peer = |port: u16| Some(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
    for (number, port) in [(1, 4711), (2, 4712)] {
        let (host, way) = ("evil.example.com".to_owned(), Way::Connect);
        let connect = Connect { host: host.clone(), port: 443, way, peer: peer(port) };
        let Answer::Refused(refusal) = world.ask(number, Question::Connect(connect)).await else {
            panic!("refused")
        };
        let outcome = Outcome::Refused(refusal);
        let report = Report { host, request: None, rule: None, ..report(outcome, None) };
        world.broker.ended(WHOSE, Exchange(number), &report);
    }
    world.ask(3, Question::Name { host: "worse.example.com".to_owned() }).await;
    assert_eq!(
        kinds(&world.ledger),
        [
            "connect evil.example.com:443 by curl -s",
            "connect evil.example.com:443 by ?",
            "names worse.example.com:0 by ?"
        ]
    );
    let explained = world.broker.explain(SANDBOX, "GET", "https://evil.example.com/").unwrap();
    let note = "evil.example.com:443 was refused 2 times here, last for `curl -s`".to_owned();
    assert!(explained.notes.contains(&note), "{:?}", explained.notes);
    let learned = world.broker.learn(SANDBOX).unwrap().to_yaml();
    assert!(learned.contains("refused 2×, last for `curl -s`: allow it"), "{learned}");
}
