//! SQLite: one writer that gathers, many readers.
//!
//! ```text
//!  write() ──▶ queue ──▶ writer: BEGIN · op · op · op · COMMIT (one flush to disk) ──▶ each caller's answer
//! ```
//!
//! A flush to disk takes milliseconds on an ordinary machine, so operations that arrive while one is
//! under way share the next. Each runs in a savepoint of its own: one that fails takes nobody along.
//! Callers hear of success only after the commit.

use std::{path::Path, time::Duration};

use futures::future::BoxFuture;
use sqlx::{
    Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
};

use super::{Connection, Operation, migration_error};
use crate::{OpenError, StoreError};

/// How many operations may share one commit.
const GATHERED: usize = 256;
const READERS: u32 = 4;

#[derive(Debug)]
pub(crate) struct Sqlite {
    readers: SqlitePool,
    jobs: Mutex<Option<mpsc::Sender<Box<dyn Job>>>>,
    sender: mpsc::WeakSender<Box<dyn Job>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Sqlite {
    pub(crate) async fn open(path: &Path) -> Result<Self, OpenError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .foreign_keys(true);
        let mut connection =
            SqliteConnection::connect_with(&options).await.map_err(StoreError::from)?;
        let migrations = sqlx::migrate!("migrations/sqlite");
        migrations.run(&mut connection).await.map_err(migration_error)?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(StoreError::from)?;
        let (jobs, waiting) = mpsc::channel(GATHERED);
        let sender = jobs.downgrade();
        #[expect(clippy::disallowed_methods, reason = "`close` waits for it")]
        let writer = tokio::spawn(write_until_closed(connection, waiting));
        Ok(Self { readers, jobs: Mutex::new(Some(jobs)), sender, writer: Mutex::new(Some(writer)) })
    }

    pub(crate) const fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    pub(crate) async fn write<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Waiting { operation, answer });
        let jobs = self.sender.upgrade().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_closed| StoreError::Closed)?;
        drop(jobs);
        answered.await.map_err(|_closed| StoreError::Closed)?
    }

    pub(crate) async fn close(&self) {
        drop(self.jobs.lock().await.take());
        let writer = self.writer.lock().await.take();
        if let Some(writer) = writer {
            drop(writer.await);
        }
        self.readers.close().await;
    }
}

/// An operation whose caller waits for the answer.
struct Waiting<O: Operation> {
    operation: O,
    answer: oneshot::Sender<Result<O::Output, StoreError>>,
}

trait Job: Send {
    fn run(self: Box<Self>, connection: &mut SqliteConnection) -> BoxFuture<'_, Settlement>;
    fn refuse(self: Box<Self>, error: StoreError);
}

/// What to answer once it is known whether the commit held.
type Settlement = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

impl<O: Operation> Job for Waiting<O> {
    fn run(self: Box<Self>, connection: &mut SqliteConnection) -> BoxFuture<'_, Settlement> {
        Box::pin(async move {
            let Self { operation, answer } = *self;
            let outcome = in_savepoint(&operation, connection).await;
            let settle: Settlement = Box::new(move |commit| {
                // Nobody waits any more: the caller gave up, the operation is kept all the same.
                drop(answer.send(commit.and(outcome)));
            });
            settle
        })
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        drop(self.answer.send(Err(error)));
    }
}

async fn in_savepoint<O: Operation>(
    operation: &O,
    connection: &mut SqliteConnection,
) -> Result<O::Output, StoreError> {
    sqlx::query("SAVEPOINT one").execute(&mut *connection).await?;
    let outcome = operation.run(&mut Connection::Sqlite(connection)).await;
    if outcome.is_err() {
        sqlx::query("ROLLBACK TO one").execute(&mut *connection).await?;
    }
    sqlx::query("RELEASE one").execute(&mut *connection).await?;
    outcome
}

async fn write_until_closed(
    mut connection: SqliteConnection,
    mut waiting: mpsc::Receiver<Box<dyn Job>>,
) {
    while let Some(first) = waiting.recv().await {
        write_gathered(&mut connection, first, &mut waiting).await;
    }
    drop(connection.close().await);
}

async fn write_gathered(
    connection: &mut SqliteConnection,
    first: Box<dyn Job>,
    waiting: &mut mpsc::Receiver<Box<dyn Job>>,
) {
    if let Err(error) = sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await {
        first.refuse(error.into());
        return;
    }
    let mut settlements = vec![first.run(connection).await];
    while settlements.len() < GATHERED {
        let Ok(next) = waiting.try_recv() else { break };
        settlements.push(next.run(connection).await);
    }
    let commit = sqlx::query("COMMIT").execute(&mut *connection).await;
    let commit = commit.map(|_done| ()).map_err(StoreError::from);
    if commit.is_err() {
        // A full disk may already have ended the transaction; then there is nothing to roll back.
        drop(sqlx::query("ROLLBACK").execute(&mut *connection).await);
    }
    for settle in settlements {
        settle(commit.clone());
    }
}
