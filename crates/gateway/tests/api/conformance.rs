//! Every answer is one that the document promises: of a task that was played to its end, and to words that make no sense.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::task_fixture::TaskFixture;

/// The document, and readers of its shapes.
struct Promised {
    document: Value,
    readers: BTreeMap<String, jsonschema::Validator>,
}

impl Promised {
    fn new() -> Self {
        let document = serde_json::to_value(gateway::document()).unwrap();
        Self { document, readers: BTreeMap::new() }
    }

    /// Whether an answer of this status and with this body was promised.
    fn check(&mut self, (method, path): (&str, &str), status: &str, media: &str, body: &str) {
        let call = &self.document["paths"][path][method];
        let mut response = &call["responses"][status];
        assert!(response.is_object(), "{method} {path}: {status} is not promised: {body}");
        if let Some(name) = response["$ref"].as_str() {
            response = &self.document["components"]["responses"][name.rsplit('/').next().unwrap()];
        }
        let shape = response["content"][media]["schema"].clone();
        assert!(shape.is_object(), "{method} {path} {status}: {media} is not promised");
        if media == "text/event-stream" {
            return;
        }
        let components = &self.document["components"];
        let reader = self.readers.entry(shape.to_string()).or_insert_with(|| {
            let mut shape = shape;
            shape["components"] = components.clone();
            jsonschema::validator_for(&shape).unwrap()
        });
        let body: Value = serde_json::from_str(body).unwrap();
        let faults: Vec<String> =
            reader.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{method} {path} {status}: {faults:?} in {body}");
    }
}

struct Told {
    status: String,
    media: String,
    body: String,
}

async fn ask(fixture: &TaskFixture, method: &str, address: &str, body: Option<&str>) -> Told {
    let content = body.map_or(String::new(), |body| {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    });
    let request = format!(
        "{} {address} HTTP/1.1\r\nHost: localhost\r\n{content}Connection: close\r\n\r\n{}",
        method.to_uppercase(),
        body.unwrap_or_default()
    );
    let answer = fixture.raw(&request).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    let media = head.lines().find_map(|line| line.strip_prefix("content-type: "));
    let status = head.split(' ').nth(1).unwrap().to_owned();
    let body = if head.contains("transfer-encoding: chunked") { "" } else { body };
    Told { status, media: media.unwrap_or_default().to_owned(), body: body.to_owned() }
}

/// Calls of tasks and pull requests, with their parameters.
fn calls(document: &Value) -> Vec<(String, String, Value)> {
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, call) in methods.as_object().unwrap() {
            if ["tasks", "pulls"].contains(&call["tags"][0].as_str().unwrap()) {
                calls.push((path.clone(), method.clone(), call.clone()));
            }
        }
    }
    calls
}

#[tokio::test]
async fn what_a_played_task_answers_is_what_the_document_promises() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let task = fixture.played("red 1; faults 1").await;
    let number = fixture.client().task(&task).await.unwrap().pull_request.unwrap().to_string();
    let mut promised = Promised::new();
    let mut fine = 0;
    for (path, method, call) in calls(&promised.document) {
        if method != "get" {
            continue;
        }
        let address = path.replace("{task}", &task).replace("{number}", &number);
        let needed: Vec<&str> = call["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|it| it["in"] == "query" && it["required"] == true)
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        let words: Vec<String> = needed
            .iter()
            .map(|name| match *name {
                "repository" => "repository=acme/web".to_owned(),
                "path" => "path=src/login.rs".to_owned(),
                "line" => "line=7".to_owned(),
                other => panic!("{other}"),
            })
            .collect();
        let address = format!("{address}?{}", words.join("&"));
        let told = ask(&fixture, &method, &address, None).await;
        promised.check((&method, &path), &told.status, &told.media, &told.body);
        fine += usize::from(told.status == "200");
    }
    assert!(fine >= 16, "{fine} were answered");
}

const ODD_TASKS: [&str; 8] = [
    "t_0000",
    "t_00000000000000000000000007",
    "t_zzzz",
    "%00",
    "%ff%fe",
    "%2e%2e%2f",
    "%F0%9F%92%A5",
    "t_0000%20OR%201=1",
];

const ODD_NUMBERS: [&str; 6] = ["0", "7", "-1", "1e3", "99999999999999999999", "%00"];

const ODD_WORDS: [&str; 8] =
    ["", "%00", "-1", "0", "99999999999999999999", "a%26b", "%ff", "..%2f..%2fetc"];

fn odd_bodies() -> Vec<String> {
    let mut bodies: Vec<String> =
        ["", "{}", "[]", "null", "1", "\"x\"", "{\"a\":1}", "{\"text\":null}", "\u{0}", "{"]
            .map(str::to_owned)
            .to_vec();
    bodies.push("[".repeat(10_000));
    bodies.push(format!("{{\"text\":\"{}\"}}", "\\u0000".repeat(10)));
    let filled = json!({
        "text": "\u{0}\u{202e}💥", "plan": "x", "comment": "", "question": "", "to_micros": u64::MAX,
        "head": "", "name": "/", "commit": "", "state": "passed", "conditions": {"paths": [""]},
    });
    bodies.push(filled.to_string());
    for (key, value) in filled.as_object().unwrap() {
        bodies.push(json!({ key.as_str(): value }).to_string());
    }
    bodies.push(json!({"to_micros": u64::MAX}).to_string());
    bodies.push(
        json!({"text": "x", "repositories": [{"name": "acme/web", "url": "\u{0}"}]}).to_string(),
    );
    bodies
}

#[tokio::test]
async fn words_that_make_no_sense_are_refused_as_the_document_promises() {
    let fixture = TaskFixture::new().await;
    let real = fixture.begin("fix it").await.id;
    let mut promised = Promised::new();
    let (bodies, mut asked) = (odd_bodies(), 0);
    for (path, method, call) in calls(&promised.document) {
        // A task that waits is streamed for as long as it waits.
        let streams = path.ends_with("/stream");
        let mut addresses = Vec::new();
        for odd in ODD_TASKS.into_iter().chain(Some(real.as_str()).filter(|_| !streams)) {
            for number in ODD_NUMBERS {
                addresses.push(path.replace("{task}", odd).replace("{number}", number));
            }
        }
        addresses.sort();
        addresses.dedup();
        let mut words =
            vec![String::new(), "colour=red".to_owned(), "repository=acme/web".to_owned()];
        for parameter in call["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" {
                let name = parameter["name"].as_str().unwrap();
                words.extend(ODD_WORDS.iter().map(|word| format!("{name}={word}")));
            }
        }
        for address in &addresses {
            for words in words.iter().take(if method == "get" { 40 } else { 3 }) {
                let address = format!("{address}?{words}");
                if method == "get" {
                    let told = ask(&fixture, &method, &address, None).await;
                    assert!(!told.status.starts_with('5'), "{method} {address}: {}", told.body);
                    promised.check((&method, &path), &told.status, &told.media, &told.body);
                    asked += 1;
                    continue;
                }
                for body in &bodies {
                    let told = ask(&fixture, &method, &address, Some(body)).await;
                    assert!(!told.status.starts_with('5'), "{address} {body}: {}", told.body);
                    promised.check((&method, &path), &told.status, &told.media, &told.body);
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 3_000, "{asked}");
    assert_eq!(fixture.client().task(&real).await.unwrap().id, real, "and it still answers");
}
