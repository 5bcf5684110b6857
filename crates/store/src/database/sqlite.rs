//! SQLite: one writer that gathers, many readers.
//!
//! ```text
//!  write() ──▶ queue ──▶ writer: BEGIN · op · op · op · COMMIT (one flush to disk) ──▶ each caller's answer
//! ```
//!
//! A flush to disk takes milliseconds on an ordinary machine, so operations that arrive while one is
//! under way share the next. Each runs in a savepoint of its own: one that fails takes nobody along.
//! Callers hear of success only after the commit.

use std::path::Path;

use futures::future::BoxFuture;
use sqlx::{
    Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
};

use super::{Connection, Operation, migration_error, migrations};
use crate::{OpenError, OpenOptions, StoreError, changes::Changes};

/// How many operations may share one commit.
const GATHERED: usize = 256;
const READERS: u32 = 4;
/// Statements that are kept prepared: those that go out together count as one.
const STATEMENTS: usize = 512;
/// Pages that each connection keeps, in KiB with a minus before it, as SQLite wants it: what it would keep by itself, 2 MiB for each, is what a server
/// grows by while it works, and the kernel has the pages too.
const KEPT: &str = "-512";

#[derive(Debug)]
pub(crate) struct Sqlite {
    readers: SqlitePool,
    jobs: Mutex<Option<mpsc::Sender<Box<dyn Job>>>>,
    sender: mpsc::WeakSender<Box<dyn Job>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    changes: Changes,
}

impl Sqlite {
    pub(crate) async fn open(
        path: &Path,
        options: OpenOptions,
        changes: Changes,
    ) -> Result<Self, OpenError> {
        let patience = options.patience;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(patience)
            .foreign_keys(true)
            .pragma("cache_size", KEPT)
            .statement_cache_capacity(STATEMENTS);
        let mut connection =
            SqliteConnection::connect_with(&options).await.map_err(StoreError::from)?;
        migrations::sqlite().run(&mut connection).await.map_err(migration_error)?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(StoreError::from)?;
        let (jobs, waiting) = mpsc::channel(GATHERED);
        let sender = jobs.downgrade();
        #[expect(clippy::disallowed_methods, reason = "`close` waits for it")]
        let writer = tokio::spawn(write_until_closed(connection, waiting));
        Ok(Self {
            readers,
            jobs: Mutex::new(Some(jobs)),
            sender,
            writer: Mutex::new(Some(writer)),
            changes,
        })
    }

    pub(crate) const fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    pub(crate) async fn write<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Waiting { operation, answer, changes: self.changes.clone() });
        let jobs = self.sender.upgrade().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_closed| StoreError::Closed)?;
        drop(jobs);
        answered.await.map_err(|_closed| StoreError::Closed)?
    }

    pub(crate) async fn close(&self) {
        drop(self.jobs.lock().await.take());
        // The writer goes last: it brings the journal home into the database.
        self.readers.close().await;
        let writer = self.writer.lock().await.take();
        if let Some(writer) = writer {
            drop(writer.await);
        }
    }
}

/// An operation whose caller waits for the answer.
struct Waiting<O: Operation> {
    operation: O,
    answer: oneshot::Sender<Result<O::Output, StoreError>>,
    changes: Changes,
}

trait Job: Send {
    fn run(self: Box<Self>, connection: &mut SqliteConnection) -> BoxFuture<'_, Ran>;
    fn refuse(self: Box<Self>, error: StoreError);
}

/// What a job left behind.
struct Ran {
    settle: Settlement,
    transaction: Transaction,
}

/// What to answer once it is known whether the commit held.
type Settlement = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Whether the transaction that the jobs share still stands. SQLite ends it by itself when the disk is
/// full or fails; what runs afterwards would be kept without anybody knowing.
enum Transaction {
    Stands,
    Gone(StoreError),
}

impl<O: Operation> Job for Waiting<O> {
    fn run(self: Box<Self>, connection: &mut SqliteConnection) -> BoxFuture<'_, Ran> {
        Box::pin(async move {
            let Self { operation, answer, changes } = *self;
            let (outcome, transaction) = in_savepoint(&operation, connection).await;
            let settle: Settlement = Box::new(move |commit| {
                let outcome = commit.and(outcome);
                if let Ok(output) = &outcome {
                    operation.changes(output).into_iter().for_each(|heard| changes.tell(heard));
                }
                // Nobody waits any more: the caller gave up, the operation is kept all the same.
                drop(answer.send(outcome));
            });
            Ran { settle, transaction }
        })
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        drop(self.answer.send(Err(error)));
    }
}

async fn in_savepoint<O: Operation>(
    operation: &O,
    connection: &mut SqliteConnection,
) -> (Result<O::Output, StoreError>, Transaction) {
    let outcome = in_open_savepoint(operation, connection).await;
    let Err(error) = &outcome else { return (outcome, Transaction::Stands) };
    let undone = match execute(connection, "ROLLBACK TO one").await {
        Ok(()) => execute(connection, "RELEASE one").await,
        Err(_no_savepoint) => Err(error.clone()),
    };
    match undone {
        Ok(()) => (outcome, Transaction::Stands),
        Err(error) => (outcome, Transaction::Gone(error)),
    }
}

/// The savepoint's beginning and end travel with the first and the last statement of the operation.
async fn in_open_savepoint<O: Operation>(
    operation: &O,
    connection: &mut SqliteConnection,
) -> Result<O::Output, StoreError> {
    let mut connection = Connection::sqlite(connection);
    connection.later("SAVEPOINT one", Vec::new());
    let output = operation.run(&mut connection).await?;
    connection.later("RELEASE one", Vec::new());
    connection.flush().await?;
    Ok(output)
}

async fn execute(
    connection: &mut SqliteConnection,
    statement: &'static str,
) -> Result<(), StoreError> {
    sqlx::query(statement).execute(connection).await?;
    Ok(())
}

async fn write_until_closed(
    mut connection: SqliteConnection,
    mut waiting: mpsc::Receiver<Box<dyn Job>>,
) {
    while let Some(first) = waiting.recv().await {
        write_gathered(&mut connection, first, &mut waiting).await;
    }
    // What is still in the journal goes home into the database, so that one file is all of it. If it
    // cannot, the journal stays beside it and is read when the database is opened.
    drop(execute(&mut connection, "PRAGMA wal_checkpoint(TRUNCATE)").await);
    drop(connection.close().await);
}

async fn write_gathered(
    connection: &mut SqliteConnection,
    first: Box<dyn Job>,
    waiting: &mut mpsc::Receiver<Box<dyn Job>>,
) {
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE").await {
        first.refuse(error);
        // If an earlier transaction could not be ended, it is ended now.
        drop(execute(connection, "ROLLBACK").await);
        return;
    }
    let mut settlements = Vec::new();
    let mut next = Some(first);
    let mut kept = Ok(());
    while let Some(job) = next.take() {
        let Ran { settle, transaction } = job.run(connection).await;
        settlements.push(settle);
        match transaction {
            Transaction::Stands if settlements.len() < GATHERED => next = waiting.try_recv().ok(),
            Transaction::Stands => {}
            Transaction::Gone(error) => kept = Err(error),
        }
    }
    if kept.is_ok() {
        kept = execute(connection, "COMMIT").await;
    }
    if kept.is_err() {
        // A full disk may already have ended the transaction; then there is nothing to roll back.
        drop(execute(connection, "ROLLBACK").await);
    }
    for settle in settlements {
        settle(kept.clone());
    }
}
