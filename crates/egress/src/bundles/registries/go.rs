//! Go's module proxies, and the database of checksums.

use super::{Answers, Found, Sources};

const PROXY: &[&str] = &["go", "env", "GOPROXY"];
const SUMS: &[&str] = &["go", "env", "GOSUMDB"];

pub(super) const SOURCES: Sources = Sources {
    commands: &[PROXY, SUMS],
    complaints: &[],
    files: &[],
    variables: &["GOPROXY", "GOSUMDB"],
};

/// `direct` is not a registry: it means the repositories themselves, which rules of their own allow.
pub(super) fn places(answers: &Answers) -> Found {
    let mut found = Found::default();
    let proxies =
        answers.variable("GOPROXY").or_else(|| answers.command(PROXY)).unwrap_or_default();
    for proxy in proxies.split([',', '|']).map(str::trim) {
        if !matches!(proxy, "" | "direct" | "off") {
            found.add("GOPROXY", proxy);
        }
    }
    let sums = answers.variable("GOSUMDB").or_else(|| answers.command(SUMS)).unwrap_or_default();
    let mut words = sums.split_whitespace();
    match (words.next(), words.next()) {
        (None | Some("off"), _) => {}
        (Some(_), Some(url)) => found.add("GOSUMDB", url),
        (Some(name), None) => {
            let host = name.split('+').next().unwrap_or(name);
            found.add("GOSUMDB", &format!("https://{host}/"));
        }
    }
    found
}
