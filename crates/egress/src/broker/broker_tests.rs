//! The broker as the gateway and the server meet it.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
};

use contracts::{
    egress::{EgressError, Push, Road as _, Spending},
    sandbox::Owner,
    secret::{SecretError, SecretName, SecretValue},
};
use domain::policy::{
    Access, Egress, EgressPhase, HostName, LayerKind, Method, ModelProvider, Rule, Rules,
};
use futures::future::BoxFuture;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    credentials::{Bound, For},
    ledger::MemoryLedger,
    standing::SpendingLimits,
    traffic::Allowances,
    *,
};
use crate::bundles::{
    Known,
    github::GithubHosts,
    model::{ModelRoute, Models, ProviderTools},
};
use proxy::{
    ask::{
        Answer, Body, Connect, Dial, Grant, Outcome, Place, Question, RefusalCode, Scheme, Usage,
        Way,
    },
    link::Questions,
};

#[path = "tally_tests.rs"]
mod asked;
#[path = "learned_tests.rs"]
mod learned;
#[path = "record_tests.rs"]
mod record;
#[path = "registry_tests.rs"]
mod registries;
#[path = "reload_tests.rs"]
mod reload;

const SANDBOX: SandboxId = SandboxId::from_u128(7);
const WHOSE: Whose = Whose(7);

struct Open;

impl Seal for Open {
    fn seal(&self, _context: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        Ok(plain.to_vec())
    }

    fn open(&self, _context: &str, sealed: &[u8]) -> Result<Vec<u8>, String> {
        Ok(sealed.to_vec())
    }
}

/// One secret for one host, and the key of a model.
#[derive(Default)]
struct OneSecret {
    is_withdrawn: AtomicBool,
}

const PLACEHOLDER: &str = "lamp_TOKEN_0123456789abcdef0123456789abcdef";

impl Credentials for OneSecret {
    fn placeholders<'a>(
        &'a self,
        whom: For<'a>,
    ) -> BoxFuture<'a, Result<BTreeMap<SecretName, String>, SecretError>> {
        self.is_withdrawn.store(false, Ordering::SeqCst);
        let all = whom.secrets.iter().map(|name| (name.clone(), PLACEHOLDER.to_owned())).collect();
        Box::pin(async { Ok(all) })
    }

    fn is_bound<'a>(&'a self, whom: For<'a>, host: &'a HostName) -> BoxFuture<'a, bool> {
        let is_bound = !whom.secrets.is_empty() && host.as_str() == "api.example.com";
        Box::pin(async move {
            // Others have their turn meanwhile, as where a keeper is asked.
            tokio::task::yield_now().await;
            is_bound
        })
    }

    fn bound<'a>(
        &'a self,
        whom: For<'a>,
        host: &'a HostName,
    ) -> BoxFuture<'a, Result<Vec<Bound>, SecretError>> {
        Box::pin(async move {
            if self.is_withdrawn.load(Ordering::SeqCst) {
                return Err(SecretError::Revoked);
            }
            let bound = |name: &SecretName| Bound {
                name: name.clone(),
                placeholder: PLACEHOLDER.to_owned(),
                value: SecretValue::new("the-real-value".to_owned()),
                places: vec![Place::Header("authorization".to_owned())],
            };
            if host.as_str() != "api.example.com" {
                return Ok(Vec::new());
            }
            Ok(whom.secrets.iter().map(bound).collect())
        })
    }

    fn key<'a>(
        &'a self,
        _name: &'a SecretName,
        _whom: For<'a>,
    ) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(async { Ok(SecretValue::new("model-key".to_owned())) })
    }

    fn may_ask<'a>(&'a self, _whom: For<'a>) -> BoxFuture<'a, Result<(), SecretError>> {
        let refused = self.is_withdrawn.load(Ordering::SeqCst);
        Box::pin(async move { if refused { Err(SecretError::Revoked) } else { Ok(()) } })
    }

    fn left(&self, _sandbox: SandboxId) -> BoxFuture<'_, ()> {
        self.is_withdrawn.store(true, Ordering::SeqCst);
        Box::pin(async {})
    }

    fn forgotten<'a>(&'a self, _: SandboxId, _: Option<&'a Owner>) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// Whoever comes from this port is curl.
