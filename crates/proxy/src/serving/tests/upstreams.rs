//! Hosts that are slow, dead, false, or somewhere that nobody may go.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, read_head, refused};
use crate::ask::{Answer, Dial, Dialect, Grant, Outcome, RefusalCode};

const HOST: &str = "api.ok.test";
const URL: &str = "https://api.ok.test/";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_looked_up_for_a_name_that_is_refused() {
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lookups);
    let grant = public_grant().await;
    let script = inspecting(HOST, move |_| Answer::Granted(grant.clone()));
    let stage = Stage::with_resolver(script, move |_host| {
        counted.fetch_add(1, Ordering::SeqCst);
        vec!["169.254.169.254".parse().unwrap()]
    })
    .await;
    stage.curl(&["http://secret-data.evil.test/"]).await;
    stage.curl(&["https://secret-data.evil.test/"]).await;
    assert_eq!(lookups.load(Ordering::SeqCst), 0);
    // The control: for an allowed name it is.
    stage.curl(&[URL]).await;
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_to_an_address_nobody_may_dial_is_refused() {
    for (addresses, said) in [
        (vec!["169.254.169.254"], "metadata"),
        (vec!["10.0.0.1", "192.168.0.1"], "private"),
        (vec!["127.0.0.1"], "loopback"),
        (vec!["::ffff:10.0.0.1"], "another address inside"),
        (vec!["64:ff9b::a00:1"], "another address inside"),
        (vec!["2002:a00:1::"], "another address inside"),
        (vec![], "no address"),
    ] {
        let grant = public_grant().await;
        let script = inspecting(HOST, move |_| Answer::Granted(grant.clone()));
        let found: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let mut stage = Stage::with_resolver(script, move |_host| found.clone()).await;
        let curled = stage.curl(&[URL]).await;
        assert!(curled.out.contains(said), "{addresses:?}: {curled:?}");
        let report = stage.report().await;
        assert_eq!(report.address, None, "nothing was dialled");
        let Outcome::Refused(refusal) = report.outcome else { panic!("{report:?}") };
        let expected =
            if addresses.is_empty() { RefusalCode::Upstream } else { RefusalCode::Address };
        assert_eq!(refusal.code, expected);
        stage.no_more_reports().await;
    }
}

