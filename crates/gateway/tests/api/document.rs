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