struct OneCommand;

impl Causes for OneCommand {
    fn find(&self, _sandbox: SandboxId, peer: std::net::SocketAddr) -> Option<String> {
        (peer.port() == 4711).then(|| "curl -s".to_owned())
    }
}

struct World {
    broker: Broker,
    ledger: Arc<MemoryLedger>,
    directory: tempfile::TempDir,
    /// The gateway's end, which nobody reads, and ours.
    _gateway: UnixStream,
    _questions: Questions,
}

fn host_rule(host: &str, methods: &[Method], opaque: bool) -> Rule {
    let paths = BTreeSet::from([domain::policy::PathPattern::any()]);
    let methods = methods.iter().copied().collect();
    let access = if opaque { Access::Opaque } else { Access::Inspected { methods, paths } };
    Rule::Host { host: host.parse().unwrap(), ports: BTreeSet::from([443]), access }
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn network() -> Network {
    let bundle = |text: &str| Rule::Bundle(text.parse().unwrap());
    let allow = BTreeSet::from([
        bundle("github"),
        bundle("model:anthropic"),
        host_rule("api.example.com", &[Method::Get, Method::Post], false),
        host_rule("blind.example.com", &[], true),
    ]);
    let deny = BTreeSet::from([host_rule("api.example.com", &[Method::Post], false)]);
    let rules = Rules { layer: LayerKind::Organisation, allow, deny };
    let mut network = Network::closed(Owner::Person("ada".to_owned()));
    network.egress = Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)]));
    network.secrets = vec!["TOKEN".parse().unwrap()];
    network.variables = BTreeMap::from(
        [("LOG_LEVEL", "info"), ("TOKEN", "not this"), ("HTTPS_PROXY", "nor this")].map(own),
    );
    network.pushes = vec![Push {
        host: "github.com".parse().unwrap(),
        repository: "acme/shop".to_owned(),
        branch: "lamp/1".to_owned(),
    }];
    network
}

fn standing(route: ModelRoute) -> Standing {
    let known = Known {
        models: Models::new(vec![route]).unwrap(),
        githubs: vec![GithubHosts::public().unwrap()],
        clouds: BTreeMap::new(),
    };
    Standing {
        known: Arc::new(known),
        registries: Arc::default(),
        above: None,
        money: SpendingLimits { task: Some(Money::from_dollars(1)), ..SpendingLimits::default() },
        allowances: Allowances::default(),
    }
}

fn settings(directory: PathBuf, ledger: Arc<MemoryLedger>) -> Settings {
    let route = ModelRoute {
        name: "anthropic".to_owned(),
        provider: ModelProvider::Anthropic,
        secret: Some("ANTHROPIC_API_KEY".parse().unwrap()),
        upstream: None,
        tools: ProviderTools::Refused,
    };
    Settings {
        directory,
        standing: standing(route),
        prices: Prices::shipped().unwrap(),
        roots: Roots::parse("").unwrap_or_default(),
        credentials: Arc::new(OneSecret::default()),
        seal: Arc::new(Open),
        ledger,
        causes: Arc::new(OneCommand),
        now: Arc::new(|| Timestamp::from_millis(1_794_830_400_000)),
    }
}

