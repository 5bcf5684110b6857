//! Finds and opens what a server has kept: its data directory and its database.

use std::{
    future::Future,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use config::{
    Checked, FileKind,
    policy::PolicyFile,
    server::{DatabaseUrl, ServerFile},
};
use store::{Place, Store};

use crate::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    provider::Household,
    report::Hint,
    text_file,
};

/// `--data` and `--config`, for every command that reads what a server has kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KeptFlags {
    #[command(flatten)]
    data: DataFlag,

    /// A `lamp.yaml` that names the data directory or the database
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Where a server keeps things, and what it has for its sandboxes.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) place: Place,
    pub(crate) household: Household,
    /// What the platform team wrote.
    pub(crate) server: ServerFile,
    /// What the security team wrote, or what holds where nobody has.
    pub(crate) policy: PolicyFile,
    /// Where files that the two name stand.
    pub(crate) beside: PathBuf,
    database: Database,
}

#[derive(Debug)]
enum Database {
    File(PathBuf),
    Server(String),
}

impl KeptFlags {
    pub(crate) fn find(&self, environment: &Environment) -> anyhow::Result<Kept> {
        let configured = self.config.as_deref().map(read).transpose()?;
        let Configured { data, database, household, server, policy, beside } = match configured {
            Some(configured) => configured,
            None => Configured::nothing(),
        };
        let place = self.data.directory(environment, data.as_deref(), Account::own())?;
        let place = Place::new(place);
        let database = database.unwrap_or_else(|| Database::File(place.database()));
        Ok(Kept { place, household, server, policy, beside, database })
    }
}

/// What a `lamp.yaml` says. Relative places stand beside it.
#[derive(Debug)]
struct Configured {
    data: Option<PathBuf>,
    database: Option<Database>,
    household: Household,
    server: ServerFile,
    policy: PolicyFile,
    beside: PathBuf,
}

impl Configured {
    /// Without any file.
    fn nothing() -> Self {
        Self {
            data: None,
            database: None,
            household: Household::default(),
            server: ServerFile::default(),
            policy: PolicyFile::when_absent(),
            beside: PathBuf::new(),
        }
    }
}

/// The file that the server's file names, or `policy.yaml` beside it, or what holds without any.
fn policy(server: &ServerFile, beside: &Path) -> anyhow::Result<PolicyFile> {
    let path = match &server.policy {
        Some(named) => beside.join(named.as_str()),
        None => beside.join("policy.yaml"),
    };
    if server.policy.is_none() && !path.exists() {
        return Ok(PolicyFile::when_absent());
    }
    let name = path.display().to_string();
    let hint =
        || Hint::new(format!("cannot use `{name}`"), format!("run `lamp policy check {name}`"));
    let text = text_file::read(&path).map_err(|error| anyhow!("{error}")).with_context(hint)?;
    match config::check_as(FileKind::Policy, &name, &text).with_context(hint)? {
        Checked::Policy(file) => Ok(*file),
        Checked::Agent(_) | Checked::Server(_) => {
            Err(anyhow!("it is not a policy")).with_context(hint)
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Configured> {
    let name = path.display().to_string();
    let hint =
        || Hint::new(format!("cannot use `{name}`"), format!("run `lamp config check {name}`"));
    let text = text_file::read(path).map_err(|error| anyhow!("{error}")).with_context(hint)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    match config::check_as(FileKind::Server, &name, &text).with_context(hint)? {
        Checked::Server(file) => {
            let data = file.data.as_ref().map(|data| beside.join(data.as_str()));
            let database = file.database.as_ref().map(|url| match url {
                DatabaseUrl::Sqlite { path } => Database::File(beside.join(path)),
                DatabaseUrl::Postgres { url } => Database::Server(url.clone()),
            });
            let household = Household::of(&file, path)?;
            let policy = policy(&file, beside)?;
            let beside = beside.to_owned();
            Ok(Configured { data, database, household, server: *file, policy, beside })
        }
        Checked::Agent(_) | Checked::Policy(_) => {
            Err(anyhow!("it is not a server's file")).with_context(hint)
        }
    }
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
    pub(crate) async fn open(&self) -> anyhow::Result<Store> {
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

/// Runs a command that talks with a database, on this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start")?.block_on(work)
}
