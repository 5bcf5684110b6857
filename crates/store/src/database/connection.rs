//! One connection, of either kind, with the four things that we ask of it.

use std::fmt::Write as _;

use sqlx::{
    AssertSqlSafe, Database, Encode, PgConnection, Row as _, SqliteConnection, Type,
    postgres::PgRow, query::Query, sqlite::SqliteRow,
};

use crate::StoreError;

#[derive(Debug)]
pub(crate) struct Connection<'c> {
    wire: Wire<'c>,
    /// What was said to be done [`Connection::later`], in order.
    later: Vec<Statement>,
}

#[derive(Debug)]
enum Wire<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

#[derive(Debug)]
struct Statement {
    sql: &'static str,
    values: Vec<Value<'static>>,
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

/// A count as a parameter.
pub(crate) fn number(count: u64) -> Value<'static> {
    Value::Number(i64::try_from(count).unwrap_or(i64::MAX))
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

impl<'c> Connection<'c> {
    pub(crate) const fn sqlite(connection: &'c mut SqliteConnection) -> Self {
        Self { wire: Wire::Sqlite(connection), later: Vec::new() }
    }

    pub(crate) const fn postgres(connection: &'c mut PgConnection) -> Self {
        Self { wire: Wire::Postgres(connection), later: Vec::new() }
    }

    /// A statement whose answer nobody needs. It goes out with the next one that has to be waited for:
    /// for SQLite every call is a trip to another thread and back, which costs more than the statement.
    pub(crate) fn later(&mut self, sql: &'static str, values: Vec<Value<'static>>) {
        self.later.push(Statement { sql, values });
    }

    /// Does all that was to be done later.
    pub(crate) async fn flush(&mut self) -> Result<(), StoreError> {
        let Some(last) = self.later.pop() else { return Ok(()) };
        self.rows(last.sql, &last.values).await.map(|_nothing| ())
    }

    /// How many rows the statement changed.
    pub(crate) async fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        self.flush().await?;
        Ok(match &mut self.wire {
            Wire::Sqlite(connection) => {
                let query = bound(sqlx::query(sql), values);
                query.execute(&mut **connection).await?.rows_affected()
            }
            Wire::Postgres(connection) => {
                let query = bound(sqlx::query(sql), values);
                query.execute(&mut **connection).await?.rows_affected()
            }
        })
    }

    pub(crate) async fn rows(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let before = std::mem::take(&mut self.later);
        Ok(match &mut self.wire {
            Wire::Sqlite(connection) if before.is_empty() => {
                let rows = bound(sqlx::query(sql), values).fetch_all(&mut **connection).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Wire::Sqlite(connection) => {
                let text = joined(&before, sql);
                let query = sqlx::query(AssertSqlSafe(text));
                let query = before.iter().fold(query, |query, it| bound(query, &it.values));
                let rows = bound(query, values).fetch_all(&mut **connection).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Wire::Postgres(connection) => {
                for Statement { sql, values } in &before {
                    bound(sqlx::query(*sql), values).execute(&mut **connection).await?;
                }
                let rows = bound(sqlx::query(sql), values).fetch_all(&mut **connection).await?;
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
        match &self.wire {
            Wire::Sqlite(_) => sql.sqlite,
            Wire::Postgres(_) => sql.postgres,
        }
    }

    /// Tells whoever listens, once the transaction is kept.
    pub(crate) fn notify(&mut self, message: String) {
        match &self.wire {
            // One process owns the file; it tells its own readers after the commit.
            Wire::Sqlite(_) => {}
            Wire::Postgres(_) => {
                self.later("SELECT pg_notify('lamp_changes', $1)", vec![Value::Owned(message)]);
            }
        }
    }
}

/// Binds the values of one statement.
fn bound<'q, DB>(
    query: Query<'q, DB, DB::Arguments>,
    values: &[Value<'_>],
) -> Query<'q, DB, DB::Arguments>
where
    DB: Database,
    String: Encode<'q, DB> + Type<DB> + 'q,
    i64: Encode<'q, DB> + Type<DB> + 'q,
    Option<String>: Encode<'q, DB> + Type<DB> + 'q,
    Option<i64>: Encode<'q, DB> + Type<DB> + 'q,
{
    values.iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind((*text).to_owned()),
        Value::Owned(text) => query.bind(text.clone()),
        Value::Number(number) => query.bind(*number),
        Value::MaybeText(text) => query.bind(text.clone()),
        Value::MaybeNumber(number) => query.bind(*number),
    })
}

/// Several statements as one text, their parameters counted through. All of it is text of ours.
fn joined(before: &[Statement], last: &str) -> String {
    let mut text = String::new();
    let mut bound = 0;
    for statement in before {
        renumbered(statement.sql, bound, &mut text);
        text.push_str("; ");
        bound += statement.values.len();
    }
    renumbered(last, bound, &mut text);
    text
}

/// Appends `sql` to `text`, with `$1` written as `$(1 + by)`.
fn renumbered(sql: &str, by: usize, text: &mut String) {
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number: usize = number.parse().unwrap_or_default();
        // Writing to a string does not fail.
        let _written = write!(text, "${}{rest}", number + by);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_go_out_together_keep_their_own_values() {
        let first = Statement {
            sql: "INSERT INTO a VALUES ($1, $2)",
            values: vec![Value::Number(1), Value::Number(2)],
        };
        assert_eq!(
            joined(&[first], "UPDATE b SET c = $2 WHERE d = $1 AND e = $12"),
            "INSERT INTO a VALUES ($1, $2); UPDATE b SET c = $4 WHERE d = $3 AND e = $14"
        );
    }
}
