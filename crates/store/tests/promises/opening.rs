//! Why a store could not be opened: a sentence that says what to do, and nothing that must stay secret.

use std::{error::Error, time::Duration};

use fs_err as fs;
use sqlx::Executor as _;
use store::{DataDirectory, OpenError, OpenOptions, StoreError};

use crate::{
    home::Home,
    life::{Life, beginning, id, request, requested},
};

on_both!(
    a_database_of_a_newer_lamp_is_refused,
    a_database_that_was_altered_is_refused,
    what_was_written_is_there_after_opening_again,
    a_closed_store_says_so,
);

const SHORT: OpenOptions =
    OpenOptions { patience: Duration::from_millis(200), ..OpenOptions::DEFAULT };

/// The whole chain, as a person would see it.
fn told(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        told = format!("{told}: {cause}");
        source = cause.source();
    }
    told
}

async fn refusal(url: &str, place: &DataDirectory) -> OpenError {
    store::open_with(url, place, SHORT).await.expect_err(url)
}

async fn a_database_of_a_newer_lamp_is_refused(home: Home) {
    Life::begin(&home.store, 1, 0).await;
    home.store.close().await;
    let sql = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
               SELECT 9000, 'from the future', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
    home.raw(sql).await.unwrap();
    let error = refusal(&home.url, &home.place).await;
    assert!(matches!(error, OpenError::Newer { found: 9000 }), "{error:?}");
    assert!(error.to_string().contains("newer lamp"), "{error}");
    home.raw("DELETE FROM _sqlx_migrations WHERE version = 9000").await.unwrap();
    let store = home.another().await;
    assert_eq!(store.history(id(1)).await.unwrap().seq(), 1, "nothing was lost");
}

async fn a_database_that_was_altered_is_refused(home: Home) {
    home.store.close().await;
    let sql = match home.kind {
        crate::home::Kind::Sqlite => "UPDATE _sqlx_migrations SET checksum = x'00'",
        crate::home::Kind::Postgres => "UPDATE _sqlx_migrations SET checksum = '\\x00'",
    };
    home.raw(sql).await.unwrap();
    let error = refusal(&home.url, &home.place).await;
    assert!(matches!(error, OpenError::Altered { found: 1 }), "{error:?}");
}

async fn what_was_written_is_there_after_opening_again(home: Home) {
    let life = Life::begin(&home.store, 1, 0).await;
    let before = home.store.history(life.id).await.unwrap();
    home.store.close().await;
    let store = home.another().await;
    assert_eq!(store.history(life.id).await.unwrap(), before);
    assert_eq!(store.pending(life.id).await.unwrap().len(), 1);
}

async fn a_closed_store_says_so(home: Home) {
    home.store.close().await;
    let append = home.store.append(beginning(id(1), requested(request("acme/web", 1)), 0)).await;
    assert!(matches!(append, Err(StoreError::Closed)), "{append:?}");
    let read = home.store.history(id(1)).await;
    assert!(matches!(read, Err(StoreError::Closed)), "{read:?}");
}

#[tokio::test]
async fn an_address_that_is_no_database_is_refused_without_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let place = DataDirectory::new(directory.path());
    let wrong = [
        "postgress://ann:hunter2@db/lamp",
        "ann:hunter2@db/lamp",
        "hunter2@db",
        "mysql://db/lamp?password=hunter2",
        "password=hunter2 host=db",
        "",
        "sqlite:",
        "sqlite://",
        "sqlite::memory:",
        "/var/lib/lamp.db",
    ];
    for url in wrong {
        let error = refusal(url, &place).await;
        assert!(matches!(error, OpenError::UnknownUrl { .. }), "{url}: {error:?}");
        assert!(!told(&error).contains("hunter2"), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    let path = refusal("/var/lib/lamp.db", &place).await.to_string();
    assert!(path.starts_with("`/var/lib/lamp.db` is not a database that lamp knows"), "{path}");
    for url in ["postgres://ann:hunter2@db:port/lamp", "postgres://ann:hunter2@/x?port=hunter3"] {
        let error = refusal(url, &place).await;
        assert!(!told(&error).contains("hunter2"), "{}", told(&error));
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn a_place_that_cannot_hold_data_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let place = DataDirectory::new(file.join("below"));
    let error = refusal(&place.sqlite_url(), &place).await;
    assert!(matches!(&error, OpenError::Directory { path, .. } if path == place.directory()));
    assert!(matches!(place.lock(), Err(OpenError::Directory { .. })));
    let elsewhere = DataDirectory::new(directory.path().join("data"));
    let error = refusal(&format!("sqlite:{}/lamp.db", file.display()), &elsewhere).await;
    assert!(matches!(error, OpenError::Store(StoreError::Unreachable(_))), "{error:?}");
}

#[tokio::test]
async fn only_its_owner_can_look_into_a_new_place() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::sqlite().await;
    let mode = fs::metadata(home.place.directory()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let place = DataDirectory::new(directory.path());
    let letter = "Dear database, ".repeat(1_000);
    fs::write(place.database(), &letter).unwrap();
    let error = refusal(&place.sqlite_url(), &place).await;
    assert!(matches!(error, OpenError::Store(StoreError::Damaged(_))), "{error:?}");
    assert!(error.to_string().contains("restore it from a backup"), "{error}");
    assert_eq!(fs::read_to_string(place.database()).unwrap(), letter);
}

#[tokio::test]
async fn a_database_whose_pages_were_overwritten_is_damaged_not_empty() {
    let home = Home::sqlite().await;
    for number in 1..=50 {
        Life::begin(&home.store, number, 0).await;
    }
    home.store.close().await;
    let mut bytes = fs::read(home.place.database()).unwrap();
    bytes[4_096..].fill(0xA5);
    fs::write(home.place.database(), bytes).unwrap();
    let outcome = match store::open_with(&home.url, &home.place, SHORT).await {
        Ok(store) => store.history(id(1)).await.map(|_| ()),
        Err(OpenError::Store(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    };
    assert!(matches!(outcome, Err(StoreError::Damaged(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_locked_database_says_so_and_works_when_it_is_free() {
    let home = Home::sqlite().await;
    let store = home.impatient().await;
    let mut other = home.raw_sqlite().await;
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let append = || beginning(id(1), requested(request("acme/web", 1)), 0);
    let error = store.append(append()).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked(_)) && error.is_passing(), "{error:?}");
    assert_eq!(store.history(id(1)).await.unwrap().seq(), 0, "reading goes on");
    other.execute("ROLLBACK").await.unwrap();
    store.append(append()).await.unwrap();
    // Someone who keeps even readers out.
    store.close().await;
    home.store.close().await;
    other.execute("PRAGMA locking_mode = EXCLUSIVE").await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let error = refusal(&home.url, &home.place).await;
    assert!(matches!(error, OpenError::Store(StoreError::Locked(_))), "{error:?}");
    drop(other);
    assert_eq!(home.another().await.history(id(1)).await.unwrap().seq(), 1);
}

#[tokio::test]
async fn one_server_at_a_time_drives_a_place() {
    let directory = tempfile::tempdir().unwrap();
    let place = DataDirectory::new(directory.path().join("data"));
    let lock = place.lock().unwrap();
    let error = place.lock().unwrap_err();
    assert!(matches!(&error, OpenError::InUse { path } if path == place.directory()), "{error:?}");
    drop(lock);
    place.lock().unwrap();
}
