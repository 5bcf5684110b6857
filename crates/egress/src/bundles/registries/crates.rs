//! cargo.
//!
//! cargo has no command that tells its registry, but it names the index in its complaint when it cannot reach it. The index in turn
//! names the host of the downloads, in its `config.json`; one that cannot be asked is taken to serve them itself.

use std::collections::BTreeMap;

use super::{Answers, Found, Sources, settings};
use proxy::strict_json;

/// With a proxy that nobody serves, so that nothing is asked of anyone.
const COMPLAINT: &[&str] = &[
    "cargo",
    "--config",
    "http.proxy='127.0.0.1:9'",
    "--config",
    "net.retry=0",
    "info",
    "serde@1.0.0",
];

pub(super) const SOURCES: Sources = Sources {
    commands: &[],
    complaints: &[COMPLAINT],
    files: &[
        "~/.cargo/config.toml",
        "/usr/local/cargo/config.toml",
        "~/.cargo/registry/index/*/config.json",
        "/usr/local/cargo/registry/index/*/config.json",
    ],
    variables: &["CARGO_REGISTRIES_CRATES_IO_INDEX"],
};

pub(super) fn places(answers: &Answers) -> Found {
    let mut found = Found::default();
    if let Some(complaint) = answers.command(COMPLAINT) {
        for url in indexes_in(complaint) {
            found.add("cargo", url);
        }
    }
    if let Some(index) = answers.variable("CARGO_REGISTRIES_CRATES_IO_INDEX") {
        found.add("CARGO_REGISTRIES_CRATES_IO_INDEX", bare(index));
    }
    for text in &answers.files {
        // The index's own `config.json`: cargo keeps it, or whoever followed the index has fetched it.
        if text.trim_start().starts_with('{') {
            downloads(text, &mut found);
        } else {
            from_settings(text, &mut found);
        }
    }
    found
}

/// What tells the host of the downloads, once the index is known.
pub(super) fn follow(found: &Found) -> Vec<String> {
    found.places.iter().map(|index| format!("{index}config.json")).collect()
}

/// `registry = "sparse+https://…"` of a source, `index = "…"` of a registry.
fn from_settings(text: &str, found: &mut Found) {
    let all: BTreeMap<&str, &str> = settings(text)
        .filter(|(name, value)| matches!(*name, "registry" | "index") && value.contains("://"))
        .map(|(name, value)| (value, name))
        .collect();
    for (value, name) in all {
        found.add(&format!("config.toml: {name}"), bare(value));
    }
}

fn bare(index: &str) -> &str {
    index.strip_prefix("sparse+").unwrap_or(index)
}

/// Every `config.json` that cargo says it could not download.
fn indexes_in(complaint: &str) -> impl Iterator<Item = &str> {
    complaint
        .split(['`', '\'', '"', ' ', '\n', '(', ')'])
        .filter(|word| word.starts_with("http"))
        .filter_map(|word| word.strip_suffix("config.json"))
}

/// `dl` may have markers such as `{crate}`; what comes before the first is the place.
fn downloads(text: &str, found: &mut Found) {
    match strict_json::read(text.as_bytes()) {
        Ok(config) => {
            if let Some(dl) = config.get("dl").and_then(serde_json::Value::as_str) {
                found.add("config.json: dl", dl.split('{').next().unwrap_or(dl));
            }
        }
        Err(error) => found.problems.push(format!("config.json of the index: {error}")),
    }
}
