//! The one place that knows that there are two databases.
//!
//! Statements are written once, with `$1` parameters and the types TEXT and BIGINT, which both
//! understand. What differs is how a write is made: PostgreSQL takes many at a time, SQLite one after
//! the other ([`sqlite`] gathers them so that a flush to disk serves many).

mod connection;
mod migrations;
mod postgres;
mod sqlite;

use std::{future::Future, path::Path};

pub(crate) use connection::{Connection, Row, Sql, Value, number};
pub(crate) use postgres::Postgres;
pub(crate) use sqlite::Sqlite;

use crate::{
    OpenError, OpenOptions, StoreError,
    changes::{Changes, Heard},
};

/// A change to the database, all of it or nothing. May be run again when it was not kept.
pub(crate) trait Operation: Send + Sync + 'static {
    type Output: Send + 'static;

    fn run(
        &self,
        connection: &mut Connection<'_>,
    ) -> impl Future<Output = Result<Self::Output, StoreError>> + Send;

    /// What readers hear once it is kept.
    fn changes(&self, _output: &Self::Output) -> Vec<Heard> {
        Vec::new()
    }
}

#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Database {
    pub(crate) async fn open(
        url: &str,
        options: OpenOptions,
        changes: Changes,
    ) -> Result<Self, OpenError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            // SQLite takes no name, and this one, for a database that ends with the process.
            if path.is_empty() || path == ":memory:" {
                return Err(OpenError::UnknownUrl { url: url.to_owned() });
            }
            return Ok(Self::Sqlite(Sqlite::open(Path::new(path), options, changes).await?));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(Postgres::open(url, options, changes).await?));
        }
        Err(OpenError::UnknownUrl { url: without_password(url) })
    }

    pub(crate) const fn choose(&self, sql: Sql) -> &'static str {
        match self {
            Self::Sqlite(_) => sql.sqlite,
            Self::Postgres(_) => sql.postgres,
        }
    }

    /// Runs `operation` in a transaction of its own.
    pub(crate) async fn write<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.write(operation).await,
            Self::Postgres(postgres) => postgres.write(&operation).await,
        }
    }

    /// All rows of one statement that changes nothing.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite(sqlite) => {
                let mut reader = sqlite.readers().acquire().await?;
                Connection::sqlite(&mut reader).rows(sql, values).await
            }
            Self::Postgres(postgres) => postgres.rows(sql, values).await,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Postgres(postgres) => postgres.close().await,
        }
    }
}

/// A mistyped address may hold a password anywhere: then only its beginning is repeated.
fn without_password(url: &str) -> String {
    if !url.contains(['@', '?', '=']) {
        return url.to_owned();
    }
    match url.split_once(':') {
        Some((scheme, _)) if scheme.chars().all(char::is_alphanumeric) => format!("{scheme}:…"),
        Some(_) | None => "…".to_owned(),
    }
}

/// Says in our words why the tables could not be brought to this version.
#[expect(clippy::wildcard_enum_match_arm, reason = "sqlx may add more, and all are told alike")]
fn migration_error(error: sqlx::migrate::MigrateError) -> OpenError {
    use sqlx::migrate::MigrateError;
    match error {
        MigrateError::VersionMissing(found) | MigrateError::VersionTooNew(found, _) => {
            OpenError::Newer { found }
        }
        MigrateError::VersionMismatch(found) => OpenError::Altered { found },
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            OpenError::Store(error.into())
        }
        other => OpenError::Migration(other),
    }
}
