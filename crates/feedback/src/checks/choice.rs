//! Of all that was found, what is run.
//!
//! Three rules: what one check does is not done again by another; the plain one is always there, and a part or a variant of it only beside
//! it; whoever is believed more says how something is run.

use std::collections::BTreeSet;

use super::{
    CHECKS_LIMIT, Detection,
    candidate::{Candidate, LeftOut, Source},
    check::{Check, CommandLine, InsteadOf, Kind, Why},
    deed::Scope,
};

const NAME_LIMIT: usize = 60;
/// A detected command is one line that somebody could have typed.
const COMMAND_LIMIT: usize = 2_000;
/// CI tries a library with many combinations of features. A few tell most of it, and each takes its time, twice.
const VARIANTS_LIMIT: usize = 4;
/// More than a person would read.
const STANDS_FOR_LIMIT: usize = 8;
const LEFT_OUT_LIMIT: usize = 40;

type Kept = (Candidate, BTreeSet<InsteadOf>);

/// Keeps the most believed of those that do the same, and puts all in order: by kind, then by place, then as they were found.
pub(super) fn among(mut found: Vec<Candidate>, mut left_out: Vec<LeftOut>) -> Detection {
    found.retain(|candidate| is_printable(&candidate.command) && is_printable(&candidate.file));
    found.retain(|candidate| !is_about_documents(candidate));
    // The plain one goes first, so that what is only a part of it finds it there.
    found.sort_by_key(|candidate| (candidate.source, candidate.scope));
    let mut kept: Vec<Kept> = Vec::new();
    for candidate in found {
        match against(&candidate, &mut kept) {
            Against::StoodFor => {}
            Against::Reason(reason) => left_out.push(left(&candidate, &reason)),
            Against::Nothing => {
                give_way(&candidate, &mut kept, &mut left_out);
                kept.push((candidate, BTreeSet::new()));
            }
        }
    }
    kept.sort_by(|(a, _), (b, _)| (a.kind, &a.directory).cmp(&(b.kind, &b.directory)));
    let mut names = BTreeSet::new();
    let checks: Vec<Check> = kept
        .into_iter()
        .filter_map(|(candidate, stands_for)| {
            let command: CommandLine = candidate.command.parse().ok()?;
            let name = unused(&name(&candidate), &mut names);
            let Candidate { kind, directory, confidence, file, reason, .. } = candidate;
            let why = Why { file, reason, instead_of: stands_for.into_iter().collect() };
            Some(Check { name, kind, command, directory, why, confidence })
        })
        .collect();
    let is_run = |left: &LeftOut| checks.iter().any(|check| check.command.as_str() == left.command);
    let mut told = BTreeSet::new();
    left_out.retain(|left| {
        is_printable(&left.command)
            && is_printable(&left.file)
            && !is_run(left)
            && told.insert(left.command.clone())
    });
    left_out.truncate(LEFT_OUT_LIMIT);
    Detection { checks, left_out }
}

/// What speaks against running a candidate.
enum Against {
    Nothing,
    /// Another one stands for it, and says so.
    StoodFor,
    Reason(String),
}

fn against(candidate: &Candidate, kept: &mut [Kept]) -> Against {
    if let Some((first, stands_for)) =
        kept.iter_mut().find(|(first, _)| first.stands_for(candidate))
    {
        let differs = first.command != candidate.command;
        if differs && stands_for.len() < STANDS_FOR_LIMIT {
            stands_for.insert(InsteadOf {
                command: candidate.command.clone(),
                file: candidate.file.clone(),
            });
        }
        return Against::StoodFor;
    }
    if candidate.scope == Scope::Special {
        let reason =
            "it is a special build, which ordinary tests need not pass; declare it to have it run";
        return Against::Reason(reason.to_owned());
    }
    if let Some((first, _)) = kept.iter().find(|(first, _)| is_left_out(first, candidate)) {
        let reason = format!("CI runs `{}` of `{}` and not this", first.command, first.file);
        return Against::Reason(reason);
    }
    let variants = kept.iter().filter(|(first, _)| is_variant(first, candidate)).count();
    if variants >= VARIANTS_LIMIT && candidate.scope != Scope::Plain {
        return Against::Reason(format!("{VARIANTS_LIMIT} of its kind are run already"));
    }
    if kept.len() >= CHECKS_LIMIT {
        return Against::Reason(format!("{CHECKS_LIMIT} checks are run already"));
    }
    Against::Nothing
}

/// What the new one does besides more is not done twice: a linter that `npm test` runs anyway. What is believed more stays.
fn give_way(candidate: &Candidate, kept: &mut Vec<Kept>, left_out: &mut Vec<LeftOut>) {
    kept.retain(|(first, _)| {
        let is_double = candidate.source <= first.source
            && candidate.scope == Scope::Plain
            && candidate.does.covers(&first.does);
        if is_double {
            left_out.push(left(first, &format!("`{}` runs it", candidate.command)));
        }
        !is_double
    });
}

fn left(candidate: &Candidate, reason: &str) -> LeftOut {
    LeftOut {
        command: candidate.command.clone(),
        file: candidate.file.clone(),
        reason: reason.to_owned(),
    }
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
        && candidate.source > Source::Workflow
        && matches!(candidate.kind, Kind::Format | Kind::Lint | Kind::Build)
        && (candidate.source == Source::Habit || first.kind == candidate.kind)
        && first.about == candidate.about
        && first.ecosystems.is_superset(&candidate.ecosystems)
}

/// Pages are built elsewhere, and are not what a change is judged by.
fn is_about_documents(candidate: &Candidate) -> bool {
    let first = candidate.about.as_str().split('/').next();
    candidate.kind != Kind::Test && matches!(first, Some("doc" | "docs" | "website" | "site"))
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
