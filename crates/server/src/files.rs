//! Reads the files that people write, each as what it has to be. Whoever needs one reads it here.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use config::{
    Checked, FileKind, Problem, agent::AgentFile, policy::PolicyFile, server::ServerFile, text_file,
};
use terminal::report::Hint;

use crate::kept::Said;

/// A `lamp.yaml`.
pub fn server(path: &Path) -> anyhow::Result<ServerFile> {
    match checked(FileKind::Server, path)? {
        Checked::Server(file) => Ok(*file),
        Checked::Policy(_) | Checked::Agent(_) => Err(other_kind(path)),
    }
}

/// A `policy.yaml`.
pub fn policy(path: &Path) -> anyhow::Result<PolicyFile> {
    match checked(FileKind::Policy, path)? {
        Checked::Policy(file) => Ok(*file),
        Checked::Server(_) | Checked::Agent(_) => Err(other_kind(path)),
    }
}

/// An agent's file.
pub fn agent(path: &Path) -> anyhow::Result<AgentFile> {
    match checked(FileKind::Agent, path)? {
        Checked::Agent(file) => Ok(*file),
        Checked::Server(_) | Checked::Policy(_) => Err(other_kind(path)),
    }
}

/// What stands in the files of a server and is not obeyed yet, each with its place.
pub(crate) fn unheard(said: &Said) -> Vec<Problem> {
    let policy = said.server.policy.as_ref().map_or("policy.yaml", |path| path.as_str());
    let beside = |name: &str| said.beside.join(name);
    let mut paths: Vec<PathBuf> = said.file.iter().cloned().collect();
    if !paths.is_empty() {
        paths.push(beside(policy));
        paths.extend(said.staff.places().map(beside));
    }
    let told = paths.iter().filter_map(|path| {
        // It was read a moment ago; what has gone since is not in force either.
        let text = text_file::read(path).ok()?;
        Some(config::unheard(&path.display().to_string(), &text))
    });
    told.flatten().collect()
}

fn checked(kind: FileKind, path: &Path) -> anyhow::Result<Checked> {
    let name = path.display().to_string();
    let command = match kind {
        FileKind::Policy => "policy",
        FileKind::Server | FileKind::Agent => "config",
    };
    let hint =
        || Hint::new(format!("cannot use `{name}`"), format!("run `lamp {command} check {name}`"));
    let text = text_file::read(path).map_err(|error| anyhow!("{error}")).with_context(hint)?;
    config::check_as(kind, &name, &text).with_context(hint)
}

fn other_kind(path: &Path) -> anyhow::Error {
    anyhow!("`{}` is a file of another kind", path.display())
}
