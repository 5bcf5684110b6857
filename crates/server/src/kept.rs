//! Finds and opens what a server has kept: its data directory and its database.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use config::{
    policy::PolicyFile,
    server::{DatabaseUrl, ServerFile},
};
use domain::policy::Rule;
use store::{Place, Store};
use terminal::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    report::Hint,
};

use crate::{
    files,
    household::{Staff, models},
    provider::Quarters,
};

/// Where a server keeps things, and what it has for its sandboxes.
#[derive(Debug)]
pub struct Kept {
    pub place: Place,
    pub(crate) quarters: Quarters,
    pub(crate) said: Said,
    database: Database,
}

/// What the files of a server say. They can be read again while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The `lamp.yaml`, if one was named.
    pub(crate) file: Option<PathBuf>,
    /// What the platform team wrote.
    pub(crate) server: ServerFile,
    /// What the security team wrote, or what holds where nobody has.
    pub(crate) policy: PolicyFile,
    /// The agents that have a file.
    pub(crate) staff: Staff,
    /// Where files that the two name stand.
    pub(crate) beside: PathBuf,
}

impl Said {
    /// Without any file.
    pub(crate) fn nothing() -> Self {
        Self {
            file: None,
            server: ServerFile::default(),
            policy: PolicyFile::when_absent(),
            staff: Staff::default(),
            beside: PathBuf::new(),
        }
    }

    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        let server = files::server(path)?;
        let policy = policy(&server, &beside)?;
        let staff = Staff::read(&beside.join("agents"))?;
        Ok(Self { file: Some(path.to_owned()), server, policy, staff, beside })
    }
}

#[derive(Debug)]
enum Database {
    File(PathBuf),
    Server(String),
}

impl Kept {
    /// What `--data` and `--config` name, or else what the environment does.
    pub fn find(
        data: &DataFlag,
        config: Option<&Path>,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let said = match config {
            Some(path) => Said::read(path)?,
            None => Said::nothing(),
        };
        let quarters = match &said.file {
            Some(path) => Quarters::of(&said.server, path)?,
            None => Quarters::default(),
        };
        // Relative places stand beside the file.
        let written = said.server.data.as_ref().map(|data| said.beside.join(data.as_str()));
        let place = data.directory(environment, written.as_deref(), Account::own())?;
        let place = Place::new(place);
        let database = match &said.server.database {
            Some(DatabaseUrl::Sqlite { path }) => Database::File(said.beside.join(path)),
            Some(DatabaseUrl::Postgres { url }) => Database::Server(url.clone()),
            None => Database::File(place.database()),
        };
        Ok(Self { place, quarters, said, database })
    }
}

/// The file that the server's file names, or `policy.yaml` beside it, or what holds without any.
fn policy(server: &ServerFile, beside: &Path) -> anyhow::Result<PolicyFile> {
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

impl Kept {
    /// Opens the store, and makes it if this is the first time. For the server alone.
    pub(crate) async fn open_or_make(&self) -> anyhow::Result<Store> {
        let url = match &self.database {
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Server(url) => url.clone(),
        };
        store::open(&url, &self.place).await.with_context(|| {
            Hint::new("cannot open the database", "run `lamp doctor` to see what is wrong")
        })
    }

    /// Opens the store. Never makes a new one: a mistyped directory is a mistake, not a wish.
    pub async fn open(&self) -> anyhow::Result<Store> {
        let url = match &self.database {
            Database::File(path) if path.is_file() => format!("sqlite:{}", path.display()),
            Database::File(path) => {
                return Err(anyhow!("there is no database `{}`", path.display())).with_context(
                    || {
                        Hint::new(
                            "nothing is kept here",
                            "name the right place with `--data DIR` or `--config FILE`",
                        )
                    },
                );
            }
            Database::Server(url) => url.clone(),
        };
        store::open(&url, &self.place).await.with_context(|| {
            Hint::new("cannot open the database", "run `lamp doctor` to see what is wrong")
        })
    }
}
