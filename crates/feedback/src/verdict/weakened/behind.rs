//! Files that checks run by name: `make test` whose recipe is `sh ci/test.sh` is what that script makes of it.
//!
//! The commands are those of the base commit, and so are the recipes behind them. What they name and the change touches is told. It is
//! looked for one step deep: a script that such a script runs is not found. Nor is a file told that is only looked at, as by a linter, or
//! that holds tests, which are compared one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::{FileChange, Found, Version, Weakened, Weakening, languages::Language, scan};
use crate::checks::{Check, recipes};

/// Words of all commands together that are looked at.
const WORDS: usize = 20_000;

/// Programs that run the file that they are given.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "source", ".", "python", "python2", "python3",
    "pypy", "pypy3", "node", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua", "awk",
    "make", "just", "nox", "tox", "Rscript", "julia", "pwsh", "go", "java", "groovy",
];

/// Options whose next word is a file that says how something is run.
const OPTIONS: &[&str] = &[
    "-f",
    "--file",
    "--makefile",
    "--justfile",
    "-c",
    "--config",
    "--config-file",
    "--rcfile",
    "--rootdir",
    "-r",
    "--require",
    "--import",
    "--preset",
    "--settings",
];

const SCRIPTS: &[&str] = &[".sh", ".bash", ".zsh", ".mk", ".ps1", ".bat", ".cmd", ".awk"];

/// Endings that may be left off.
const LEFT_OFF: &[&str] = &["", ".js", ".mjs", ".cjs", ".ts", ".py"];

/// `contents` are those of the base commit, as far as checks are found in them.
pub fn behind_checks(
    checks: &[Check],
    contents: &BTreeMap<String, Vec<u8>>,
    changes: &[FileChange<'_>],
) -> Found {
    let mut found = Found::default();
    let touched = touched(changes);
    if touched.is_empty() {
        return found;
    }
    let mut lines: Vec<(String, String, String)> = Vec::new();
    for check in checks {
        let command = check.command.as_str().to_owned();
        lines.push((command.clone(), check.directory.as_str().to_owned(), command));
    }
    for (path, bytes) in contents {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for (command, recipe) in recipes(path, text) {
            let recipe = recipe.into_iter();
            lines.extend(recipe.map(|line| (command.clone(), directory.to_owned(), line)));
        }
    }
    let mut told = BTreeSet::new();
    let mut left = WORDS;
    for (command, directory, line) in &lines {
        for named in named(line, directory, &mut left) {
            if let Some(path) = touched.get(named.as_str())
                && told.insert(*path)
            {
                let command = command.lines().next().unwrap_or_default();
                let what = format!("`{command}` runs this file, which is not what it was");
                found.add(Weakened::new(Weakening::CheckChanged, path, None, &what));
            }
        }
    }
    found
}

/// The paths that the change touches, on either side, but for files of tests.
fn touched<'a>(changes: &[FileChange<'a>]) -> BTreeSet<&'a str> {
    let differs = |change: &&FileChange<'_>| match (change.old, change.new) {
        (Some(old), Some(new)) => {
            old.path != new.path || old.bytes != new.bytes || old.bytes.is_empty()
        }
        (Some(_), None) | (None, Some(_)) => true,
        (None, None) => false,
    };
    let sides = changes.iter().filter(differs).filter(|change| !change.old.is_some_and(has_tests));
    sides.flat_map(|change| [change.old, change.new]).flatten().map(|side| side.path).collect()
}

fn has_tests(version: Version<'_>) -> bool {
    let language = Language::of(version.path).filter(|language| language.has_tests(version.path));
    let text = std::str::from_utf8(version.bytes).ok().filter(|it| it.len() <= super::FILE_BYTES);
    let tests = language.zip(text).map(|(language, text)| scan::tests(text, language));
    tests.is_some_and(|tests| !tests.is_empty())
}

/// The paths that a line may run, from the root of the repository.
fn named(line: &str, directory: &str, left: &mut usize) -> Vec<String> {
    let mut places = vec![String::new()];
    if directory != "." && !directory.is_empty() {
        places.push(directory.to_owned());
    }
    let mut paths = Vec::new();
    for segment in line.split(['\n', ';', '|', '&', '(', ')', '`']) {
        let words = segment.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        *left = left.saturating_sub(words.len());
        if *left == 0 {
            break;
        }
        for (before, word) in std::iter::once(&"").chain(&words).zip(&words) {
            if matches!(*before, "cd" | "-C" | "--prefix" | "--directory" | "pushd") {
                let below: Vec<String> = places.iter().filter_map(|it| joined(it, word)).collect();
                places.extend(below);
                places.truncate(16);
            }
        }
        for word in run(&words) {
            for place in &places {
                let path = joined(place, &word);
                paths.extend(
                    path.into_iter().flat_map(|path| {
                        LEFT_OFF.iter().map(move |ending| format!("{path}{ending}"))
                    }),
                );
            }
        }
    }
    paths
}

/// The words of one command that are run, or that say how.
fn run(words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut has_interpreter = false;
    let mut is_first = true;
    let mut before = "";
    for word in words {
        let word = if is_first { word.trim_start_matches(['@', '-', '+']) } else { word };
        let is_set = word.split_once('=').filter(|(name, _)| !name.contains('/'));
        let value = is_set.map(|(_, value)| value.trim_matches(['"', '\'']));
        let name = word.rsplit('/').next().unwrap_or(word);
        if before == "-m" {
            let module = word.replace('.', "/");
            found.extend([module.clone(), format!("{module}/__main__")]);
        }
        let is_script = SCRIPTS.iter().any(|ending| word.ends_with(ending));
        let is_plain = word.starts_with("./") && !name.contains('.');
        if is_first && value.is_none()
            || has_interpreter
            || is_script
            || is_plain
            || OPTIONS.contains(&before)
        {
            found.push(word.to_owned());
        }
        found.extend(value.map(str::to_owned));
        has_interpreter |= INTERPRETERS.contains(&name);
        // Variables stand before the command.
        is_first &= value.is_some();
        before = word;
    }
    found
}

/// A path below a directory, without ways up and down; nothing for one that leaves the repository.
fn joined(directory: &str, word: &str) -> Option<String> {
    if word.starts_with(['/', '-', '$', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in word.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
