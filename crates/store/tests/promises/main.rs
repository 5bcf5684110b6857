//! What the store promises, shown on SQLite and on a real PostgreSQL.
//!
//! A promise is an `async fn` that takes a [`home::Home`], which is a database of its own. [`on_both`]
//! makes of each a test on SQLite, and of each group one test on PostgreSQL, whose server is started
//! once and has a new database for each promise.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "all of this is a test, also what is not marked as one"
)]

/// Names each promise twice: `sqlite::the_promise`, and as a part of `postgres_keeps_them_too`.
macro_rules! on_both {
    ($($promise:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::$promise(crate::home::Home::sqlite().await).await;
            })+
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn postgres_keeps_them_too() {
            let server = testkit::postgres::Postgres::start().unwrap();
            $(
                println!("postgres: {}", stringify!($promise));
                $promise(crate::home::Home::postgres(&server, stringify!($promise)).await).await;
            )+
        }
    };
}

mod append;
mod audit;
mod backup;
mod blobs;
mod changes;
mod disk;
mod home;
mod life;
mod lists;
mod opening;
mod outbox;
mod queue;
mod random;
mod server;
mod transcript;
