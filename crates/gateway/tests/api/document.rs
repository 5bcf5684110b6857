//! The document of the API is checked in, and says what is true.
//!
//! `UPDATE_REFERENCE=1 cargo test -p gateway --test api` writes it anew.

use std::path::Path;

use crate::fixture::{Fixture, SECRET};

#[test]
fn the_checked_in_document_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    let current = format!("{}\n", serde_json::to_string_pretty(&gateway::document()).unwrap());
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var("UPDATE_REFERENCE").is_ok_and(|value| value == "1");
    if update {
        fs_err::write(&path, &current).unwrap();
    }
    let kept = fs_err::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == current,
        "docs/reference/openapi.json is old: run this test with UPDATE_REFERENCE=1"
    );
}

/// The status of an answer, and all of it.
async fn asked(
    fixture: &Fixture,
    method: &str,
    path: &str,
    body: Option<&str>,
) -> (String, String) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", fixture.port)).await.unwrap();
    let kind = body.map_or("", |_| "Content-Type: application/json\r\n");
    let body = body.unwrap_or_default();
    let request = format!(
        "{} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {SECRET}\r\n\
         {kind}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        method.to_uppercase(),
        fixture.port,
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
    (status, answer)
}

const UNSERVED: [&str; 2] = ["there is nothing at this address", "does not take that method"];

#[tokio::test]
async fn every_address_in_the_document_is_served() {
    let fixture = Fixture::new().await;
    // The controls: what is not served says so, in these words.
    let nowhere = asked(&fixture, "get", "/v1/nowhere", None).await;
    assert!(nowhere.0 == "404" && nowhere.1.contains(UNSERVED[0]), "{}", nowhere.1);
    let wrong = asked(&fixture, "put", "/v1/health", None).await;
    assert!(wrong.0 == "405" && wrong.1.contains(UNSERVED[1]), "{}", wrong.1);

    let document = serde_json::to_value(gateway::document()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 15);
    for (path, methods) in paths {
        for (method, call) in methods.as_object().unwrap() {
            let path = path
                .replace("{sandbox}", "nobody")
                .replace("{key}", "0123456789")
                .replace("{task}", "t_0000")
                .replace("{number}", "7")
                .replace("{name}", "NOBODY");
            assert!(!path.contains('{'), "{path}: say what stands there");
            let is_json = call["requestBody"]["content"]["application/json"].is_object();
            let (status, answer) = asked(&fixture, method, &path, is_json.then_some("{}")).await;
            for unserved in UNSERVED {
                assert!(!answer.contains(unserved), "{method} {path}");
            }
            // An answer that this call promises by name, and no fault of ours.
            let promised = call["responses"].as_object().unwrap().contains_key(&status);
            assert!(promised && status != "500", "{method} {path}: {answer}");
        }
    }
}

#[test]
fn every_call_has_a_name_of_its_own_words_and_all_its_refusals() {
    let document = serde_json::to_value(gateway::document()).unwrap();
    let mut names = std::collections::BTreeSet::new();
    let tags: Vec<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, call) in methods.as_object().unwrap() {
            let name = call["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} twice");
            assert!(call["description"].as_str().is_some_and(|it| !it.is_empty()), "{path}");
            assert!(tags.contains(&call["tags"][0].as_str().unwrap()), "{path}: {}", call["tags"]);
            let responses = call["responses"].as_object().unwrap();
            for (status, response) in responses {
                let told =
                    response["description"].as_str().is_some() || response["$ref"].is_string();
                assert!(told, "{method} {path} {status}");
            }
            for status in ["400", "403", "429", "500", "503", "default"] {
                assert!(responses.contains_key(status), "{method} {path} {status}");
            }
        }
    }
    assert!(names.len() > 60, "{}", names.len());
}
