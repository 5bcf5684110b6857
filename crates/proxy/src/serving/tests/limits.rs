//! One sandbox cannot starve another, and nothing is held for ever.

use std::time::{Duration, Instant};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::stage::{Host, PATIENCE, Stage, WHOSE, inspecting, ok, read_all, read_head};
use crate::{
    ask::{Answer, Dialect, Outcome, RefusalCode, Whose},
    serving::limits,
};

const HOST: &str = "api.ok.test";

async fn stage(tasks: &TaskTracker) -> (Host, Stage) {
    let host = Host::plain(tasks, |_request| ok("fine")).await;
    let grant = host.grant(HOST);
    let stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    (host, stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_uses_up_its_connections_shuts_out_itself_alone() {
    let tasks = TaskTracker::new();
    let (_host, stage) = stage(&tasks).await;
    let neighbour = stage.neighbour(Whose(8)).await;
    let mut held = Vec::new();
    for _ in 0..limits::CONNECTIONS {
        let mut stream = TcpStream::connect(stage.proxy).await.unwrap();
        stream.write_all(b"CONNECT api.ok").await.unwrap();
        held.push(stream);
    }
    let mut late = TcpStream::connect(stage.proxy).await.unwrap();
    late.write_all(
        b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\nConnection: close\r\n\r\n",
    )
    .await
    .unwrap();
    let begun = Instant::now();
    let mut other = TcpStream::connect(neighbour).await.unwrap();
    other
        .write_all(
            b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\nConnection: close\r\n\r\n",
        )
        .await
        .unwrap();
    assert!(read_all(&mut other).await.ends_with("fine"));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let mut byte = [0];
    let waiting = timeout(Duration::from_millis(300), late.read(&mut byte)).await;
    assert!(waiting.is_err(), "there is no room for it yet");
    // Heads that never end are given up in time, and then there is room.
    assert!(timeout(PATIENCE, read_all(&mut late)).await.unwrap().ends_with("fine"));
    let answer = read_all(held.first_mut().unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_never_ends_is_given_up() {
    let tasks = TaskTracker::new();
    let (_host, mut stage) = stage(&tasks).await;
    let mut tunnel = stage.tunnel("api.ok.test:443").await;
    tunnel.write_all(&[22, 3, 1, 0, 200, 1, 0, 0]).await.unwrap();
    read_all(&mut tunnel).await;
    let report = stage.report().await;
    assert!(
        matches!(&report.outcome, Outcome::Broken { reason } if reason.contains("too long")),
        "{report:?}"
    );
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_sandbox_ends_when_it_leaves_and_its_neighbours_goes_on() {
    let tasks = TaskTracker::new();
    let (host, mut stage) = stage(&tasks).await;
    let neighbour = stage.neighbour(Whose(8)).await;
    let mut quiet = TcpStream::connect(stage.proxy).await.unwrap();
    quiet
        .write_all(b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\n\r\n")
        .await
        .unwrap();
    assert!(read_head(&mut quiet).await.starts_with("HTTP/1.1 200"));
    let mut body = [0; 4];
    quiet.read_exact(&mut body).await.unwrap();
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    let begun = Instant::now();
    stage.link.leave(WHOSE).await.unwrap();
    read_all(&mut quiet).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    // The door is shut: the kernel refuses, or nobody answers.
    let shut = match TcpStream::connect(stage.proxy).await {
        Err(_) => true,
        Ok(mut stream) => read_all(&mut stream).await.is_empty(),
    };
    assert!(shut);
    let mut other = TcpStream::connect(neighbour).await.unwrap();
    other
        .write_all(
            b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\nConnection: close\r\n\r\n",
        )
        .await
        .unwrap();
    assert!(read_all(&mut other).await.ends_with("fine"));
    assert_eq!(host.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cut_off_in_the_middle_is_reported_once_too() {
    let tasks = TaskTracker::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let host = Host::plain(&tasks, |_request| ok("x")).await;
    let mut grant = host.grant(HOST);
    if let crate::ask::Dial::Pinned { port, .. } = &mut grant.dial {
        *port = at.port();
    }
    let mut stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    let mut stream = TcpStream::connect(stage.proxy).await.unwrap();
    stream
        .write_all(b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\n\r\n")
        .await
        .unwrap();
    let (_silent, _peer) = listener.accept().await.unwrap();
    stage.link.leave(WHOSE).await.unwrap();
    let report = stage.report().await;
    assert!(matches!(report.outcome, Outcome::Broken { .. }), "{report:?}");
    assert_eq!(report.rule.as_deref(), Some("api.ok.test:443"));
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_broker_goes_the_gateway_refuses_and_ends() {
    let tasks = TaskTracker::new();
    let (_host, mut stage) = stage(&tasks).await;
    let mut idle = stage.tunnel("api.ok.test:443").await;
    stage.link.close();
    let ended = timeout(Duration::from_secs(2), &mut stage.serving).await;
    assert!(ended.expect("it ends").unwrap().is_ok());
    read_all(&mut idle).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_says_more_than_the_broker_hears_is_refused_alone() {
    let tasks = TaskTracker::new();
    let (_host, mut stage) = stage(&tasks).await;
    let neighbour = stage.neighbour(Whose(8)).await;
    let long = "a".repeat(9 * 1024);
    for header in ["Content-Type", "Content-Encoding", "Git-Protocol", "Anthropic-Version"] {
        let asked = format!(
            "GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\n{header}: {long}\r\nConnection: close\r\n\r\n"
        );
        let answer = stage.say(stage.proxy, asked.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{header}: {answer}");
        assert_eq!(stage.refusal().await.code, RefusalCode::Limit);
    }
    let asked = format!("GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
    assert!(stage.say(neighbour, asked.as_bytes()).await.ends_with("fine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_does_not_answer_refuses() {
    let mut stage = Stage::new(|_question| None).await;
    let answer = stage
        .say(stage.proxy, b"CONNECT api.ok.test:443 HTTP/1.1\r\nHost: api.ok.test\r\n\r\n")
        .await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(stage.refusal().await.code, RefusalCode::Closed);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_read_slows_the_host_and_nothing_piles_up() {
    const PIECE: usize = 1 << 20;
    let tasks = TaskTracker::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&sent);
    tasks.spawn(async move {
        let (mut stream, _peer) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let piece = vec![b'x'; PIECE];
        while stream.write_all(&piece).await.is_ok() {
            counted.fetch_add(PIECE, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let host = Host::plain(&tasks, |_request| ok("x")).await;
    let mut grant = host.grant(HOST);
    if let crate::ask::Dial::Pinned { port, .. } = &mut grant.dial {
        *port = at.port();
    }
    let stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    let mut stream = TcpStream::connect(stage.proxy).await.unwrap();
    stream
        .write_all(b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\n\r\n")
        .await
        .unwrap();
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
    // It is full when nothing moves from one look to the next.
    let mut look = tokio::time::interval(Duration::from_millis(200));
    let mut before = usize::MAX;
    loop {
        look.tick().await;
        let now = sent.load(std::sync::atomic::Ordering::SeqCst);
        if now == before {
            break;
        }
        before = now;
    }
    // Most of it is in the host's own socket.
    assert!(before < 16 * PIECE, "{before} bytes are somewhere between host and program");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_leaves_while_a_model_thinks_is_noticed_at_once() {
    let tasks = TaskTracker::new();
    let host = Host::plain(&tasks, |_request| Vec::new()).await;
    let mut grant = host.grant(HOST);
    grant.meter = Some(Dialect::AnthropicMessages);
    let mut stage = Stage::new(inspecting(HOST, move |_| Answer::Granted(grant.clone()))).await;
    let mut program = TcpStream::connect(stage.proxy).await.unwrap();
    let request = b"GET http://api.ok.test/ HTTP/1.1\r\nHost: api.ok.test\r\n\r\n";
    program.write_all(request).await.unwrap();
    let end = Instant::now() + PATIENCE;
    while host.asked().is_empty() {
        assert!(Instant::now() < end, "the host is asked");
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    drop(program);
    let report = stage.report().await;
    assert!(
        matches!(&report.outcome, Outcome::Broken { reason } if reason.contains("did not wait")),
        "{report:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
