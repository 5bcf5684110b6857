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
//! What is found is taken apart into the finest checks that can be run by themselves (`units`), and what each of them does is compared
//! (`deed`): doubles are one, and a special variant of a test never displaces the plain one (`scope`, `choice`). Each check says why it
//! was chosen, and what was left out says why not.
//!
//! All of this was written by strangers, or by an agent. It is read with limits, and never run here: a command is text, for a shell
//! inside a sandbox. Detection is a pure function of the files, so the same commit always has the same checks.

mod candidate;
mod cargo;
mod check;
mod choice;
mod classify;
mod deed;
mod go;
mod justfile;
mod jvm;
mod kind;
mod makefile;
mod manifests;
mod names;
mod nox;
mod others;
mod package_json;
mod package_scripts;
mod pre_commit;
mod python;
mod recipes;
mod scope;
mod script_file;
mod shell;
mod tables;
mod target_checks;
mod targets;
mod tox;
mod tree;
mod units;
mod workflow;
mod yaml;

pub use candidate::LeftOut;
pub use check::{
    Check, CommandLine, CommandLineError, Confidence, Directory, InsteadOf, Kind, Why,
};
pub(crate) use recipes::{goes_before_another, recipes};
pub use tree::{Files, Tree, is_wanted};

use self::tree::Survey;

/// What the files tell of: the checks to run, and what looks like one and is not run, with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    pub checks: Vec<Check>,
    pub left_out: Vec<LeftOut>,
}

/// No repository needs more checks than this to be believed.
pub const CHECKS_LIMIT: usize = 32;

/// The checks to run: those that are declared, or else those that the files tell of. In the order in which they are run: what fails
/// fast comes first.
pub fn choose(declared: Vec<Check>, tree: &impl Tree) -> Vec<Check> {
    if declared.is_empty() { detect(tree) } else { declared }
}

/// The checks that the files tell of, at most [`CHECKS_LIMIT`].
pub fn detect(tree: &impl Tree) -> Vec<Check> {
    look(tree).checks
}

/// The same, with what was left out.
pub fn look(tree: &impl Tree) -> Detection {
    let survey = Survey::of(tree);
    let (mut found, left_out) = workflow::read(&survey);
    found.extend(target_checks::read(&makefile::MAKE, &survey));
    found.extend(target_checks::read(&justfile::JUST, &survey));
    found.extend(package_json::read(&survey));
    found.extend(cargo::read(&survey));
    found.extend(python::read(&survey));
    found.extend(go::read(&survey));
    found.extend(jvm::read(&survey));
    found.extend(others::read(&survey));
    choice::among(found, left_out)
}

#[cfg(test)]
mod tests;
