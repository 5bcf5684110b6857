//! Which checks does a repository have? (FB1)
//!
//! What its people declared is taken as it is. Where nothing is declared, the files of the repository are asked, the most trustworthy
//! first:
//!
//! ```text
//! workflow files      what CI runs is what its people believe in
//! Makefile, justfile  a target named `test` is meant to be run
//! package.json        so is a script
//! manifests           `go.mod` means that `go test ./...` should work
//! ```
//!
//! Of two that do the same in the same directory, the first is kept, and says what it stands for.
//!
//! All of this was written by strangers, or by an agent. It is read with limits, and never run here: a command is text, for a shell
//! inside a sandbox. Detection is a pure function of the files, so the same commit always has the same checks.

mod candidate;
mod cargo;
mod check;
mod choice;
mod classify;
mod go;
mod justfile;
mod jvm;
mod kind;
mod makefile;
mod manifests;
mod names;
mod package_json;
mod python;
mod recipes;
mod shell;
mod tables;
mod targets;
mod tree;
mod workflow;
mod yaml;

pub use check::{
    Check, CommandLine, CommandLineError, Confidence, Directory, InsteadOf, Kind, Why,
};
pub(crate) use recipes::{goes_before_another, recipes};
pub use tree::{Files, Tree, is_wanted};

use self::tree::Survey;

/// No repository needs more checks than this to be believed.
pub const CHECKS_LIMIT: usize = 32;

/// The checks to run: those that are declared, or else those that the files tell of. In the order in which they are run: what fails
/// fast comes first.
pub fn choose(declared: Vec<Check>, tree: &impl Tree) -> Vec<Check> {
    if declared.is_empty() { detect(tree) } else { declared }
}

/// The checks that the files tell of, at most [`CHECKS_LIMIT`].
pub fn detect(tree: &impl Tree) -> Vec<Check> {
    let survey = Survey::of(tree);
    let mut found = workflow::read(&survey);
    found.extend(makefile::MAKE.read(&survey));
    found.extend(justfile::JUST.read(&survey));
    found.extend(package_json::read(&survey));
    found.extend(cargo::read(&survey));
    found.extend(python::read(&survey));
    found.extend(go::read(&survey));
    found.extend(jvm::read(&survey));
    choice::among(found)
}

#[cfg(test)]
mod tests;
