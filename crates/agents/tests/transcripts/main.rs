//! What real programs said, recorded, and what we hear of it.
//!
//! Each directory is a program at the version that is pinned, each file a scenario, each line one of
//! `{"start": argv}`, `{"->": what we said}`, `{"<-": what it said}`. `scripts/record-transcripts` makes them, with our own drivers at the other
//! end. A new version that says something else shows up as a difference in a snapshot; what we say is held against the schema of ACP.
//! `docs/guides/add-an-agent.md` tells how to record.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say so")]

mod heard;
mod kept;
mod replay;
mod schema;

use std::path::{Path, PathBuf};

use agents::program::{ALL, Program};
use serde_json::Value;

/// What is recorded of every program.
const SCENARIOS: [&str; 7] =
    ["change", "question", "reading", "refused", "resume", "steer", "todo"];

/// One recorded conversation.
struct Transcript {
    program: &'static Program,
    scenario: &'static str,
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    /// A process begins.
    Start,
    /// We said it.
    Said(Value),
    /// The program said it.
    Heard(Value),
}

impl Line {
    fn said(&self) -> Option<&Value> {
        match self {
            Self::Said(said) => Some(said),
            Self::Start | Self::Heard(_) => None,
        }
    }
}

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn recorded() -> impl Iterator<Item = &'static Program> {
    ALL.into_iter().filter(|program| !program.packages.is_empty())
}

/// With all versions that are pinned.
fn directory(program: &Program) -> String {
    let versions: Vec<&str> = program.packages.iter().map(|package| package.version).collect();
    format!("{}-{}", program.name, versions.join("+"))
}

fn path(program: &Program, scenario: &str) -> PathBuf {
    place().join(directory(program)).join(format!("{scenario}.jsonl"))
}

fn transcripts() -> Vec<Transcript> {
    let all = recorded().flat_map(|program| SCENARIOS.map(|scenario| (program, scenario)));
    all.map(|(program, scenario)| read(program, scenario)).collect()
}

fn read(program: &'static Program, scenario: &'static str) -> Transcript {
    let path = path(program, scenario);
    let text = fs_err::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        let Value::Object(map) = value else { panic!("{}: {line}", path.display()) };
        let mut entries: Vec<(String, Value)> = map.into_iter().collect();
        assert_eq!(entries.len(), 1, "{}: {line}", path.display());
        let (key, value) = entries.remove(0);
        match key.as_str() {
            "start" => Line::Start,
            "->" => Line::Said(value),
            "<-" => Line::Heard(value),
            other => panic!("{}: `{other}`", path.display()),
        }
    });
    Transcript { program, scenario, lines: lines.collect() }
}
