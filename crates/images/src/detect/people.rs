//! Setups that people wrote for other tools: what they say is believed before the manifests are.
//!
//! | order | file | what of it |
//! |---|---|---|
//! | 1 | `.github/workflows/copilot-setup-steps.yml` | the commands of its job's steps; actions are left out |
//! | 2 | `.cursor/environment.json` | `install` |
//! | 3 | `.devcontainer/devcontainer.json`, `.devcontainer.json` | `onCreateCommand`, `updateContentCommand`, `postCreateCommand` |
//!
//! They were written for another computer. So they run in a shell of their own, and where they fail the manifests are asked.
//!
//! **Invariant:** a text that a person could not read in a terminal, or that is too long to be read, is passed over.

use std::collections::BTreeSet;

use domain::policy::Ecosystem;
use serde_json::Value;

use super::tree::Place;

/// Bytes of a script that somebody still reads.
const LONGEST: usize = 8 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) file: &'static str,
    pub(super) script: String,
}

pub(super) fn written(root: &Place<'_>) -> Option<Written> {
    SOURCES.iter().find_map(|(file, reader)| {
        let script = reader(&root.far_text(file)?)?;
        is_usable(&script).then_some(Written { file, script })
    })
}

type Reader = fn(&str) -> Option<String>;

const SOURCES: [(&str, Reader); 5] = [
    (".github/workflows/copilot-setup-steps.yml", workflow),
    (".github/workflows/copilot-setup-steps.yaml", workflow),
    (".cursor/environment.json", cursor),
    (".devcontainer/devcontainer.json", devcontainer),
    (".devcontainer.json", devcontainer),
];

/// How the script stands in another one.
pub(super) const END: &str = "LAMP_SETUP_END";

fn is_usable(script: &str) -> bool {
    let is_plain = |line: &str| line.chars().all(|c| c == '\t' || domain::visible::is_plain(c));
    let is_readable = script.lines().all(|line| is_plain(line) && line.trim() != END);
    !script.trim().is_empty() && script.len() <= LONGEST && is_readable
}

/// The registries that the commands in a script go to.
pub(super) fn registries(script: &str) -> BTreeSet<Ecosystem> {
    let words = script.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let one = |word: &str| match word {
        "npm" | "npx" | "pnpm" | "yarn" | "bun" | "corepack" => Some(Ecosystem::Npm),
        "pip" | "pip3" | "pipx" | "uv" | "poetry" | "pipenv" | "tox" | "nox" => {
            Some(Ecosystem::Pypi)
        }
        "cargo" => Some(Ecosystem::Crates),
        "go" => Some(Ecosystem::Go),
        "mvn" | "mvnw" | "gradle" | "gradlew" => Some(Ecosystem::Maven),
        "apt" | "apt-get" => Some(Ecosystem::Debian),
        _other => None,
    };
    words.filter_map(one).collect()
}

fn cursor(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(&plain_json(text)).ok()?;
    Some(value.get("install")?.as_str()?.to_owned())
}

/// The commands that run once, in the order in which the container runs them.
fn devcontainer(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(&plain_json(text)).ok()?;
    let keys = ["onCreateCommand", "updateContentCommand", "postCreateCommand"];
    let lines: Vec<String> =
        keys.iter().filter_map(|key| value.get(key)).flat_map(commands).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A command is a line for the shell, a list of words, or several of both by name.
fn commands(value: &Value) -> Vec<String> {
    match value {
        Value::String(line) => vec![line.clone()],
        Value::Array(words) => {
            let words: Vec<String> =
                words.iter().filter_map(Value::as_str).map(domain::shell::quoted).collect();
            vec![words.join(" ")]
        }
        Value::Object(named) => named.values().flat_map(commands).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// JSON as those files have it, without comments and without commas at the end of lists.
fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = rest.next() {
        match (in_text, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                plain.push(c);
                plain.extend(rest.next());
            }
            (_, '"', _) => {
                in_text = !in_text;
                plain.push(c);
            }
            (false, '/', Some('/')) => {
                for skipped in rest.by_ref() {
                    if skipped == '\n' {
                        plain.push('\n');
                        break;
                    }
                }
            }
            (false, '/', Some('*')) => {
                let mut before = ' ';
                for skipped in rest.by_ref().skip(1) {
                    if (before, skipped) == ('*', '/') {
                        break;
                    }
                    before = skipped;
                }
            }
            (false, '}' | ']', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(c);
            }
            _other => plain.push(c),
        }
    }
    plain
}

/// What the steps of the job run. A step that takes values of a workflow, which nobody gives here, is left out.
fn workflow(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.trim_end() != "jobs:").skip(1).peekable();
    let job = lines.find(|line| line.trim() == "copilot-setup-steps:")?;
    let depth = indent(job);
    let mut commands = Vec::new();
    while let Some(line) = lines.next_if(|line| is_blank(line) || indent(line) > depth) {
        let key = line.trim_start().trim_start_matches("- ");
        let Some(value) = key.strip_prefix("run:") else { continue };
        // Where the key stands, behind the dash of its step.
        let own = line.len().saturating_sub(key.len());
        let value = value.trim();
        let mut block = Vec::new();
        if value.starts_with(['|', '>']) {
            while let Some(line) = lines.next_if(|line| is_blank(line) || indent(line) > own) {
                block.push(line.trim());
            }
        } else {
            block.push(value.trim_matches(['"', '\'']));
        }
        let command = block.join("\n");
        if !command.contains("${{") {
            commands.push(command);
        }
    }
    (!commands.is_empty()).then(|| commands.join("\n"))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn indent(line: &str) -> usize {
    line.len().saturating_sub(line.trim_start().len())
}
