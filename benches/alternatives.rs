//! What one would write instead of our store, measured in the same run.
//!
//! Both keep the events and nothing else: no view, no outbox, no audit log. They are what "just write
//! it down" costs when it must survive a power cut.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use sqlx::{
    Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tempfile::TempDir;

use crate::append::Rate;

/// As long as the average event of a task's life is when it is stored.
const BODY: &str = r#"{"request":{"text":"fix the flaky login test: it fails about once in twenty runs, always after lunch","author":"u_00000000000000000000000001","source":{"channel":"cli","thread":"terminal"}}}"#;

/// Appends a line, and flushes it.
pub fn json_lines(directory: &TempDir, time: Duration) -> anyhow::Result<Rate> {
    let mut file = fs_err::File::create(directory.path().join("events.jsonl"))?;
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        let one = Instant::now();
        let seq = times.len();
        writeln!(
            file,
            "{{\"task\":\"t_1\",\"seq\":{seq},\"kind\":\"requested\",\"body\":{BODY}}}"
        )?;
        file.sync_data()?;
        times.push(one.elapsed());
    }
    Ok(Rate::of(times, begun.elapsed()))
}

/// Inserts a row in a transaction of its own, as safe as ours (`WAL`, `synchronous=FULL`).
pub async fn plain_sqlite(directory: &TempDir, time: Duration) -> anyhow::Result<Rate> {
    let options = SqliteConnectOptions::new()
        .filename(directory.path().join("events.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let table = "CREATE TABLE events (task TEXT, seq BIGINT, kind TEXT, body TEXT, \
                 PRIMARY KEY (task, seq))";
    sqlx::query(table).execute(&mut connection).await?;
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        let one = Instant::now();
        let insert =
            "INSERT INTO events (task, seq, kind, body) VALUES ('t_1', $1, 'requested', $2)";
        let seq = i64::try_from(times.len()).unwrap_or(i64::MAX);
        sqlx::query(insert).bind(seq).bind(BODY).execute(&mut connection).await?;
        times.push(one.elapsed());
    }
    let rate = Rate::of(times, begun.elapsed());
    connection.close().await?;
    Ok(rate)
}
