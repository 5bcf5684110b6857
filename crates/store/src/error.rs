//! Why the store could not do what was asked.
//!
//! The variant answers the caller's next question: try again with fresh facts, try again later, or
//! tell a person. What happened underneath stays in `source`.

use std::{path::PathBuf, sync::Arc};

use domain::id::TaskId;

use crate::stored;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Read the task again, decide again.
    #[error("task {task} has moved on since it was read")]
    Conflict { task: TaskId },

    #[error("there is no task {task}")]
    NoTask { task: TaskId },

    #[error("task {task} exists already")]
    Exists { task: TaskId },

    #[error("task {task} names no repository")]
    NoRepository { task: TaskId },

    /// Another driver has the step now, or nobody needs it any more. Drop the outcome.
    #[error("the lease on this step is lost")]
    LeaseLost,

    #[error("the database is locked by another process; close it, or wait until it is done")]
    Locked(#[source] Arc<sqlx::Error>),

    #[error("the disk that holds the database is full; nothing was written")]
    DiskFull(#[source] Arc<sqlx::Error>),

    #[error("the database cannot be reached")]
    Unreachable(#[source] Arc<sqlx::Error>),

    #[error("the database holds something that this version of lamp cannot read: {what}")]
    Unreadable { what: String },

    #[error("the database file is damaged, or is no database; restore it from a backup")]
    Damaged(#[source] Arc<sqlx::Error>),

    #[error("the database did not do what was asked")]
    Database(#[source] Arc<sqlx::Error>),

    #[error("the store is closed")]
    Closed,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("`{url}` is not a database that lamp knows; write `sqlite:PATH` or `postgres://…`")]
    UnknownUrl { url: String },

    #[error(
        "the database was written by a newer lamp (its version {found} is unknown here); upgrade this one, or restore a backup"
    )]
    Newer { found: i64 },

    #[error(
        "the database's version {found} differs from the one this lamp knows; it was changed by hand, or by a test build"
    )]
    Altered { found: i64 },

    #[error(
        "another lamp server already uses `{path}`; stop it first, or use PostgreSQL for several servers"
    )]
    InUse { path: PathBuf },

    #[error("cannot use `{path}` to keep data")]
    Directory {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    #[error("cannot bring the database to this version")]
    Migration(#[source] sqlx::migrate::MigrateError),

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoreError {
    /// Whether the same call may well succeed a little later.
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::Locked(_) | Self::DiskFull(_) | Self::Unreachable(_) => true,
            Self::Conflict { .. }
            | Self::NoTask { .. }
            | Self::Exists { .. }
            | Self::NoRepository { .. }
            | Self::LeaseLost
            | Self::Unreadable { .. }
            | Self::Damaged(_)
            | Self::Database(_)
            | Self::Closed => false,
        }
    }

    /// Whether PostgreSQL gave up on one of several writers and wants it to begin again.
    pub(crate) fn asks_for_another_try(&self) -> bool {
        let Self::Locked(source) = self else { return false };
        let code = source.as_database_error().and_then(sqlx::error::DatabaseError::code);
        matches!(code.as_deref(), Some(DEADLOCK | SERIALIZATION))
    }
}

const DEADLOCK: &str = "40P01";
const SERIALIZATION: &str = "40001";

const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;
const SQLITE_IOERR: i32 = 10;
const SQLITE_FULL: i32 = 13;
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_CANTOPEN: i32 = 14;
const SQLITE_NOTADB: i32 = 26;
/// A write that the disk refused (a quota, for one), as an extended code: `SQLITE_IOERR | (n << 8)`.
const SQLITE_IOERR_WRITE: i32 = SQLITE_IOERR | (3 << 8);
/// The file beside the database that its readers share could not grow.
const SQLITE_IOERR_SHMSIZE: i32 = SQLITE_IOERR | (19 << 8);

impl From<sqlx::Error> for StoreError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "sqlx may add more, and all are told alike")]
    fn from(error: sqlx::Error) -> Self {
        let error = Arc::new(error);
        match &*error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => Self::Unreachable(error),
            sqlx::Error::PoolClosed => Self::Closed,
            sqlx::Error::Database(reported) => {
                let code = reported.code().unwrap_or_default().into_owned();
                Self::from_code(&code, error)
            }
            _other => Self::Database(error),
        }
    }
}

impl StoreError {
    fn from_code(code: &str, error: Arc<sqlx::Error>) -> Self {
        match code.parse::<i32>() {
            Ok(SQLITE_IOERR_WRITE | SQLITE_IOERR_SHMSIZE) => return Self::DiskFull(error),
            Ok(number) if code.len() <= 4 => match number & 0xff {
                SQLITE_BUSY | SQLITE_LOCKED => return Self::Locked(error),
                SQLITE_FULL => return Self::DiskFull(error),
                SQLITE_CANTOPEN => return Self::Unreachable(error),
                SQLITE_CORRUPT | SQLITE_NOTADB => return Self::Damaged(error),
                _other => {}
            },
            Ok(_) | Err(_) => {}
        }
        match code {
            // PostgreSQL: disk_full; lock_not_available.
            "53100" => Self::DiskFull(error),
            "55P03" | DEADLOCK | SERIALIZATION => Self::Locked(error),
            // Shutting down, starting up, out of memory, too many connections, we were silent for too
            // long, a replica that cannot be written.
            "57P01" | "57P02" | "57P03" | "53200" | "53300" | "25P03" | "25006" => {
                Self::Unreachable(error)
            }
            // The connection is gone.
            gone if gone.starts_with("08") => Self::Unreachable(error),
            _other => Self::Database(error),
        }
    }
}

impl From<stored::Unreadable> for StoreError {
    fn from(unreadable: stored::Unreadable) -> Self {
        let cause = std::error::Error::source(&unreadable).map(|cause| format!(": {cause}"));
        Self::Unreadable { what: format!("{unreadable}{}", cause.unwrap_or_default()) }
    }
}