impl World {
    /// With a gateway that takes everything, and a sandbox that has joined.
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Arc::new(MemoryLedger::default());
        let broker =
            Broker::open(settings(directory.path().join("egress"), Arc::clone(&ledger))).unwrap();
        Self { ledger, directory, ..Self::of(broker).await }
    }

    async fn of(broker: Broker) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (link, questions) = GatewayLink::open(ours, &TaskTracker::new()).unwrap();
        *lock(&broker.link) = Some(link);
        let (ledger, directory) = (Arc::default(), tempfile::tempdir().unwrap());
        let world = Self { broker, ledger, directory, _gateway: theirs, _questions: questions };
        let inside = world.broker.join(SANDBOX, Some(&network()), Vec::new()).await.unwrap();
        let variable = |name: &str| inside.variables.get(name).map(String::as_str);
        assert_eq!(variable("TOKEN"), Some(PLACEHOLDER));
        assert_eq!(variable("LOG_LEVEL"), Some("info"));
        assert_ne!(variable("HTTPS_PROXY"), Some("nor this"), "the way out is shown by us");
        world
    }

    async fn ask(&self, number: u64, question: Question) -> Answer {
        self.broker.answer(WHOSE, Exchange(number), &question).await
    }

    async fn request(&self, number: u64, line: &str, body: Option<&str>) -> Answer {
        let (method, url) = line.split_once(' ').unwrap();
        let mut request = url::request(method, url).unwrap();
        if let Some(body) = body {
            // As the proxy does: it reads in the language that it is asked for.
            let first = self.ask(number, Question::Request(Box::new(request.clone()))).await;
            let Answer::NeedBody { language, .. } = first else { return first };
            request.body = Some(proxy::serving::read_body(language, body.as_bytes()));
        }
        // As the gateway finds it, also in headers.
        request.placeholders =
            line.contains(PLACEHOLDER).then(|| PLACEHOLDER.to_owned()).into_iter().collect();
        self.ask(number, Question::Request(Box::new(request))).await
    }

    async fn connect(&self, host: &str, port: u16) -> Answer {
        let host = host.to_owned();
        self.ask(0, Question::Connect(Connect { host, port, way: Way::Connect, peer: None })).await
    }
}

fn granted(answer: Answer) -> Grant {
    let Answer::Granted(grant) = answer else { panic!("not granted: {answer:?}") };
    grant
}

fn refused(answer: &Answer) -> String {
    let Answer::Refused(it) = answer else { return format!("not refused: {answer:?}") };
    let rule = it.rule.as_deref().unwrap_or("-");
    let told = format!("{} {} [{rule}] {}", it.status, it.code.as_str(), it.reason);
    if it.remedy.is_empty() { told } else { format!("{told}\n    → {}", it.remedy) }
}

fn report(outcome: Outcome, usage: Option<Usage>) -> Report {
    Report {
        host: "api.anthropic.com".to_owned(),
        port: 443,
        way: Way::Connect,
        request: Some(("POST".to_owned(), "/v1/messages".to_owned())),
        outcome,
        bytes_up: 100,
        bytes_down: 200,
        address: None,
        millis: 5,
        first_byte_millis: None,
        usage,
        peer: None,
        generation: Some(1),
        rule: Some("model:anthropic".to_owned()),
    }
}