async fn public_grant() -> Grant {
    let host = Host::plain(&TaskTracker::new(), |_request| ok("x")).await;
    let dial = Dial::Public { host: HOST.to_owned(), port: 443 };
    Grant { dial, scheme: crate::ask::Scheme::Https, ..host.grant(HOST) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_a_false_certificate_is_a_bad_gateway() {
    let tasks = TaskTracker::new();
    let other_name = Host::tls(&tasks, "other.test", |_request| ok("false")).await;
    let mut expired = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
    expired.not_before = rcgen::date_time_ymd(2020, 1, 1);
    expired.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let expired = self_signed(&tasks, expired).await;
    let unknown = self_signed(&tasks, CertificateParams::new(vec![HOST.to_owned()]).unwrap()).await;
    let mut believed = unknown.grant(HOST);
    if let Dial::Pinned { authority, .. } = &mut believed.dial {
        *authority = other_name.authority.clone();
    }
    for (host, grant, said) in [
        (&other_name, other_name.grant(HOST), "not valid for name"),
        (&expired, expired.grant(HOST), "expired"),
        (&unknown, believed, "UnknownIssuer"),
    ] {
        let script = inspecting(HOST, move |_| Answer::Granted(grant.clone()));
        let mut stage = Stage::new(script).await;
        let curled = stage.curl(&[URL]).await;
        assert!(curled.said.contains("502 Bad Gateway"), "{curled:?}");
        assert!(curled.out.contains("does not prove that it is api.ok.test"), "{curled:?}");
        assert!(curled.out.contains(said), "{said}: {curled:?}");
        assert_eq!(stage.refusal().await.code, RefusalCode::Upstream);
        assert!(host.asked().is_empty(), "no request, and no credential, went there");
        stage.no_more_reports().await;
    }
}

async fn self_signed(tasks: &TaskTracker, params: CertificateParams) -> Host {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let settings = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let tls = (TlsAcceptor::from(Arc::new(settings)), certificate.pem());
    Host::start(tasks, Some(tls), Arc::new(|_request: &str| ok("false"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_there_is_a_bad_gateway() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("x")).await;
    let mut grant = host.grant(HOST);
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    if let Dial::Pinned { port, .. } = &mut grant.dial {
        *port = gone.port();
    }
    let mut stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    let curled = stage.curl(&[URL]).await;
    assert!(curled.said.contains("502 Bad Gateway"), "{curled:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Upstream);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_cannot_be_read_in_one_way_are_refused() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\nX: y\n\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    ] {
        let tasks = TaskTracker::new();
        let host = Host::tls(&tasks, HOST, move |_request| answer.as_bytes().to_vec()).await;
        let grant = host.grant(HOST);
        let mut stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
        let curled = stage.curl(&[URL]).await;
        assert!(curled.said.contains("502 Bad Gateway"), "{answer:?}: {curled:?}");
        assert_eq!(stage.refusal().await.code, RefusalCode::Upstream);
        stage.no_more_reports().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_passed_on_event_by_event_and_metered() {
    let tasks = TaskTracker::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (go_on, mut may_go_on) = tokio::sync::mpsc::unbounded_channel::<()>();
    tasks.spawn(async move {
        let (mut stream, _peer) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await
            .unwrap();
        for event in [
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ] {
            stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.unwrap();
            // Only when the program has seen it does the next one come.
            may_go_on.recv().await.unwrap();
        }
        stream.write_all(b"0\r\n\r\n").await.unwrap();
    });
    let host = Host::plain(&tasks, |_request| ok("x")).await;
    let mut grant = host.grant(HOST);
    if let Dial::Pinned { port, .. } = &mut grant.dial {
        *port = at.port();
    }
    grant.meter = Some(Dialect::AnthropicMessages);
    grant.scrub = vec![super::stage::secret("sk-never-seen-here")];
    let mut stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(b"GET / HTTP/1.1\r\nHost: api.ok.test\r\n\r\n").await.unwrap();
    assert!(read_head(&mut tls).await.contains("text/event-stream"));
    let mut seen = Vec::new();
    for wanted in ["message_start\"", "message_delta\"", "message_stop\""] {
        while !String::from_utf8_lossy(&seen).contains(wanted) {
            let mut piece = [0; 1024];
            let count = tls.read(&mut piece).await.unwrap();
            seen.extend_from_slice(&piece[..count]);
        }
        go_on.send(()).unwrap();
    }
    let report = stage.report().await;
    let usage = report.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (5, 7));
    assert!(usage.complete);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_to_a_host_is_used_again_but_not_with_another_credential() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("x")).await;
    let grant = host.grant(HOST);
    let stage = Stage::new(inspecting(HOST, move |request| {
        let value = super::stage::secret(request.target.as_str());
        Answer::Granted(Grant { set: vec![("X-Key".to_owned(), value)], ..grant.clone() })
    }))
    .await;
    for path in ["a", "a", "a"] {
        stage.curl(&[&format!("{URL}{path}")]).await;
    }
    assert_eq!(host.connections(), 1);
    stage.curl(&[&format!("{URL}b")]).await;
    assert_eq!(host.connections(), 2);
    assert_eq!(host.asked().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_closed_a_waiting_connection_is_asked_again() {
    let tasks = TaskTracker::new();
    let closing =
        |_request: &str| b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nKeep-Alive: x\r\n\r\nx".to_vec();
    let host = Host::plain(&tasks, closing).await;
    let grant = host.grant(HOST);
    let stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    for _ in 0..3 {
        assert_eq!(stage.curl(&["http://api.ok.test/"]).await.out, "x");
    }
    assert_eq!(host.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_bytes_than_the_grant_has_are_cut_off() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok(&"x".repeat(100_000))).await;
    let grant = host.grant(HOST);
    let mut stage = Stage::new(inspecting(HOST, move |request| {
        let (most_up, most_down) =
            if request.method == "POST" { (500, 1 << 30) } else { (1 << 30, 50_000) };
        Answer::Granted(Grant { most_up, most_down, ..grant.clone() })
    }))
    .await;
    let curled = stage.curl(&[URL]).await;
    assert_ne!(curled.code, Some(0), "the program notices");
    let report = stage.report().await;
    assert!(
        matches!(&report.outcome, Outcome::Broken { reason } if reason.contains("50000 bytes")),
        "{report:?}"
    );
    let body = "y".repeat(501);
    let curled = stage.curl(&["-d", &body, URL]).await;
    assert!(curled.said.contains("413 "), "{curled:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Budget);
    let chunked = ["-H", "Transfer-Encoding: chunked", "-d", &body, URL];
    let curled = stage.curl(&chunked).await;
    assert!(curled.said.contains("413 "), "{curled:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Budget);
    assert_eq!(host.asked().len(), 1, "what was too much never became a request");
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_the_programs_to_follow_and_judged_like_any_request() {
    let tasks = TaskTracker::new();
    let away = |_request: &str| {
        b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n".to_vec()
    };
    let host = Host::tls(&tasks, HOST, away).await;
    let grant = host.grant(HOST);
    let mut stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    let curled = stage.curl(&["--location", URL]).await;
    assert!(curled.said.contains("403 Forbidden"), "{curled:?}");
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(302) });
    assert_eq!(stage.refusal().await.code, RefusalCode::Address);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_no_rule_names_is_the_brokers_to_refuse() {
    let script = |question: &crate::ask::Question| {
        Some(match question {
            crate::ask::Question::Connect(connect) if connect.port == 443 => {
                Answer::Inspect { generation: 1 }
            }
            crate::ask::Question::Connect(connect) => refused(&connect.host),
            crate::ask::Question::Request(_) | crate::ask::Question::Name { .. } => refused(HOST),
        })
    };
    let mut stage = Stage::new(script).await;
    for port in [22, 25, 8443] {
        let place = format!("api.ok.test:{port}");
        let head = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n");
        let answer = stage.say(stage.proxy, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        stage.refusal().await;
    }
    stage.tunnel("api.ok.test:443").await;
}
