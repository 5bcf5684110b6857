//! pip, and all that read its settings.
//!
//! An index lists files that may be on another host. pip itself knows that host for its default index; a mirror usually serves the
//! files beside the index, so everything beside `simple/` belongs to it.

use super::{Answers, Found, Sources, settings};
use crate::bundles::endpoint::Endpoint;

/// pip's own default, and the host that its files are on.
const DEFAULT: &[&str] = &[
    "python3",
    "-c",
    "from pip._internal.models.index import PyPI as p; print(p.simple_url); print(p.file_storage_domain)",
];
const CONFIGURED: &[&str] = &["python3", "-m", "pip", "config", "list"];

pub(super) const SOURCES: Sources = Sources {
    commands: &[DEFAULT, CONFIGURED],
    complaints: &[],
    files: &["/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf"],
    variables: &["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"],
};

pub(super) fn places(answers: &Answers) -> Found {
    let mut found = Found::default();
    let mut is_replaced = false;
    let listed = answers.command(CONFIGURED).unwrap_or_default().to_owned();
    let texts = answers.files.iter().map(String::as_str).chain([listed.as_str()]);
    let from_files = texts.flat_map(settings);
    let from_variables =
        SOURCES.variables.iter().filter_map(|name| Some((*name, answers.variable(name)?)));
    for (name, value) in from_files.chain(from_variables) {
        // `pip config list` prints `global.index-url='…'`, and the environment as `:env:.index-url`.
        let key = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase().replace('_', "-");
        let is_index = matches!(
            key.as_str(),
            "index-url" | "pip-index-url" | "uv-index-url" | "uv-default-index"
        );
        let is_extra =
            matches!(key.as_str(), "extra-index-url" | "pip-extra-index-url" | "find-links");
        if !is_index && !is_extra {
            continue;
        }
        is_replaced |= is_index;
        // `find-links` may be a directory.
        for url in value.split_whitespace().filter(|url| url.contains("://")) {
            if let Some(place) = found.read(name, url) {
                found.places.insert(beside_simple(&place));
            }
        }
    }
    if !is_replaced && let Some(default) = answers.command(DEFAULT) {
        let mut lines = default.lines().map(str::trim);
        if let Some(place) = lines.next().and_then(|index| found.read("pip", index)) {
            found.places.insert(beside_simple(&place));
        }
        if let Some(host) = lines.next().filter(|host| !host.is_empty()) {
            found.add("pip", &format!("https://{host}/"));
        }
    }
    found
}

/// `https://host/a/simple` is a part of `https://host/a`, where the files are too.
fn beside_simple(index: &Endpoint) -> Endpoint {
    let root = index.root().strip_suffix("/simple").unwrap_or(index.root());
    Endpoint::new(index.scheme(), index.host().clone(), index.port(), root)
}
