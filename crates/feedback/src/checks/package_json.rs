//! `package.json`: scripts, run by the package manager whose lock file is there.

use std::collections::BTreeSet;

use super::{
    candidate::{Candidate, Place, Source},
    check::{Confidence, Directory, Kind},
    package_scripts::Package,
    tree::{Found, Survey},
    units::Reader,
};

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let mut found = Vec::new();
    // Packages whose scripts run those of the packages below, with the kinds that they have.
    let mut roots: Vec<(Directory, BTreeSet<Kind>)> = Vec::new();
    for file in survey.named("package.json") {
        let Some(package) = Package::at(survey, &file.directory) else { continue };
        let covered = |kind: Kind| {
            file.directory.above().any(|above| {
                roots.iter().any(|(root, kinds)| *root == above && kinds.contains(&kind))
            })
        };
        let scripts: Vec<_> = package.checks().filter(|(_, kind)| !covered(*kind)).collect();
        if package.has_workspaces() || survey.has(&file.directory, "pnpm-workspace.yaml") {
            roots.push((file.directory.clone(), scripts.iter().map(|(_, kind)| *kind).collect()));
        }
        for (name, kind) in scripts {
            found.extend(candidates(survey, &file, &package, (name, kind)));
        }
    }
    found
}

fn candidates(
    survey: &Survey,
    file: &Found<'_>,
    package: &Package,
    (name, kind): (&str, Kind),
) -> Vec<Candidate> {
    let line = format!("{} run {name}", package.manager.name());
    let units = Reader { survey }.line(&line, &file.directory).unwrap_or_default().units;
    let says = format!("`{name}` is a script for people to run");
    let place = Place { file: file.path, line: line_of(file.text, name) };
    let written = units.into_iter().map(|mut unit| {
        // Its name promises more than is understood of what it does.
        if unit.command == line {
            unit.kind = unit.kind.max(kind);
        }
        let mut it = Candidate::written(unit, Source::Script, Confidence::Likely, place, &says);
        it.ecosystems.insert(super::classify::Ecosystem::JavaScript);
        it
    });
    written.collect()
}

/// Where a script stands, as people write such files: one on a line.
fn line_of(text: &str, name: &str) -> usize {
    let key = format!("\"{name}\"");
    let mut lines = (1..).zip(text.lines());
    let is_it = |line: &str| {
        line.trim_start().strip_prefix(&key).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    lines.find(|(_, line)| is_it(line)).map_or(0, |(number, _)| number)
}
