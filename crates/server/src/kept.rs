//! Finds and opens what a server has kept: its data directory and its database.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use config::server::DatabaseUrl;
use provision::{files::FilesError, server_files::ServerFiles};
use store::{DataDirectory, Store};
use terminal::{
    data_directory::{Account, DataFlag},
    environment::Environment,
    report::{Hint, hinted},
};

use crate::provider::Quarters;

/// Where a server keeps things, and what it has for its sandboxes.
#[derive(Debug)]
pub struct Kept {
    pub place: DataDirectory,
    pub(crate) quarters: Quarters,
    pub(crate) said: ServerFiles,
    database: Database,
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
            Some(path) => ServerFiles::read(path).map_err(unusable)?,
            None => ServerFiles::nothing(),
        };
        let quarters = match &said.file {
            Some(path) => Quarters::of(&said.server, path)?,
            None => Quarters::default(),
        };
        let quarters = quarters.at_home(environment.home.as_deref());
        // Relative places stand beside the file.
        let written = said.server.data.as_ref().map(|data| said.beside.join(data.as_str()));
        let place = data.directory(environment, written.as_deref(), Account::own())?;
        let place = DataDirectory::new(place);
        let database = match &said.server.database {
            Some(DatabaseUrl::Sqlite { path }) => Database::File(said.beside.join(path)),
            Some(DatabaseUrl::Postgres { url }) => Database::Server(url.clone()),
            None => Database::File(place.database()),
        };
        Ok(Self { place, quarters, said, database })
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

/// Why the files cannot be used, with what to do about it.
#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
pub(crate) fn unusable(error: FilesError) -> anyhow::Error {
    hinted(&error, error.help())
}
