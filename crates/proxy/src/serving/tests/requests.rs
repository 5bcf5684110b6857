//! Requests that are looked at: no smuggling, no surprise behind the first, nothing that a rule did not see.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, read_all, read_head, refused};
use crate::ask::{
    Answer, Language, Outcome, Question, RefusalCode, Said, Upgrade, said::Operation,
};

const HOST: &str = "api.ok.test";

async fn stage(tasks: &TaskTracker) -> (Host, Stage) {
    let host = Host::tls(tasks, HOST, |_request| ok("fine")).await;
    let grant = host.grant(HOST);
    let stage = Stage::new(inspecting(HOST, move |request| match request.target.as_str() {
        "/denied" => refused(HOST),
        _ => Answer::Granted(grant.clone()),
    }))
    .await;
    (host, stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_can_be_read_in_two_ways_are_refused_and_the_connection_ends() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: api.ok.test\r\n\r\n";
    let heads = [
        (
            "400",
            "POST / HTTP/1.1\r\nHost: api.ok.test\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
        ),
        (
            "400",
            "POST / HTTP/1.1\r\nHost: api.ok.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("400", "POST / HTTP/1.1\r\nHost: api.ok.test\r\nTransfer-Encoding: xchunked\r\n\r\n"),
        (
            "400",
            "POST / HTTP/1.1\r\nHost: api.ok.test\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        ),
        ("400", "POST / HTTP/1.1\r\nHost: api.ok.test\r\nTransfer-Encoding : chunked\r\n\r\n"),
        ("400", "POST / HTTP/1.1\r\nHost: api.ok.test\r\nContent-Length: +4\r\n\r\n"),
        ("400", "GET / HTTP/1.1\nHost: api.ok.test\n\n"),
        ("400", "GET / HTTP/1.1\r\nHost: api.ok.test\r\nX: a\r\n b\r\n\r\n"),
        ("421", "GET / HTTP/1.1\r\nHost: api.ok.test\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET /..%2f HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET /%2e%2e/x HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET /a%252fb HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET /a;b HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET /a\\b HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET //evil/path HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "get / HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("501", "QUERY / HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("405", "TRACE / HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("501", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n"),
        ("505", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (
            "505",
            "GET / HTTP/1.1\r\nHost: api.ok.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        ),
        ("421", "GET http://evil.test/ HTTP/1.1\r\nHost: api.ok.test\r\n\r\n"),
        ("400", "GET http://api.ok.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
        ("421", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
        ("421", "GET / HTTP/1.1\r\nHost: api.ok.test:8443\r\n\r\n"),
    ];
    for (status, head) in heads {
        let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
        tls.write_all(format!("{head}{smuggled}").as_bytes()).await.unwrap();
        let answer = read_head(&mut tls).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head:?}: {answer}");
        stage.refusal().await;
        assert!(answer.contains("Connection: close"), "{head:?}: {answer}");
    }
    assert!(host.asked().is_empty(), "{:?}", host.asked());
    let asked = stage.questions();
    assert!(asked.iter().all(|question| matches!(question, Question::Connect(_))), "{asked:?}");
    // The control: what would have been smuggled is a good request.
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(smuggled.as_bytes()).await.unwrap();
    assert!(read_head(&mut tls).await.starts_with("HTTP/1.1 200 "));
    stage.report().await;
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_behind_another_is_judged_on_its_own() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(
        b"GET /one HTTP/1.1\r\nHost: api.ok.test\r\nContent-Length: 0\r\n\r\n\
          POST /denied HTTP/1.1\r\nHost: api.ok.test\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    )
    .await
    .unwrap();
    let all = read_all(&mut tls).await;
    assert!(all.starts_with("HTTP/1.1 200 OK"), "{all}");
    assert!(all.contains("fineHTTP/1.1 403 Forbidden"), "{all}");
    assert_eq!(host.asked().len(), 1);
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_is_written_anew_and_one_with_extensions_is_refused() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(b"POST /a HTTP/1.1\r\nHost: api.ok.test\r\nTransfer-Encoding: chunked\r\n\r\n005\r\nhello\r\n0\r\n\r\n")
        .await
        .unwrap();
    assert!(read_head(&mut tls).await.starts_with("HTTP/1.1 200"));
    assert!(host.asked()[0].ends_with("5\r\nhello\r\n0\r\n\r\n"), "{:?}", host.asked());
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(b"POST /b HTTP/1.1\r\nHost: api.ok.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n")
        .await
        .unwrap();
    let answer = read_all(&mut tls).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(host.asked().len(), 1, "the broken one never became a request");
    assert_eq!(stage.refusal().await.code, RefusalCode::Malformed);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_change_the_method_are_taken_off() {
    let tasks = TaskTracker::new();
    let (host, stage) = stage(&tasks).await;
    let curled = stage
        .curl(&[
            "-H",
            "X-HTTP-Method-Override: DELETE",
            "-H",
            "X_HTTP_Method: PUT",
            "-H",
            "X-Kept: yes",
            "https://api.ok.test/",
        ])
        .await;
    assert_eq!(curled.out, "fine", "{}", curled.said);
    let asked = host.asked().remove(0).to_lowercase();
    assert!(asked.contains("x-kept: yes"), "{asked}");
    assert!(!asked.contains("override") && !asked.contains("x_http"), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_hears_what_a_body_says_and_the_host_gets_the_body_itself() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, HOST, |_request| ok("fine")).await;
    let grant = host.grant(HOST);
    let mut stage = Stage::new(inspecting(HOST, move |request| match &request.body {
        None => Answer::NeedBody { most: 100, language: Language::Graphql },
        Some(Said::Graphql(Operation::Query)) => Answer::Granted(grant.clone()),
        Some(_) => refused(HOST),
    }))
    .await;
    let url = "https://api.ok.test/graphql";
    let curled = stage.curl(&["-d", "{\"query\":\"{good}\"}", url]).await;
    assert_eq!(curled.out, "fine", "{}", curled.said);
    assert!(host.asked()[0].ends_with("\r\n\r\n{\"query\":\"{good}\"}"), "{:?}", host.asked());
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    let expecting = ["-H", "Expect: 100-continue", "-d", "{\"query\":\"{good}\"}", url];
    assert_eq!(stage.curl(&expecting).await.out, "fine");
    stage.report().await;
    let curled = stage.curl(&["-d", "bad", url]).await;
    assert!(curled.out.contains("refused"), "{curled:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    let long = "x".repeat(101);
    let curled = stage.curl(&["-d", &long, url]).await;
    assert!(curled.out.contains("larger than the 100 bytes"), "{curled:?}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Limit);
    assert_eq!(host.asked().len(), 2);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_expects_a_word_gets_it_from_us_after_the_grant() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let expecting = ["-H", "Expect: 100-continue", "-d", "payload"];
    let curled = stage.curl(&[&expecting[..], &["https://api.ok.test/a"]].concat()).await;
    assert_eq!(curled.out, "fine", "{}", curled.said);
    assert!(curled.said.contains("HTTP/1.1 100 Continue"), "{}", curled.said);
    assert!(!host.asked()[0].to_lowercase().contains("expect:"), "{:?}", host.asked());
    let curled = stage.curl(&[&expecting[..], &["https://api.ok.test/denied"]].concat()).await;
    assert!(!curled.said.contains("HTTP/1.1 100 Continue"), "{}", curled.said);
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    stage.refusal().await;
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_socket_is_carried_only_where_the_grant_says_so() {
    let tasks = TaskTracker::new();
    let switching = |_request: &str| {
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nframe"
            .to_vec()
    };
    let host = Host::tls(&tasks, HOST, switching).await;
    let (open, shut) = (host.grant(HOST), host.grant(HOST));
    let mut stage = Stage::new(inspecting(HOST, move |request| {
        let upgrade = if request.target == "/live" { Upgrade::WebSocket } else { Upgrade::Refused };
        let grant = if request.target == "/live" { open.clone() } else { shut.clone() };
        Answer::Granted(crate::ask::Grant { upgrade, ..grant })
    }))
    .await;
    let ask = |path: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: api.ok.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
    };
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(ask("/live").as_bytes()).await.unwrap();
    assert!(read_head(&mut tls).await.starts_with("HTTP/1.1 101 "));
    let mut frame = [0; 5];
    tls.read_exact(&mut frame).await.unwrap();
    assert_eq!(&frame, b"frame");
    drop(tls);
    let report = stage.report().await;
    assert!(!matches!(report.outcome, Outcome::Refused(_)), "{report:?}");
    let mut tls = stage.tls_tunnel("api.ok.test:443", HOST).await.unwrap();
    tls.write_all(ask("/other").as_bytes()).await.unwrap();
    let answer = read_head(&mut tls).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Unsupported);
    assert_eq!(host.asked().len(), 1);
    drop(tls);
    stage.no_more_reports().await;
}
