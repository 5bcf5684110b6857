//! Requests to models: refused in the provider's own words, and as large as conversations are.

use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, read_all};
use crate::ask::{Answer, Dialect, Language, MODEL_BODY_LIMIT, Question, Refusal, RefusalCode};

fn over_budget(host: &str) -> Answer {
    Answer::Refused(Refusal {
        status: 402,
        code: RefusalCode::Budget,
        host: host.to_owned(),
        port: 443,
        phase: "implement".to_owned(),
        rule: None,
        reason: "the budget of the task is $1.00".to_owned(),
        remedy: "raise the budget".to_owned(),
    })
}

/// What curl is told, as the status and the body.
async fn told(stage: &Stage, url: &str) -> (String, serde_json::Value) {
    let curled =
        stage.curl(&["--write-out", "\n%{http_code} %{content_type}", "--json", "{}", url]).await;
    let (body, status) = curled.out.rsplit_once('\n').unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", curled.out));
    (status.to_owned(), body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_costs_too_much_is_refused_in_its_vendors_own_words() {
    let stage = Stage::new(|question| {
        Some(match question {
            Question::Connect(_) => Answer::Inspect { generation: 1 },
            Question::Request(request) => over_budget(&request.host),
            Question::Name { .. } => Answer::Known { generation: 1 },
        })
    })
    .await;
    for (url, kind, code) in [
        ("https://api.anthropic.com/v1/messages", "/error/type", "/error/code"),
        ("https://api.openai.com/v1/chat/completions", "/error/type", "/error/code"),
        ("https://api.openai.com/v1/responses", "/error/type", "/error/code"),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent",
            "/error/status",
            "/error/details/0/reason",
        ),
        ("http://model.lamp.internal/anthropic/v1/messages", "/error/type", "/error/code"),
    ] {
        let (status, body) = told(&stage, url).await;
        assert_eq!(status, "402 application/json", "{url}");
        let said = body.pointer(kind).and_then(|it| it.as_str()).unwrap_or_default();
        let is_vendors =
            ["billing_error", "insufficient_quota", "RESOURCE_EXHAUSTED"].contains(&said);
        assert!(is_vendors, "{url}: {body}");
        assert_eq!(body.pointer(code).unwrap(), "budget_hit", "{url}: {body}");
        let message = body.pointer("/error/message").unwrap().as_str().unwrap();
        assert!(message.contains("the budget of the task is $1.00; raise the budget"), "{message}");
    }
    let anthropic = told(&stage, "https://api.anthropic.com/v1/messages").await.1;
    assert_eq!(anthropic["type"], "error");
    let elsewhere = stage.curl(&["--json", "{}", "https://example.com/v1/messages"]).await;
    assert!(elsewhere.out.contains("Refused by Lamplighter"), "{}", elsewhere.out);
}

/// Asks for the body, and grants when it has it.
async fn judging(tasks: &TaskTracker) -> (Host, Stage) {
    const HOST: &str = "model.ok.test";
    let host = Host::plain(tasks, |_request| ok("fine")).await;
    let grant = host.grant(HOST);
    let stage = Stage::new(inspecting(HOST, move |request| match &request.body {
        None => Answer::NeedBody {
            most: MODEL_BODY_LIMIT as u64,
            language: Language::Model(Dialect::OpenaiChat),
        },
        Some(_) => Answer::Granted(grant.clone()),
    }))
    .await;
    (host, stage)
}

fn head(bytes: usize) -> String {
    format!(
        "POST http://model.ok.test/v1 HTTP/1.1\r\nHost: model.ok.test\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_conversation_is_judged_whole_and_a_longer_one_is_not() {
    let tasks = TaskTracker::new();
    let (_host, mut stage) = judging(&tasks).await;
    let mut long = head(20 << 20).into_bytes();
    long.resize(long.len() + (20 << 20), b'x');
    assert!(stage.say(stage.proxy, &long).await.ends_with("fine"));
    drop(stage.report().await);
    let mut stream = TcpStream::connect(stage.proxy).await.unwrap();
    stream.write_all(head(MODEL_BODY_LIMIT + 2).as_bytes()).await.unwrap();
    // It may be hung up on before the last byte.
    let _sent = stream.write_all(&vec![b'x'; MODEL_BODY_LIMIT + 2]).await;
    assert_eq!(stage.refusal().await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_wait_to_be_judged_have_a_share_of_memory_and_no_more() {
    let tasks = TaskTracker::new();
    let (_host, mut stage) = judging(&tasks).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(stage.proxy).await.unwrap();
        stream.write_all(head(30 << 20).as_bytes()).await.unwrap();
        // All but the last bytes, so that it is held for as long as we like.
        let _sent = stream.write_all(&vec![b'x'; (30 << 20) - 1]).await;
        held.push(stream);
    }
    let refusal = stage.refusal().await;
    assert_eq!((refusal.status, refusal.code), (429, RefusalCode::Limit), "{refusal:?}");
    let neighbour = stage.neighbour(crate::ask::Whose(8)).await;
    let mut other = head(1 << 20).into_bytes();
    other.resize(other.len() + (1 << 20), b'x');
    assert!(stage.say(neighbour, &other).await.ends_with("fine"), "each has its own");
    let mut first = held.swap_remove(0);
    first.write_all(b"x").await.unwrap();
    let answer = read_all(&mut first).await;
    assert!(answer.ends_with("fine") || answer.is_empty(), "{answer}");
}
