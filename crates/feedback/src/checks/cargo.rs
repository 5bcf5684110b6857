//! `Cargo.toml`: what every Rust project can be asked.

use super::{candidate::Candidate, check::Kind, classify::Ecosystem, tables::Tables, tree::Survey};

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut workspaces = Vec::new();
    for file in survey.named("Cargo.toml") {
        let tables = Tables::of(file.text);
        let is_workspace = tables.has("workspace");
        // A member is checked with its workspace.
        let is_member = file.directory.above().any(|above| workspaces.contains(&above));
        let is_on_its_own = tables.has("package") && !is_member;
        if !is_workspace && !is_on_its_own {
            continue;
        }
        let (all, every) = if is_workspace { (" --workspace", " --all") } else { ("", "") };
        if is_workspace {
            workspaces.push(file.directory.clone());
        }
        let commands = [
            (Kind::Format, format!("cargo fmt{every} --check")),
            (Kind::Lint, format!("cargo clippy{all} --all-targets")),
            (Kind::Test, format!("cargo test{all}")),
        ];
        found.extend(commands.into_iter().map(|(kind, command)| {
            Candidate::habit(kind, Ecosystem::Rust, &command, &file.directory, file.path)
        }));
    }
    found
}
