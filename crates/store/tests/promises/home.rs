//! A database for one test, with a second door: raw SQL, as someone with the password has it.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
use store::{DataDirectory, OpenOptions, Store};
use tempfile::TempDir;
use testkit::postgres::Postgres;

/// A machine that runs the whole suite can keep a connection waiting for longer than a server's people would bear.
pub(crate) const PATIENT: OpenOptions =
    OpenOptions { patience: std::time::Duration::from_mins(1), ..OpenOptions::DEFAULT };

pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) url: String,
    pub(crate) place: DataDirectory,
    pub(crate) kind: Kind,
    _directory: TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Home {
    pub(crate) async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(directory.path().join("data"));
        let url = place.sqlite_url();
        Self::open(directory, place, url, Kind::Sqlite).await
    }

    /// A new database named after `promise`, as far as PostgreSQL takes names.
    pub(crate) async fn postgres(server: &Postgres, promise: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(directory.path().join("data"));
        let name: String = promise.chars().take(60).collect();
        let url = server.new_database(&name).unwrap();
        Self::open(directory, place, url, Kind::Postgres).await
    }

    async fn open(directory: TempDir, place: DataDirectory, url: String, kind: Kind) -> Self {
        let store = store::open_with(&url, &place, PATIENT).await.unwrap();
        Self { store, url, place, kind, _directory: directory }
    }

    /// Another store on the same database, as another process would open it.
    pub(crate) async fn another(&self) -> Store {
        store::open_with(&self.url, &self.place, PATIENT).await.unwrap()
    }

    pub(crate) async fn impatient(&self) -> Store {
        let patience = std::time::Duration::from_millis(200);
        let options = OpenOptions { patience, ..OpenOptions::DEFAULT };
        store::open_with(&self.url, &self.place, options).await.unwrap()
    }

    /// Runs a statement past the store.
    pub(crate) async fn raw(&self, sql: &str) -> Result<u64, sqlx::Error> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.kind {
            Kind::Sqlite => {
                let done = self.raw_sqlite().await.execute(sql).await?;
                Ok(done.rows_affected())
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await?;
                let done = connection.execute(sql).await?;
                connection.close().await?;
                Ok(done.rows_affected())
            }
        }
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        let sql = AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        let count = match self.kind {
            Kind::Sqlite => sqlx::query_scalar(sql).fetch_one(&mut self.raw_sqlite().await).await,
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(sql).fetch_one(&mut connection).await
            }
        };
        count.unwrap()
    }

    pub(crate) async fn raw_sqlite(&self) -> SqliteConnection {
        SqliteConnection::connect(&self.url).await.unwrap()
    }
}
