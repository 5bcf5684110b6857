//! The document of the API is checked in, and says what is true.
//!
//! `UPDATE_REFERENCE=1 cargo test -p gateway --test api` writes it anew.

use std::path::Path;

use crate::stage::{SECRET, Stage};

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

#[tokio::test]
async fn every_address_in_the_document_is_served() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let stage = Stage::new().await;
    let document = serde_json::to_value(gateway::document()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 15);
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let path = path
                .replace("{sandbox}", "nobody")
                .replace("{key}", "0123456789")
                .replace("{task}", "t_0000")
                .replace("{number}", "7")
                .replace("{name}", "NOBODY");
            let mut stream =
                tokio::net::TcpStream::connect(("127.0.0.1", stage.port)).await.unwrap();
            let request = format!(
                "{} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {SECRET}\r\n\
                 Connection: close\r\nContent-Length: 0\r\n\r\n",
                method.to_uppercase(),
                stage.port
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            for unserved in ["there is nothing at this address", "does not take that method"] {
                assert!(!answer.contains(unserved), "{method} {path}");
            }
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
