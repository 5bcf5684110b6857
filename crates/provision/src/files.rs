//! Reads the files that people write, each as what it has to be, and says what is wrong with them. Whoever needs one reads it here.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
};

use config::{
    Checked, FileKind, InvalidFile,
    agent::AgentFile,
    policy::PolicyFile,
    server::ServerFile,
    text_file::{self, Unreadable},
};
use contracts::secret::SecretNameError;
use egress::bundles::{endpoint::EndpointError, github::DataError};

/// Why the files of a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("cannot use `{path}`")]
    Unreadable { path: String, kind: FileKind, source: Unreadable },
    #[error("cannot use `{path}`")]
    Invalid { path: String, kind: FileKind, source: InvalidFile },
    #[error("`{}` is a file of another kind", .0.display())]
    OtherKind(PathBuf),
    #[error("cannot read the agents")]
    Agents(#[source] io::Error),
    #[error("`{}` has more than {most} agents", directory.display())]
    TooManyAgents { directory: PathBuf, most: usize },
    #[error("cannot read the certificate `{}`: {reason}", path.display())]
    Certificate { path: PathBuf, reason: Unreadable },
    #[error("the `url` of model `{model}` cannot be used")]
    ModelUrl { model: String, source: EndpointError },
    #[error(transparent)]
    SecretName(#[from] SecretNameError),
    #[error(transparent)]
    Models(#[from] serde_json::Error),
    #[error(transparent)]
    Known(#[from] DataError),
}

impl FilesError {
    /// What a person can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unreadable { path, kind, .. } | Self::Invalid { path, kind, .. } => {
                let command = match kind {
                    FileKind::Policy => "policy",
                    FileKind::Server | FileKind::Agent => "config",
                };
                Some(format!("run `lamp {command} check {path}`"))
            }
            Self::Agents(_) => Some("look at the directory's rights".to_owned()),
            Self::Certificate { reason, .. } => Some(reason.help().to_owned()),
            Self::ModelUrl { .. } => {
                Some("name its host; an address goes into `addresses`".to_owned())
            }
            Self::OtherKind(_)
            | Self::TooManyAgents { .. }
            | Self::SecretName(_)
            | Self::Models(_)
            | Self::Known(_) => None,
        }
    }

    /// What went wrong and why, from the nearest to the farthest, on one line.
    pub fn whole(&self) -> String {
        let (mut told, mut cause) = (self.to_string(), self.source());
        while let Some(next) = cause {
            told = format!("{told}: {next}");
            cause = next.source();
        }
        told
    }
}

/// A `lamp.yaml`.
pub fn server(path: &Path) -> Result<ServerFile, FilesError> {
    match checked(FileKind::Server, path)? {
        Checked::Server(file) => Ok(*file),
        Checked::Policy(_) | Checked::Agent(_) => Err(FilesError::OtherKind(path.to_owned())),
    }
}

/// A `policy.yaml`.
pub fn policy(path: &Path) -> Result<PolicyFile, FilesError> {
    match checked(FileKind::Policy, path)? {
        Checked::Policy(file) => Ok(*file),
        Checked::Server(_) | Checked::Agent(_) => Err(FilesError::OtherKind(path.to_owned())),
    }
}

/// An agent's file, and what it says to the letter.
pub fn agent(path: &Path) -> Result<(AgentFile, String), FilesError> {
    let name = path.display().to_string();
    let text = text(FileKind::Agent, path)?;
    Ok((agent_of(&name, &text)?, text))
}

/// The text of an agent's file that was read before.
pub(crate) fn agent_of(name: &str, text: &str) -> Result<AgentFile, FilesError> {
    match check(FileKind::Agent, name, text)? {
        Checked::Agent(file) => Ok(*file),
        Checked::Server(_) | Checked::Policy(_) => Err(FilesError::OtherKind(name.into())),
    }
}

fn checked(kind: FileKind, path: &Path) -> Result<Checked, FilesError> {
    check(kind, &path.display().to_string(), &text(kind, path)?)
}

fn text(kind: FileKind, path: &Path) -> Result<String, FilesError> {
    let unreadable =
        |source| FilesError::Unreadable { path: path.display().to_string(), kind, source };
    text_file::read(path).map_err(unreadable)
}

fn check(kind: FileKind, name: &str, text: &str) -> Result<Checked, FilesError> {
    config::check_as(kind, name, text).map_err(|source| FilesError::Invalid {
        path: name.to_owned(),
        kind,
        source,
    })
}
