//! PostgreSQL: many writers, and readers in other processes who are told by `NOTIFY`.

use std::{future::Future, str::FromStr, time::Duration};

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{sync::Mutex, task::JoinHandle};

use super::{Connection, Operation, Row, Value, migration_error, migrations};
use crate::{
    OpenError, OpenOptions, StoreError,
    changes::{Changes, Heard},
};

const CONNECTIONS: u32 = 16;
/// How often a write is tried when the database itself asks for it (deadlock, serialization).
const TRIES: usize = 5;
/// A server that has vanished in the middle of a transaction keeps nobody waiting for longer.
const LONGEST_SILENCE: &str = "3s";
const PAUSE_BEFORE_DIALLING: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Postgres {
    pool: PgPool,
    listener: Mutex<Option<JoinHandle<()>>>,
    /// How long an answer may take before the network is taken for broken.
    limit: Duration,
}

impl Postgres {
    pub(crate) async fn open(
        url: &str,
        options: OpenOptions,
        changes: Changes,
    ) -> Result<Self, OpenError> {
        let patience = options.patience;
        let options = PgConnectOptions::from_str(url).map_err(StoreError::from)?.options([
            ("lock_timeout", format!("{}ms", patience.as_millis())),
            ("idle_in_transaction_session_timeout", LONGEST_SILENCE.to_owned()),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(patience)
            .connect_with(options)
            .await
            .map_err(StoreError::from)?;
        migrations::postgres().run(&pool).await.map_err(migration_error)?;
        let listener = dial(&pool).await.map_err(StoreError::from)?;
        #[expect(clippy::disallowed_methods, reason = "`close` ends it and waits")]
        let listener = tokio::spawn(pass_on(listener, pool.clone(), changes));
        // Waiting for a connection and for a lock come before the answer.
        let limit = patience.saturating_mul(4);
        Ok(Self { pool, listener: Mutex::new(Some(listener)), limit })
    }

    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.in_time(async {
            let mut reader = self.pool.acquire().await?;
            Connection::postgres(&mut reader).rows(sql, values).await
        })
        .await
    }

    pub(crate) async fn write<O: Operation>(&self, operation: &O) -> Result<O::Output, StoreError> {
        let mut tries = 1;
        loop {
            match self.in_time(self.write_once(operation)).await {
                Err(error) if error.asks_for_another_try() && tries < TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn write_once<O: Operation>(&self, operation: &O) -> Result<O::Output, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let mut connection = Connection::postgres(&mut transaction);
        let output = operation.run(&mut connection).await?;
        connection.flush().await?;
        transaction.commit().await?;
        Ok(output)
    }

    /// A network that swallows everything gives no error. The caller holds leases and must know.
    async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        tokio::time::timeout(self.limit, answer).await.unwrap_or_else(|_elapsed| {
            let silence = std::io::Error::from(std::io::ErrorKind::TimedOut);
            Err(sqlx::Error::Io(silence).into())
        })
    }

    pub(crate) async fn close(&self) {
        let listener = self.listener.lock().await.take();
        if let Some(listener) = listener {
            listener.abort();
            drop(listener.await);
        }
        self.pool.close().await;
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A store that was dropped without `close` must not keep listening.
        if let Some(listener) = self.listener.get_mut().take() {
            listener.abort();
        }
    }
}

async fn dial(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    // We dial again ourselves, to know when we hear again.
    listener.eager_reconnect(false);
    listener.listen("lamp_changes").await?;
    Ok(listener)
}

/// Passes on what all processes wrote. When the connection was lost and made again, every reader is
/// told that something may have been missed.
async fn pass_on(mut listener: PgListener, pool: PgPool, changes: Changes) {
    loop {
        while let Ok(Some(message)) = listener.try_recv().await {
            if let Some(heard) = Heard::parse(message.payload()) {
                changes.tell(heard);
            }
        }
        listener = loop {
            match dial(&pool).await {
                Ok(listener) => break listener,
                Err(sqlx::Error::PoolClosed) => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot hear of changes; looking regularly instead");
                    #[expect(clippy::disallowed_methods, reason = "a pause before dialling again")]
                    tokio::time::sleep(PAUSE_BEFORE_DIALLING).await;
                }
            }
        };
        changes.tell_of_a_gap();
    }
}
