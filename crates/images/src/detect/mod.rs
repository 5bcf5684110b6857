//! Proposes a setup script from the manifests in a repository (IM3). Nothing is executed here.
//!
//! The root and the directories in it are looked at, so that a repository with a `web` and an `api` gets both. Each
//! ecosystem is a file of this module. Where there is a lockfile, the command keeps to it.
//!
//! Names come from a stranger's repository. Those that a person could not read in a script are passed over; the others
//! are quoted for the shell.

mod java;
mod languages;
mod node;
mod python;
mod tree;

use std::fmt::Write as _;

use tree::Place;
pub use tree::{EntryKind, Tree, TreeEntry};

/// What to run once, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// For `sh`, in the root of the repository.
    pub script: String,
    /// The manifests that it was made from, as paths in the repository.
    pub because: Vec<String>,
    /// The files that decide what is installed, as paths in the repository: the lockfile, or without one the manifest.
    pub lockfiles: Vec<String>,
}

/// What one ecosystem wants in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    command: String,
    /// Names in the directory.
    because: Vec<String>,
    lockfiles: Vec<String>,
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
const MOST_DIRECTORIES: usize = 32;

/// Nothing, if there is no manifest that we know.
pub fn propose(tree: &impl Tree) -> Option<Proposal> {
    let root = Place::root(tree);
    let mut directories: Vec<String> = root
        .names(EntryKind::Directory)
        .filter(|name| !name.starts_with('.') && !PASSED_OVER.contains(name))
        .map(str::to_owned)
        .collect();
    directories.sort();

    let mut proposal =
        Proposal { script: "set -eu\n".to_owned(), because: vec![], lockfiles: vec![] };
    proposal.add(&root);
    let mut found = 0;
    for directory in &directories {
        found += proposal.add(&root.below(directory));
        if found >= MOST_DIRECTORIES {
            break;
        }
    }
    (!proposal.because.is_empty()).then_some(proposal)
}

impl Proposal {
    /// Adds what a directory needs, and says how many commands that was.
    fn add(&mut self, place: &Place<'_>) -> usize {
        let steps: Vec<Step> = ECOSYSTEMS.iter().filter_map(|ecosystem| ecosystem(place)).collect();
        for Step { command, because, lockfiles } in &steps {
            // Writing to a string cannot fail.
            let _ = match place.directory() {
                None => writeln!(self.script, "{command}"),
                Some(directory) => {
                    writeln!(
                        self.script,
                        "(cd {} && {command})",
                        domain::shell::quoted(&format!("./{directory}"))
                    )
                }
            };
            self.because.extend(because.iter().map(|name| place.path(name)));
            self.lockfiles.extend(lockfiles.iter().map(|name| place.path(name)));
        }
        steps.len()
    }
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
