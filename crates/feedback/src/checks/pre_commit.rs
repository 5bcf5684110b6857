//! `.pre-commit-config.yaml`: the tools behind its hooks.
//!
//! pre-commit fetches its hooks from the network. The tools that they run are usually at hand, so those are asked.

use super::{
    check::{Directory, Kind},
    classify::Ecosystem,
    tree::Survey,
    yaml::{self, Node},
};

const FILE: &str = ".pre-commit-config.yaml";
const HOOKS_LIMIT: usize = 100;

/// A hook whose tool is known, with the line that names it.
pub(super) struct Hook {
    pub(super) kind: Kind,
    pub(super) ecosystem: Ecosystem,
    pub(super) command: &'static str,
    pub(super) line: usize,
}

pub(super) fn file(directory: &Directory) -> String {
    directory.file(FILE)
}

pub(super) fn hooks(survey: &Survey, directory: &Directory) -> Vec<Hook> {
    let Some(root) = survey.text(directory, FILE).and_then(yaml::parse) else { return Vec::new() };
    let repositories = root.get("repos").map_or(&[][..], Node::items);
    let hooks = repositories.iter().flat_map(|it| it.get("hooks").map_or(&[][..], Node::items));
    let known = hooks.take(HOOKS_LIMIT).filter_map(|hook| {
        let id = hook.get("id")?;
        let (kind, ecosystem, command) = tool(id.text()?)?;
        Some(Hook { kind, ecosystem, command, line: id.line() })
    });
    known.collect()
}

fn tool(id: &str) -> Option<(Kind, Ecosystem, &'static str)> {
    use Ecosystem::{Python, Rust};
    Some(match id {
        "ruff" | "ruff-check" => (Kind::Lint, Python, "ruff check ."),
        "ruff-format" => (Kind::Format, Python, "ruff format --check ."),
        "black" | "black-jupyter" => (Kind::Format, Python, "black --check ."),
        "isort" => (Kind::Format, Python, "isort --check ."),
        "flake8" => (Kind::Lint, Python, "flake8"),
        "mypy" => (Kind::Lint, Python, "mypy ."),
        "fmt" | "cargo-fmt" => (Kind::Format, Rust, "cargo fmt --check"),
        "clippy" | "cargo-clippy" => (Kind::Lint, Rust, "cargo clippy --all-targets"),
        _ => return None,
    })
}
