//! Refusals in one form, limits of bodies and of rates, and words that nobody knows.

use gateway::{Patience, Rate};

use crate::task_fixture::{PATIENCE, TaskFixture};

fn request(line: &str, headers: &str, body: &str) -> String {
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

const JSON: &str = "Content-Type: application/json\r\n";

fn parts(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").unwrap()
}

#[tokio::test]
async fn every_refusal_is_a_problem_document() {
    let fixture = TaskFixture::new().await;
    let table = [
        ("GET /v1/tasks/t_00000000000000000000000007", "", "", "404"),
        ("GET /v1/tasks/%ff", "", "", "400"),
        ("GET /v1/pulls/x?repository=acme/web", "", "", "400"),
        ("GET /v1/pulls/18446744073709551616?repository=acme/web", "", "", "400"),
        ("GET /v1/pulls", "", "", "400"),
        ("GET /v1/tasks?limit=many", "", "", "400"),
        ("GET /v1/tasks?limit=1&limit=2", "", "", "400"),
        ("PATCH /v1/tasks", "", "", "405"),
        ("POST /v1/tasks", JSON, "{", "400"),
        ("POST /v1/tasks", JSON, "[]", "400"),
        ("POST /v1/tasks", JSON, "\"\\ud800\"", "400"),
        ("POST /v1/tasks", "Content-Type: text/plain\r\n", "{}", "415"),
        ("POST /v1/tasks", "", "{}", "415"),
        ("POST /v1/tasks", JSON, "{\"text\":\"x\",\"repositories\":[],\"tex\":1}", "400"),
        ("POST /v1/tasks/t_0000/pause", JSON, "{\"x\":1}", "400"),
        ("POST /v1/tasks/t_0000/pause?now=1", "", "", "400"),
    ];
    for (line, headers, body, status) in table {
        let answer = fixture.raw(&request(line, headers, body)).await;
        let (head, body) = parts(&answer);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        assert!(head.contains("content-type: application/problem+json"), "{line}: {head}");
        let told: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(told["status"].to_string(), status, "{line}");
        for key in ["type", "title", "detail", "code"] {
            assert!(told[key].as_str().is_some_and(|it| !it.is_empty()), "{line}: {key}");
        }
        assert_eq!(told["error"]["code"], told["code"], "for older clients");
        assert_eq!(told["error"]["message"], told["detail"]);
        if status == "405" {
            assert!(head.contains("allow: "), "{head}");
        }
    }
}

#[tokio::test]
async fn a_problem_reads_so() {
    let fixture = TaskFixture::new().await;
    let line = "GET /v1/tasks?colour=red";
    let answer = fixture.raw(&request(line, "", "")).await;
    let told: serde_json::Value = serde_json::from_str(parts(&answer).1).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap());
    let line = "GET /v1/tasks/t_00000000000000000000000007";
    let answer = fixture.raw(&request(line, "", "")).await;
    let told: serde_json::Value = serde_json::from_str(parts(&answer).1).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap());
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_before_it_is_read() {
    let fixture = TaskFixture::new().await;
    let task = fixture.begin("fix it").await.id;
    for (path, length) in [
        ("/v1/tasks".to_owned(), 600 * 1024),
        (format!("/v1/tasks/{task}/pause"), 2 * 1024),
        (format!("/v1/tasks/{task}/approve"), 200 * 1024),
        (format!("/v1/tasks/{task}/message"), 600 * 1024),
    ] {
        let body = format!("{{\"text\":\"{}\"}}", "x".repeat(length));
        let answer = fixture.raw(&request(&format!("POST {path}"), JSON, &body)).await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
    }
    let long = wire::task::ask::SendMessage { text: "x".repeat(70_000) };
    let refused = fixture.client().message(&task, &long).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().code, wire::error::Code::TooLarge);
}

#[tokio::test]
async fn whoever_calls_too_often_is_told_to_wait() {
    let rate = Rate { at_once: 5, each_second: 1 };
    let fixture = TaskFixture::of(testkit::bob(), Patience { rate, ..PATIENCE }).await;
    let mut refused = 0;
    for _ in 0..10 {
        let answer = fixture.raw(&request("GET /v1/queue", "", "")).await;
        if answer.starts_with("HTTP/1.1 429") {
            refused += 1;
            assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
            assert!(answer.contains("\"code\":\"too_many\""), "{answer}");
        }
    }
    assert!((4..=5).contains(&refused), "{refused}");
}
