//! uv, poetry and pip.
//!
//! With pip, packages go to the user's own directory: there `python3` finds them without an environment to activate, and
//! nothing in the working tree changes.

use super::{EntryKind, Step, tree::Place};

const PROJECT: &str = "pyproject.toml";

pub(super) fn step(place: &Place<'_>) -> Option<Step> {
    let project = place.text(PROJECT);
    let has_section = |name: &str| {
        let whole = format!("[{name}]");
        let part = format!("[{name}.");
        project
            .lines()
            .map(str::trim)
            .any(|line| line.starts_with(&whole) || line.starts_with(&part))
    };
    if place.has("uv.lock") {
        return Some(locked("uv sync --frozen", PROJECT, Some("uv.lock"), place));
    }
    if place.has("poetry.lock") || has_section("tool.poetry") {
        let lockfile = place.first(&["poetry.lock"]);
        return Some(locked("poetry install --no-interaction", PROJECT, lockfile, place));
    }
    if has_section("tool.uv") {
        return Some(locked("uv sync", PROJECT, None, place));
    }
    pip(place, has_section("project") || has_section("build-system"))
}

fn locked(command: &str, manifest: &str, lockfile: Option<&str>, place: &Place<'_>) -> Step {
    let manifest = place.first(&[manifest]);
    Step {
        command: command.to_owned(),
        because: [manifest, lockfile].into_iter().flatten().map(str::to_owned).collect(),
        lockfiles: lockfile.or(manifest).into_iter().map(str::to_owned).collect(),
    }
}

fn pip(place: &Place<'_>, is_project: bool) -> Option<Step> {
    let mut files: Vec<String> = place
        .names(EntryKind::File)
        .filter(|name| {
            name.strip_suffix(".txt").is_some_and(|name| name.starts_with("requirements"))
        })
        .map(str::to_owned)
        .collect();
    let mut wanted: Vec<String> = files
        .iter()
        .map(|file| format!("-r {}", domain::shell::quoted(&format!("./{file}"))))
        .collect();
    let package =
        place.first(&[PROJECT, "setup.py"]).filter(|name| *name == "setup.py" || is_project);
    if let Some(package) = package {
        wanted.push("-e .".to_owned());
        files.push(package.to_owned());
    }
    if wanted.is_empty() {
        return None;
    }
    let command =
        format!("PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user {}", wanted.join(" "));
    Some(Step { command, because: files.clone(), lockfiles: files })
}