#[tokio::test]
async fn a_refusal_names_host_phase_rule_and_remedy() {
    let world = World::new().await;
    let told = [
        refused(&world.connect("evil.example.com", 443).await),
        refused(&world.connect("api.example.com", 22).await),
        refused(&world.connect("10.0.0.1", 443).await),
        refused(&world.ask(0, Question::Name { host: "x.evil.example.com".to_owned() }).await),
        refused(&world.request(1, "POST https://api.example.com/x", None).await),
        refused(&world.request(2, "PUT https://api.example.com/x", None).await),
        refused(&world.request(3, "TRACE https://api.example.com/x", None).await),
        refused(
            &world.request(4, "POST https://github.com/acme/other/git-receive-pack", None).await,
        ),
        refused(&world.request(5, "POST https://api.anthropic.com/v1/files", None).await),
        refused(&world.request(6, "POST http://model.lamp.internal/x/v1/messages", None).await),
        refused(
            &world
                .broker
                .answer(Whose(8), Exchange(1), &Question::Name { host: "github.com".to_owned() })
                .await,
        ),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
    403 not_allowed [organisation] no rule of the organisation allows it while `implement`
        → add `evil.example.com` to `egress.implement.allow` in `policy.yaml`
    403 not_allowed [organisation] no rule of the organisation allows it while `implement`; the organisation has `api.example.com:443 GET|POST /**`
        → add `{ host: api.example.com, ports: [22] }` to `egress.implement.allow` in `policy.yaml`
    400 malformed [-] `10.0.0.1` is an address; rules name hosts
    403 not_allowed [organisation] no rule of the organisation allows it while `implement`
        → add `x.evil.example.com` to `egress.implement.allow` in `policy.yaml`
    403 forbidden [api.example.com:443 POST /**] the organisation denies `api.example.com:443 POST /**` while `implement`
        → only whoever owns `policy.yaml` can take the rule out of `deny`
    403 not_allowed [organisation] no rule of the organisation allows it while `implement`
        → add `{ host: api.example.com, methods: [PUT], paths: [/x] }` to `egress.implement.allow` in `policy.yaml`
    405 unsupported [-] `TRACE` is not carried; methods are GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE
    403 push [-] `acme/other` is for reading; this task pushes to `lamp/1` of `github.com/acme/shop` only
    403 not_allowed [organisation] no rule of the organisation allows it while `implement`; `POST /v1/files` is not an operation that is carried to a model provider
    403 not_allowed [organisation] no rule of the organisation allows it while `implement`; no model provider is called `x`; add it under `models:` in `lamp.yaml`
    503 closed [-] this sandbox has no way out now
    ");
}

#[tokio::test]
async fn a_connection_is_opaque_only_where_declared_and_without_a_credential() {
    let world = World::new().await;
    assert!(matches!(world.connect("blind.example.com", 443).await, Answer::Opaque(_)));
    assert!(matches!(world.connect("api.example.com", 443).await, Answer::Inspect { .. }));
    let mut network = network();
    let allow = BTreeSet::from([host_rule("api.example.com", &[], true)]);
    let rules = Rules { layer: LayerKind::Organisation, allow, deny: BTreeSet::new() };
    network.egress = Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)]));
    world.broker.change(SANDBOX, network.clone()).await.unwrap();
    assert!(
        matches!(world.connect("api.example.com", 443).await, Answer::Inspect { .. }),
        "a secret is bound to it"
    );
    network.secrets.clear();
    world.broker.change(SANDBOX, network).await.unwrap();
    assert!(matches!(world.connect("api.example.com", 443).await, Answer::Opaque(_)));
}

#[tokio::test]
async fn a_push_is_for_the_tasks_branch_whatever_rule_allows_it() {
    let world = World::new().await;
    let push = "POST https://github.com/Acme/Shop.git/git-receive-pack";
    let grant = granted(world.request(1, push, None).await);
    let Body::ReceivePack { branches, .. } = grant.body else { panic!("a push") };
    assert_eq!(branches, ["lamp/1"]);
    let fetch = "POST https://github.com/any/thing/git-upload-pack";
    assert_eq!(granted(world.request(2, fetch, None).await).body, Body::UploadPack);
    let mut research = network();
    research.pushes.clear();
    world.broker.change(SANDBOX, research).await.unwrap();
    insta::assert_snapshot!(refused(&world.request(3, push, None).await), @"403 push [-] nothing may be pushed while `implement`; `Acme/Shop` is for reading");
}

#[tokio::test]
async fn a_programs_own_key_stays_behind_whatever_rule_allows_the_model() {
    let world = World::new().await;
    let mut network = network();
    let allow = BTreeSet::from([
        host_rule("api.anthropic.com", &Method::ALL, false),
        host_rule("api.example.com", &[], true),
    ]);
    let rules = Rules { layer: LayerKind::Organisation, allow, deny: BTreeSet::new() };
    network.egress = Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)]));
    world.broker.change(SANDBOX, network).await.unwrap();
    for line in
        ["POST https://api.anthropic.com/v1/files", "POST https://api.anthropic.com/v1/messages"]
    {
        let grant = granted(world.request(1, line, None).await);
        assert!(grant.strip.contains(&"x-api-key".to_owned()), "{line}");
        assert!(grant.set.is_empty(), "{line}: no rule names the model");
    }
    let mut talk = url::request("GET", "https://api.example.com/live").unwrap();
    talk.upgrade = Some("websocket".to_owned());
    let grant = granted(world.ask(2, Question::Request(Box::new(talk))).await);
    assert_eq!((grant.upgrade, grant.swaps.len()), (proxy::ask::Upgrade::WebSocket, 0));
}

const MESSAGE: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[]}"#;

#[tokio::test]
async fn a_model_gets_our_key_and_not_the_programs() {
    let world = World::new().await;
    let asked =
        world.request(1, "POST http://model.lamp.internal/anthropic/v1/messages", None).await;
    assert!(matches!(asked, Answer::NeedBody { .. }));
    for line in [
        "POST http://model.lamp.internal/anthropic/v1/messages",
        "POST https://api.anthropic.com/v1/messages",
    ] {
        let grant = granted(world.request(1, line, Some(MESSAGE)).await);
        assert_eq!(grant.dial, Dial::Public { host: "api.anthropic.com".to_owned(), port: 443 });
        assert_eq!((grant.scheme, grant.target.as_deref()), (Scheme::Https, Some("/v1/messages")));
        assert!(grant.strip.contains(&"authorization".to_owned()));
        assert_eq!(
            grant
                .set
                .iter()
                .map(|(name, value)| (name.as_str(), value.0.as_str()))
                .collect::<Vec<_>>(),
            [("x-api-key", "model-key")]
        );
        assert!(grant.meter.is_some() && grant.swaps.is_empty());
    }
    let fetching = r#"{"model":"m","mcp_servers":[{"url":"https://evil.example"}]}"#;
    let answer =
        world.request(2, "POST https://api.anthropic.com/v1/messages", Some(fetching)).await;
    insta::assert_snapshot!(refused(&answer), @r"
    403 forbidden [-] the tool `mcp_servers` runs at the provider and could carry data past the gateway
        → switch it off in the agent, or set `provider_tools: true` for this model in `lamp.yaml`
    ");
}

#[tokio::test]
async fn money_is_set_aside_before_and_settled_after() {
    let world = World::new().await;
    let line = "POST https://api.anthropic.com/v1/messages";
    let member = world.broker.member(SANDBOX).unwrap();
    let account = world.broker.accounts(&member)[0].clone();
    granted(world.request(1, line, Some(MESSAGE)).await);
    assert_eq!(world.broker.spent(&account), Money::ZERO);
    let usage =
        Usage { input_tokens: 300_000, output_tokens: 10_000, complete: true, ..Usage::default() };
    world.broker.ended(
        WHOSE,
        Exchange(1),
        &report(Outcome::Done { status: Some(200) }, Some(usage)),
    );
    assert_eq!(world.broker.spent(&account), Money::from_micros(1_050_000));
    let over = world.request(2, line, Some(MESSAGE)).await;
    insta::assert_snapshot!(refused(&over), @r"
    402 budget_hit [-] the budget of the task `s_00000000000000000000000007` is $1.00; $1.05 is spent, $0.00 is set aside for requests under way, and this one may cost $0.0150
        → raise the budget, and the task goes on where it stopped
    ");
    let more = SpendingLimits { task: Some(Money::from_dollars(3)), ..SpendingLimits::default() };
    let standing = Standing { money: more, ..Standing::clone(&world.broker.standing()) };
    world.broker.reload(standing).await;
    granted(world.request(3, line, Some(MESSAGE)).await);

    let again =
        Broker::open(settings(world.directory.path().join("egress"), Arc::default())).unwrap();
    let kept = again.spent(&account);
    assert!(kept > Money::from_micros(1_050_000), "kept, with what was under way: {kept}");
    let cost = |record: &Record| {
        let What::Exchange(exchange) = &record.what else { return None };
        Some(exchange.cost_micros)
    };
    let costs: Vec<Option<u64>> = world.ledger.records().iter().filter_map(cost).collect();
    assert_eq!(costs, [Some(1_050_000)]);
}

#[tokio::test]
async fn who_has_left_gets_nothing_and_is_known_again() {
    let world = World::new().await;
    granted(world.request(1, "GET https://api.example.com/x", None).await);
    world.broker.leave(SANDBOX).await.unwrap();
    let answer = world.request(2, "GET https://api.example.com/x", None).await;
    assert!(
        matches!(answer, Answer::Refused(ref it) if it.code == RefusalCode::Closed),
        "{answer:?}"
    );
    world.broker.ended(WHOSE, Exchange(1), &report(Outcome::Done { status: Some(200) }, None));
    let unknown = world.broker.join(SandboxId::from_u128(99), None, Vec::new()).await;
    assert!(matches!(unknown, Err(EgressError::Unknown(_))));
    let first = world.broker.member(SANDBOX).unwrap().authority.clone();
    world.broker.join(SANDBOX, None, Vec::new()).await.unwrap();
    granted(world.request(3, "GET https://api.example.com/x", None).await);
    assert_eq!(world.broker.member(SANDBOX).unwrap().authority, first, "the files inside name it");
    world.broker.forget(SANDBOX).await.unwrap();
    let gone = world.broker.join(SANDBOX, None, Vec::new()).await;
    assert!(matches!(gone, Err(EgressError::Unknown(_))));
    let kinds: Vec<String> = world
        .ledger
        .records()
        .iter()
        .map(|record| {
            serde_json::to_value(record).unwrap()["kind"].as_str().unwrap_or_default().to_owned()
        })
        .collect();
    let kinds: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|kind| *kind != "credential").collect();
    assert_eq!(kinds, ["joined", "left", "exchange", "joined", "left", "forgotten"]);
}

#[tokio::test]
async fn a_question_that_new_rules_overtake_is_answered_by_them() {
    let world = World::new().await;
    let asked = world.connect("blind.example.com", 443);
    let (answer, changed) = tokio::join!(asked, world.broker.change(SANDBOX, network()));
    let wanted = changed.unwrap();
    let Answer::Opaque(grant) = answer else { panic!("{answer:?}") };
    assert_eq!(grant.generation, wanted);
    let asked = world.connect("blind.example.com", 443);
    let closed = Network::closed(Owner::Person("ada".to_owned()));
    let (answer, _) = tokio::join!(asked, world.broker.change(SANDBOX, closed));
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
}

#[tokio::test]
async fn new_rules_hold_at_once_and_a_broken_policy_changes_nothing() {
    let world = World::new().await;
    let Answer::Inspect { generation } = world.connect("github.com", 443).await else {
        panic!("open")
    };
    let generation_now = world
        .broker
        .change(SANDBOX, Network::closed(Owner::Person("ada".to_owned())))
        .await
        .unwrap();
    assert_eq!(generation_now, generation + 1);
    assert!(matches!(world.connect("github.com", 443).await, Answer::Refused(_)));
    world.broker.change(SANDBOX, network()).await.unwrap();
    world.broker.alarm(Some(SANDBOX), "policy.yaml:3: unknown bundle".to_owned());
    assert!(matches!(world.connect("github.com", 443).await, Answer::Inspect { .. }));
    let alarms = world
        .ledger
        .records()
        .iter()
        .filter(|record| matches!(record.what, What::Alarm { .. }))
        .count();
    assert_eq!(alarms, 1);
}
