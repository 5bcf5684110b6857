//! Of all that was found, what is run.

use std::collections::BTreeSet;

use super::{
    CHECKS_LIMIT,
    candidate::{Candidate, Source},
    check::{Check, CommandLine, InsteadOf, Kind, Why},
};

const NAME_LIMIT: usize = 60;
/// A detected command is one line that somebody could have typed.
const COMMAND_LIMIT: usize = 2_000;
/// CI tries a library with many combinations of features. A few tell most of it, and each takes its time, twice.
const VARIANTS_LIMIT: usize = 4;
/// More than a person would read.
const STANDS_FOR_LIMIT: usize = 8;

/// Keeps the most believed of those that do the same, and puts all in order: by kind, then by place, then as they were found.
pub(super) fn among(mut found: Vec<Candidate>) -> Vec<Check> {
    found.retain(|candidate| is_printable(&candidate.command) && is_printable(&candidate.file));
    found.sort_by_key(|candidate| candidate.source);
    let mut kept: Vec<(Candidate, BTreeSet<InsteadOf>)> = Vec::new();
    for candidate in found {
        if let Some((first, stands_for)) =
            kept.iter_mut().find(|(first, _)| first.stands_for(&candidate))
        {
            let differs = first.command != candidate.command;
            if differs && stands_for.len() < STANDS_FOR_LIMIT {
                stands_for.insert(InsteadOf { command: candidate.command, file: candidate.file });
            }
        } else if kept.len() < CHECKS_LIMIT
            && !kept.iter().any(|(first, _)| is_left_out(first, &candidate))
            && kept.iter().filter(|(first, _)| is_variant(first, &candidate)).count()
                < VARIANTS_LIMIT
        {
            kept.push((candidate, BTreeSet::new()));
        }
    }
    kept.sort_by(|(a, _), (b, _)| (a.kind, &a.directory).cmp(&(b.kind, &b.directory)));
    let mut names = BTreeSet::new();
    kept.into_iter()
        .filter_map(|(candidate, stands_for)| {
            let command: CommandLine = candidate.command.parse().ok()?;
            let name = unused(&name(&candidate), &mut names);
            let why = Why { file: candidate.file, instead_of: stands_for.into_iter().collect() };
            let Candidate { kind, directory, confidence, .. } = candidate;
            Some(Check { name, kind, command, directory, why, confidence })
        })
        .collect()
}

fn is_variant(first: &Candidate, candidate: &Candidate) -> bool {
    first.kind == candidate.kind
        && first.directory == candidate.directory
        && first.ecosystems == candidate.ecosystems
}

/// Whose CI looks at the same code and leaves a habit out does not hold it: running it would only find what nobody minds. Tests are
/// worth running all the same.
fn is_left_out(first: &Candidate, candidate: &Candidate) -> bool {
    first.source == Source::Workflow
        && candidate.source == Source::Habit
        && candidate.kind != Kind::Test
        && first.about == candidate.about
        && first.ecosystems.is_superset(&candidate.ecosystems)
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.len() <= COMMAND_LIMIT && !text.contains(char::is_control)
}

/// The command itself is the best name; where it is run comes first if that is not the root.
fn name(candidate: &Candidate) -> String {
    let place = if candidate.directory.is_root() {
        String::new()
    } else {
        format!("{}: ", candidate.directory)
    };
    let name = format!("{place}{}", candidate.command);
    if name.chars().count() <= NAME_LIMIT {
        return name;
    }
    name.chars().take(NAME_LIMIT - 1).chain(['…']).collect()
}

fn unused(name: &str, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let free =
        std::iter::once(name.to_owned()).chain(numbered).find(|name| names.insert(name.clone()));
    free.unwrap_or_default()
}
