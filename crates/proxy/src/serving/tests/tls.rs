//! TLS that ends here: one name in CONNECT, handshake and Host, and no older version.

use tokio::io::AsyncWriteExt as _;
use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, read_all, read_head};
use crate::ask::{Answer, Outcome, RefusalCode};

const HOST: &str = "api.ok.test";
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: api.ok.test\r\nConnection: close\r\n\r\n";

async fn stage(tasks: &TaskTracker) -> (Host, Stage) {
    let host = Host::tls(tasks, HOST, |_request| ok("fine")).await;
    let grant = host.grant(HOST);
    let stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    (host, stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_name_than_the_one_asked_for_is_misdirected() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let mut tls = stage.tls_tunnel("api.ok.test:443", "evil.test").await.unwrap();
    tls.write_all(GET).await.unwrap();
    let answer = read_all(&mut tls).await;
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Mismatch);
    assert!(host.asked().is_empty());
    // The control.
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(GET).await.unwrap();
    assert!(read_all(&mut tls).await.ends_with("fine"));
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_without_a_server_name_is_misdirected() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let mut settings = (*super::stage::client(&stage.authority.certificate)).clone();
    settings.enable_sni = false;
    let tunnel = stage.tunnel("api.ok.test:443").await;
    let name = rustls::pki_types::ServerName::try_from(HOST).unwrap();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(settings));
    let mut tls = connector.connect(name, tunnel).await.unwrap();
    tls.write_all(GET).await.unwrap();
    let answer = read_all(&mut tls).await;
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Mismatch);
    assert!(host.asked().is_empty());
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_an_opaque_tunnel_the_server_name_must_be_the_host_and_in_the_clear() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("unseen")).await;
    let grant = host.grant(HOST);
    let mut stage = Stage::new(move |_| Some(Answer::Opaque(grant.clone()))).await;
    let tunnel = stage.tunnel("api.ok.test:443").await;
    assert!(stage.handshake(tunnel, "evil.test").await.is_err());
    let refusal = stage.refusal().await;
    assert_eq!((refusal.code, refusal.status), (RefusalCode::Mismatch, 421));

    for (hello, code) in [
        (hello(Some("api.ok.test"), 0x0303, true), RefusalCode::Unsupported),
        (hello(None, 0x0303, false), RefusalCode::Mismatch),
        (hello(Some("api.ok.test"), 0x0301, false), RefusalCode::Malformed),
    ] {
        let mut tunnel = stage.tunnel("api.ok.test:443").await;
        tunnel.write_all(&hello).await.unwrap();
        read_all(&mut tunnel).await;
        assert_eq!(stage.refusal().await.code, code);
    }
    assert!(host.asked().is_empty());
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_1_0_is_refused_where_it_ends() {
    let tasks = TaskTracker::new();
    let (_host, mut stage) = stage(&tasks).await;
    let mut tunnel = stage.tunnel("api.ok.test:443").await;
    tunnel.write_all(&hello(Some(HOST), 0x0301, false)).await.unwrap();
    let answer = read_all(&mut tunnel).await;
    assert!(answer.starts_with('\u{15}'), "an alert was expected: {answer:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Unsupported);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_believe_us_is_told_apart() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let tunnel = stage.tunnel("api.ok.test:443").await;
    let stranger =
        crate::certificates::make(super::stage::sandbox_id(5), super::stage::now()).unwrap();
    let settings = super::stage::client(&stranger.certificate);
    let name = rustls::pki_types::ServerName::try_from(HOST).unwrap();
    assert!(tokio_rustls::TlsConnector::from(settings).connect(name, tunnel).await.is_err());
    let report = stage.report().await;
    assert!(matches!(report.outcome, Outcome::Broken { .. }), "{report:?}");
    assert!(host.asked().is_empty());
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_is_not_offered() {
    let tasks = TaskTracker::new();
    let (_host, stage) = stage(&tasks).await;
    let curled = stage.curl(&["--http2", "https://api.ok.test/"]).await;
    assert_eq!(curled.out, "fine", "{}", curled.said);
    assert!(curled.said.contains("HTTP/1.1 200 OK"), "{}", curled.said);
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    assert!(read_head(&mut tls).await.starts_with("HTTP/1.1 505 "));
}

/// A first message of TLS with what is asked for and nothing else.
fn hello(name: Option<&str>, version: u16, is_encrypted: bool) -> Vec<u8> {
    let number = |count: usize| u16::try_from(count).unwrap().to_be_bytes();
    let mut extensions = Vec::new();
    if let Some(name) = name {
        let mut list = vec![0];
        list.extend(number(name.len()));
        list.extend(name.as_bytes());
        extensions.extend([0, 0]);
        extensions.extend(number(list.len() + 2));
        extensions.extend(number(list.len()));
        extensions.extend(list);
    }
    if is_encrypted {
        extensions.extend([0xfe, 0x0d, 0, 4, 0, 1, 2, 3]);
    }
    let mut body = version.to_be_bytes().to_vec();
    body.extend([7; 32]);
    body.push(0);
    body.extend([0, 2, 0x13, 0x01]);
    body.extend([1, 0]);
    body.extend(number(extensions.len()));
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend(number(body.len()));
    message.extend(body);
    let mut record = vec![22, 3, 1];
    record.extend(number(message.len()));
    record.extend(message);
    record
}
