//! Proposes a setup script from what people wrote for other tools, and from the manifests in a repository (IM3). Nothing is executed here.
//!
//! The root and the directories in it are looked at, so that a repository with a `web` and an `api` gets both. Each
//! ecosystem is a file of this module. Where there is a lockfile, the command keeps to it. Where the root has a setup of its own, what
//! fails below it is told and passed over, and examples and documents are left alone.
//!
//! Names come from a stranger's repository. Those that a person could not read in a script are passed over; the others
//! are quoted for the shell.

mod java;
mod languages;
mod node;
mod people;
mod python;
mod toml;
mod tree;
mod versions;

use std::{collections::BTreeSet, fmt::Write as _};

use domain::policy::Ecosystem as Registry;
use tree::Place;
pub use tree::{EntryKind, Tree, TreeEntry};

/// What to run once, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// For `sh`, in the root of the repository.
    pub script: String,
    /// The same, as a person reads it: a command on each line, without what only carries it.
    pub commands: Vec<String>,
    /// The files that it was made from, as paths in the repository.
    pub because: Vec<String>,
    /// The files that decide what is installed, as paths in the repository: manifests and lockfiles.
    pub lockfiles: Vec<String>,
    /// Where it gets packages from, as far as there is a name for it.
    pub registries: BTreeSet<Registry>,
}

/// What one ecosystem wants in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    command: String,
    /// Names in the directory.
    because: Vec<String>,
    lockfiles: Vec<String>,
    registries: Vec<Registry>,
}

type Ecosystem = fn(&Place<'_>) -> Option<Step>;

const ECOSYSTEMS: [Ecosystem; 8] = [
    node::step,
    python::step,
    languages::cargo,
    languages::go,
    java::maven,
    java::gradle,
    languages::bundler,
    languages::composer,
];

/// Copies of other people's code, results of builds, and examples for tests: not what the repository needs.
const PASSED_OVER: [&str; 10] = [
    "node_modules",
    "vendor",
    "third_party",
    "target",
    "dist",
    "build",
    "out",
    "testdata",
    "fixtures",
    "__pycache__",
];
/// Not needed to work on a project that has a setup at its root.
const ASIDE: [&str; 12] = [
    "docs",
    "doc",
    "website",
    "site",
    "example",
    "examples",
    "demo",
    "demos",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
];
const MOST_DIRECTORIES: usize = 32;

/// Nothing, if there is no manifest that we know, and nobody wrote a setup for another tool.
pub fn propose(tree: &impl Tree) -> Option<Proposal> {
    let root = Place::root(tree);
    let mut directories: Vec<String> = root
        .names(EntryKind::Directory)
        .filter(|name| !name.starts_with('.') && !PASSED_OVER.contains(name))
        .map(str::to_owned)
        .collect();
    directories.sort();

    let mut found = Found::default();
    found.add(&root);
    let has_root = !found.lines.is_empty();
    let mut count = 0;
    for directory in &directories {
        if has_root && ASIDE.contains(&directory.as_str()) {
            continue;
        }
        count += found.add(&root.below(directory));
        if count >= MOST_DIRECTORIES {
            break;
        }
    }
    found.proposal(people::written(&root))
}

/// What the manifests say.
#[derive(Debug, Default)]
struct Found {
    /// Of the script.
    lines: Vec<String>,
    commands: Vec<String>,
    because: Vec<String>,
    lockfiles: Vec<String>,
    registries: BTreeSet<Registry>,
}

impl Found {
    /// Adds what a directory needs, and says how many commands that was.
    fn add(&mut self, place: &Place<'_>) -> usize {
        let steps: Vec<Step> = ECOSYSTEMS.iter().filter_map(|ecosystem| ecosystem(place)).collect();
        let has_root =
            place.above().is_some() && self.because.iter().any(|path| !path.contains('/'));
        for Step { command, because, lockfiles, registries } in &steps {
            // In a shell of its own, so that the end of any part of it is the end of all.
            let line = match place.directory() {
                None if command.contains(" && ") => format!("({command})"),
                None => command.clone(),
                Some(directory) => {
                    let place = domain::shell::quoted(&format!("./{directory}"));
                    let told = "the setup of this directory failed, and is passed over";
                    let passed_over = if has_root {
                        format!(" || echo {place}': {told}'")
                    } else {
                        String::new()
                    };
                    format!("(cd {place} && {command}){passed_over}")
                }
            };
            let last = command.rsplit(" && ").find(|part| !part.starts_with("for name in "));
            let shown = last.unwrap_or(command).trim_matches(['{', '}', ' ']);
            self.commands.push(match place.directory() {
                None => shown.to_owned(),
                Some(directory) => format!("{shown} (in {directory})"),
            });
            self.lines.push(line);
            self.because.extend(because.iter().map(|name| place.path(name)));
            self.lockfiles.extend(lockfiles.iter().map(|name| place.path(name)));
            self.registries.extend(registries);
        }
        steps.len()
    }

    /// What people wrote comes first, and the manifests where that fails.
    fn proposal(mut self, written: Option<people::Written>) -> Option<Proposal> {
        if self.lines.is_empty() && written.is_none() {
            return None;
        }
        let mut script = "set -eu\n".to_owned();
        if let Some(people::Written { script: text, .. }) = &written {
            self.registries.extend(people::registries(text));
        }
        if self.registries.contains(&Registry::Npm) {
            script.push_str(node::HELPERS);
        }
        if self.registries.contains(&Registry::Pypi) {
            script.push_str(python::HELPERS);
        }
        let mut manifests = String::new();
        for line in &self.lines {
            // Writing to a string cannot fail.
            let _ = writeln!(manifests, "{line}");
        }
        if let Some(people::Written { file, script: text }) = written {
            let (end, python) = (people::END, self.registries.contains(&Registry::Pypi));
            if python {
                script.push_str("venv python3 \"$HOME/.venv\"\n");
            }
            let text = text.trim();
            let _ = write!(
                script,
                "if ! sh -eu -c \"$(cat <<'{end}'\nsudo() {{ \"$@\"; }}\n{text}\n{end}\n)\" </dev/null\nthen\n"
            );
            if self.lines.is_empty() {
                script.push_str("exit 1\n");
            } else {
                let _ = writeln!(script, "echo 'what {file} says failed; the manifests are asked'");
                script.push_str(&manifests);
            }
            script.push_str("fi\n");
            self.because.insert(0, file.to_owned());
            self.lockfiles.insert(0, file.to_owned());
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            self.commands = lines.map(str::to_owned).collect();
        } else {
            script.push_str(&manifests);
        }
        let Self { commands, because, lockfiles, registries, .. } = self;
        Some(Proposal { script, commands, because, lockfiles, registries })
    }
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
