//! PostgreSQL: many writers, and readers in other processes who are told by `NOTIFY`.

use std::{str::FromStr, time::Duration};

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{sync::Mutex, task::JoinHandle};

use super::{Connection, Operation, migration_error};
use crate::{
    OpenError, StoreError,
    changes::{Change, Changes},
};

const CONNECTIONS: u32 = 16;
/// How often a write is tried when the database itself asks for it (deadlock, serialization).
const TRIES: usize = 5;

#[derive(Debug)]
pub(crate) struct Postgres {
    pool: PgPool,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl Postgres {
    pub(crate) async fn open(url: &str, changes: Changes) -> Result<Self, OpenError> {
        let options = PgConnectOptions::from_str(url).map_err(StoreError::from)?;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options)
            .await
            .map_err(StoreError::from)?;
        sqlx::migrate!("migrations/postgres").run(&pool).await.map_err(migration_error)?;
        let mut listener = PgListener::connect_with(&pool).await.map_err(StoreError::from)?;
        listener.listen("lamp_changes").await.map_err(StoreError::from)?;
        #[expect(clippy::disallowed_methods, reason = "`close` ends it and waits")]
        let listener = tokio::spawn(pass_on(listener, changes));
        Ok(Self { pool, listener: Mutex::new(Some(listener)) })
    }

    pub(crate) const fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) async fn write<O: Operation>(&self, operation: &O) -> Result<O::Output, StoreError> {
        let mut tries = 1;
        loop {
            match self.write_once(operation).await {
                Err(StoreError::Locked(_)) if tries < TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn write_once<O: Operation>(&self, operation: &O) -> Result<O::Output, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let output = operation.run(&mut Connection::Postgres(&mut transaction)).await?;
        transaction.commit().await?;
        Ok(output)
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

/// Passes on what other processes wrote. A lost connection is made again by the listener itself;
/// what was missed meanwhile, readers find when they look, since they never rely on being told.
async fn pass_on(mut listener: PgListener, changes: Changes) {
    loop {
        match listener.recv().await {
            Ok(message) => {
                if let Some(change) = Change::parse(message.payload()) {
                    changes.tell(change);
                }
            }
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot hear of changes; looking regularly instead");
                #[expect(clippy::disallowed_methods, reason = "a pause before dialling again")]
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}
