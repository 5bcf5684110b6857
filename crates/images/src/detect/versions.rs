//! Which version of a language a repository asks for, where it says so in a file for version managers or in a manifest.
//!
//! What is found becomes a part of a script, so it is numbers and nothing else.

use super::tree::Place;

/// `3.12` of `.python-version` or `.tool-versions`: the minor version of Python 3.
pub(super) fn python(place: &Place<'_>) -> Option<u32> {
    let named = place.text(".python-version");
    let tools = place.text(".tool-versions");
    let words = named.lines().next().map(str::trim).into_iter().chain(tool(&tools, "python"));
    words.into_iter().find_map(|word| word.strip_prefix("3.").and_then(number))
}

/// The least minor version of Python 3 that `pyproject.toml` allows.
pub(super) fn least_python(project: &str) -> Option<u32> {
    let line = project.lines().map(str::trim).find(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        matches!(key, "requires-python" | "python") && line.contains("3.")
    })?;
    let at = line.find("3.")?;
    number(line.get(at + 2..)?)
}

/// The major version of Node.js.
pub(super) fn node(place: &Place<'_>, manifest: &serde_json::Value) -> Option<u32> {
    let files = [".nvmrc", ".node-version"].map(|name| place.text(name));
    let tools = place.text(".tool-versions");
    let named = files.iter().filter_map(|text| text.lines().next());
    let words = named.chain(tool(&tools, "nodejs")).chain(tool(&tools, "node"));
    let asked = words.map(|word| word.trim().trim_start_matches('v')).find_map(number);
    asked.or_else(|| {
        let engines = manifest.get("engines")?.get("node")?.as_str()?;
        number(engines.strip_prefix(">=")?.trim())
    })
}

/// The version that `.tool-versions` names for a tool.
fn tool<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next()? == name).then(|| words.next())?
    })
}

/// The number that a text begins with, if it is one of a version.
fn number(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number < 100)
}
