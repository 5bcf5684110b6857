//! What the files of a server say together: `lamp.yaml`, `policy.yaml` and `agents/*.yaml`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use config::{Problem, policy::PolicyFile, server::ServerFile, text_file};
use domain::policy::Rule;

use crate::{
    agents::Staff,
    files::{self, FilesError},
    models,
};

/// What the files of a server say. They can be read again while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// The `lamp.yaml`, if one was named.
    pub file: Option<PathBuf>,
    /// What the platform team wrote.
    pub server: ServerFile,
    /// What the security team wrote, or what holds where nobody has.
    pub policy: PolicyFile,
    /// The agents that have a file.
    pub staff: Staff,
    /// Where files that the two name stand.
    pub beside: PathBuf,
}

impl ServerFiles {
    /// Without any file.
    pub fn nothing() -> Self {
        Self {
            file: None,
            server: ServerFile::default(),
            policy: PolicyFile::when_absent(),
            staff: Staff::default(),
            beside: PathBuf::new(),
        }
    }

    pub fn read(path: &Path) -> Result<Self, FilesError> {
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        let server = files::server(path)?;
        let policy = policy(&server, &beside)?;
        let staff = Staff::read(&beside.join("agents"))?;
        Ok(Self { file: Some(path.to_owned()), server, policy, staff, beside })
    }

    /// What stands in the files of a server and is not obeyed yet, each with its place.
    pub fn unheard(&self) -> Vec<Problem> {
        let policy = self.server.policy.as_ref().map_or("policy.yaml", |path| path.as_str());
        let beside = |name: &str| self.beside.join(name);
        let mut paths: Vec<PathBuf> = self.file.iter().cloned().collect();
        if !paths.is_empty() {
            paths.push(beside(policy));
            paths.extend(self.staff.places().map(beside));
        }
        let told = paths.iter().filter_map(|path| {
            // It was read a moment ago; what has gone since is not in force either.
            let text = text_file::read(path).ok()?;
            Some(config::unheard(&path.display().to_string(), &text))
        });
        told.flatten().collect()
    }
}

/// The file that the server's file names, or `policy.yaml` beside it, or what holds without any.
fn policy(server: &ServerFile, beside: &Path) -> Result<PolicyFile, FilesError> {
    let usual = beside.join("policy.yaml");
    match &server.policy {
        Some(named) => files::policy(&beside.join(named.as_str())),
        None if usual.exists() => files::policy(&usual),
        None => Ok(without_policy(server)),
    }
}

/// Where nobody has written a policy, whoever set a model up means it to be asked.
fn without_policy(server: &ServerFile) -> PolicyFile {
    let mut policy = PolicyFile::when_absent();
    let egress = &mut policy.egress;
    for phase in [&mut egress.research, &mut egress.implement, &mut egress.review] {
        let rules: BTreeSet<Rule> =
            server.models.iter().map(|model| models::rule(model.provider)).collect();
        if let Some(phase) = phase {
            phase.allow.extend(rules);
        }
    }
    policy
}
