//! One connection, of either kind, with the four things that we ask of it.

use sqlx::{PgConnection, SqliteConnection, postgres::PgRow, sqlite::SqliteRow};
use sqlx::{Row as _, postgres::PgArguments, sqlite::SqliteArguments};

use crate::StoreError;

#[derive(Debug)]
pub(crate) enum Connection<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// A parameter of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Value<'v> {
    Text(&'v str),
    Owned(String),
    Number(i64),
    MaybeText(Option<String>),
    MaybeNumber(Option<i64>),
}

/// A row of an answer. A column that is missing or of another type is our mistake, and an error.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// A statement that the two databases want in different words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Connection<'_> {
    pub(crate) async fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        Ok(match self {
            Self::Sqlite(connection) => {
                sqlite_query(sql, values).execute(&mut **connection).await?.rows_affected()
            }
            Self::Postgres(connection) => {
                postgres_query(sql, values).execute(&mut **connection).await?.rows_affected()
            }
        })
    }

    pub(crate) async fn rows(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        Ok(match self {
            Self::Sqlite(connection) => {
                let rows = sqlite_query(sql, values).fetch_all(&mut **connection).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Self::Postgres(connection) => {
                let rows = postgres_query(sql, values).fetch_all(&mut **connection).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn row(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    pub(crate) const fn choose(&self, sql: Sql) -> &'static str {
        match self {
            Self::Sqlite(_) => sql.sqlite,
            Self::Postgres(_) => sql.postgres,
        }
    }

    /// Tells whoever listens, once the transaction is kept.
    pub(crate) async fn notify(&mut self, message: &str) -> Result<(), StoreError> {
        match self {
            // One process owns the file; it tells its own readers after the commit.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(_) => {
                let sql = "SELECT pg_notify('lamp_changes', $1)";
                self.rows(sql, &[Value::Text(message)]).await.map(|_told| ())
            }
        }
    }
}

fn sqlite_query<'q>(
    sql: &'static str,
    values: &'q [Value<'_>],
) -> sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Text(text) => query.bind((*text).to_owned()),
        Value::Owned(text) => query.bind(text.clone()),
        Value::Number(number) => query.bind(*number),
        Value::MaybeText(text) => query.bind(text.clone()),
        Value::MaybeNumber(number) => query.bind(*number),
    })
}

fn postgres_query<'q>(
    sql: &'static str,
    values: &'q [Value<'_>],
) -> sqlx::query::Query<'q, sqlx::Postgres, PgArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Text(text) => query.bind((*text).to_owned()),
        Value::Owned(text) => query.bind(text.clone()),
        Value::Number(number) => query.bind(*number),
        Value::MaybeText(text) => query.bind(text.clone()),
        Value::MaybeNumber(number) => query.bind(*number),
    })
}

macro_rules! columns {
    ($($getter:ident -> $type:ty;)+) => {
        impl Row {$(
            pub(crate) fn $getter(&self, column: &'static str) -> Result<$type, StoreError> {
                Ok(match self {
                    Self::Sqlite(row) => row.try_get(column)?,
                    Self::Postgres(row) => row.try_get(column)?,
                })
            }
        )+}
    };
}

columns! {
    text -> String;
    number -> i64;
    maybe_text -> Option<String>;
    maybe_number -> Option<i64>;
}

impl Row {
    /// A text that must parse: an id, a hash, a name.
    pub(crate) fn parsed<T: std::str::FromStr>(
        &self,
        column: &'static str,
    ) -> Result<T, StoreError> {
        let text = self.text(column)?;
        text.parse().map_err(|_wrong| StoreError::Unreadable { what: format!("{column} `{text}`") })
    }
}
