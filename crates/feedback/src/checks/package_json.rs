//! `package.json`: scripts, run by the package manager whose lock file is there.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    candidate::{Candidate, Source},
    check::{Confidence, Directory, Kind},
    classify::Ecosystem,
    names, targets,
    tree::{Found, Survey},
};

const SCRIPTS_LIMIT: usize = 200;

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let mut found = Vec::new();
    // Packages whose scripts run those of the packages below, with the kinds that they have.
    let mut roots: Vec<(Directory, BTreeSet<Kind>)> = Vec::new();
    for file in survey.named("package.json") {
        let Ok(Value::Object(manifest)) = serde_json::from_str(file.text) else { continue };
        let covered = |kind: Kind| {
            file.directory.above().any(|above| {
                roots.iter().any(|(root, kinds)| *root == above && kinds.contains(&kind))
            })
        };
        let scripts: Vec<_> = scripts(&manifest).filter(|(_, kind)| !covered(*kind)).collect();
        if manifest.contains_key("workspaces") || survey.has(&file.directory, "pnpm-workspace.yaml")
        {
            roots.push((file.directory.clone(), scripts.iter().map(|(_, kind)| *kind).collect()));
        }
        let manager = manager(survey, &file.directory);
        found.extend(scripts.into_iter().map(|(name, kind)| candidate(&file, manager, name, kind)));
    }
    found
}

fn candidate(file: &Found<'_>, manager: &str, script: &str, kind: Kind) -> Candidate {
    Candidate {
        kind,
        command: format!("{manager} run {script}"),
        directory: file.directory.clone(),
        about: file.directory.clone(),
        ecosystems: BTreeSet::from([Ecosystem::JavaScript]),
        source: Source::Script,
        confidence: Confidence::Likely,
        file: file.path.to_owned(),
    }
}

/// The scripts that are checks. Where one is named by a bare word, its variants (`test:unit`) are parts of it.
pub(super) fn scripts(
    manifest: &serde_json::Map<String, Value>,
) -> impl Iterator<Item = (&str, Kind)> {
    let scripts = manifest.get("scripts").and_then(Value::as_object);
    let named = move || scripts.into_iter().flatten().take(SCRIPTS_LIMIT);
    named().filter_map(move |(name, body)| {
        let body = body.as_str()?;
        let kind = names::kind_of(name)?;
        let whole = name.split(':').next().unwrap_or(name);
        let is_part = whole != name
            && named().any(|(other, _)| other == whole && names::kind_of(other) == Some(kind));
        let is_check = targets::is_typable(name) && !is_part && !is_nothing(body);
        is_check.then_some((name.as_str(), kind))
    })
}

/// `npm init` writes a test that says that there is none.
fn is_nothing(body: &str) -> bool {
    let body = body.trim();
    body.is_empty() || body.contains("no test specified") || matches!(body, "true" | "exit 0" | ":")
}

/// By the lock file here or above, the nearest first.
fn manager(survey: &Survey, directory: &Directory) -> &'static str {
    const LOCKS: &[(&str, &str)] = &[
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
        ("npm-shrinkwrap.json", "npm"),
    ];
    let places = std::iter::once(directory.clone()).chain(directory.above());
    let locked = places.filter_map(|place| LOCKS.iter().find(|(lock, _)| survey.has(&place, lock)));
    locked.map(|(_, manager)| *manager).next().unwrap_or("npm")
}
