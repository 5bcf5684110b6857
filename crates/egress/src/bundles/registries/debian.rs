//! Debian's packages, and those of everything that uses apt.

use super::{Answers, Found, Sources};

pub(super) const SOURCES: Sources = Sources {
    commands: &[],
    complaints: &[],
    files: &[
        "/etc/apt/sources.list",
        "/etc/apt/sources.list.d/*.list",
        "/etc/apt/sources.list.d/*.sources",
    ],
    variables: &[],
};

pub(super) fn places(answers: &Answers) -> Found {
    let mut found = Found::default();
    for text in &answers.files {
        let is_stanza = text.lines().any(|line| field(line, "URIs").is_some());
        let urls = if is_stanza { stanzas(text) } else { lines(text) };
        for url in urls {
            // `cdrom:`, `file:` and `copy:` are not on the network.
            if url.starts_with("http") || url.starts_with("mirror+http") {
                found.add("sources.list", url.strip_prefix("mirror+").unwrap_or(&url));
            }
        }
    }
    found
}

/// `deb [ options ] URI suite component…`
fn lines(text: &str) -> Vec<String> {
    let uri = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let rest = line.strip_prefix("deb-src").or_else(|| line.strip_prefix("deb"))?.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']').map(|(_, rest)| rest)?,
            None => rest,
        };
        rest.split_whitespace().next().map(ToOwned::to_owned)
    };
    text.lines().filter_map(uri).collect()
}

/// Stanzas of `Field: value`, with continued lines.
fn stanzas(text: &str) -> Vec<String> {
    let mut urls = Vec::new();
    for stanza in text.split("\n\n") {
        let is_off = |line: &str| field(line, "Enabled").is_some_and(|it| it.trim() == "no");
        if stanza.lines().any(is_off) {
            continue;
        }
        let mut is_inside = false;
        for line in stanza.lines().filter(|line| !line.starts_with('#')) {
            let value = match field(line, "URIs") {
                Some(value) => {
                    is_inside = true;
                    value
                }
                None if is_inside && line.starts_with([' ', '\t']) => line,
                None => {
                    is_inside = false;
                    continue;
                }
            };
            urls.extend(value.split_whitespace().map(ToOwned::to_owned));
        }
    }
    urls
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once(':')?;
    key.eq_ignore_ascii_case(name).then_some(value)
}
