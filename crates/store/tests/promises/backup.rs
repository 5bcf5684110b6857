//! A copy of everything, made while the store is being written, and the way back.

use std::{path::Path, process::Command};

use domain::{task::Report, transcript::AgentEvent};
use fs_err as fs;
use store::{BackupError, DataDirectory, OpenError, Page, Store};

use crate::{append::sandbox, home::Home, life::Life, transcript::saying};

async fn open(place: &DataDirectory) -> Store {
    store::open(&place.sqlite_url(), place).await.unwrap()
}

/// Every task reaches research; its notes are a blob, and its agent says something.
async fn live(store: &Store, number: u128) {
    let mut life = Life::begin(store, number, 0).await;
    life.report(store, Report::Admitted, 1).await;
    life.report(
        store,
        Report::Prepared {
            sandbox: sandbox(),
            commit: crate::life::base(),
            left: domain::task::Leftovers::default(),
        },
        2,
    )
    .await;
    let notes = store.blobs().put(format!("notes of {number}").as_bytes()).unwrap();
    let words = (1..=3).map(|number| AgentEvent::Message { number, text: "hm".to_owned() });
    store.append_transcript(saying(life.id, 1, 0, words.collect())).await.unwrap();
    life.report(store, Report::Researched { notes, session: None }, 3).await;
}

/// Histories are whole, views agree with them, and every blob that they speak of is there.
async fn check(store: &Store) -> usize {
    let views =
        store.tasks(&store::Filter::default(), Page { before: None, size: 500 }).await.unwrap();
    for view in &views {
        let history = store.history(view.task).await.unwrap();
        assert_eq!(history.seq(), view.seq);
        assert_eq!(history.task().unwrap().stage.name(), view.stage);
        for blob in history.events.iter().filter_map(|recorded| recorded.event.blob()) {
            store.blobs().get(blob).unwrap();
        }
        let said = store.transcript_after(view.task, 0, 9).await.unwrap().len();
        // All of it is there before the event that tells of the research.
        assert!(said == 3 || view.seq < 4 && said == 0, "{said} at {}", view.seq);
    }
    assert_eq!(store.verify_audit().await.unwrap().rows, i64::try_from(views.len()).unwrap());
    views.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_taken_while_tasks_run_is_one_whole_moment() {
    let home = Home::sqlite().await;
    for number in 1..=10 {
        live(&home.store, number).await;
    }
    let to = home.place.directory().join("backups").join("monday");
    let writing = async {
        for number in 11..=60 {
            live(&home.store, number).await;
        }
    };
    let (saved, ()) = tokio::join!(home.store.back_up(&to), writing);
    saved.unwrap();
    assert_eq!(check(&home.store).await, 60);
    let place = DataDirectory::new(home.place.directory().join("restored"));
    store::restore(&to, &place, || Ok(())).unwrap();
    let restored = open(&place).await;
    let count = check(&restored).await;
    assert!((10..=60).contains(&count), "{count} tasks");
    live(&restored, 1_000).await;
    assert_eq!(check(&restored).await, count + 1, "and it goes on");
    let beside = fs::read_dir(to.parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1, "nothing is left of the making");
}

fn is_occupied(outcome: &Result<(), BackupError>, path: &Path) {
    assert!(matches!(outcome, Err(BackupError::Occupied(found)) if found == path), "{outcome:?}");
}

#[tokio::test]
async fn nothing_that_exists_is_overwritten() {
    let home = Home::sqlite().await;
    live(&home.store, 1).await;
    let to = home.place.directory().join("backup");
    home.store.back_up(&to).await.unwrap();
    is_occupied(&home.store.back_up(&to).await, &to);
    is_occupied(&store::restore(&to, &home.place, || Ok(())), &home.place.database());
    assert_eq!(check(&home.store).await, 1);
}

/// SQLite would play an old journal into the restored database.
#[tokio::test]
async fn a_journal_that_was_left_behind_is_not_played_into_a_backup() {
    let home = Home::sqlite().await;
    let to = home.place.directory().join("backup");
    home.store.back_up(&to).await.unwrap();
    for ending in ["-wal", "-shm", "-journal"] {
        let place = DataDirectory::new(home.place.directory().join(format!("with{ending}")));
        fs::create_dir_all(place.directory()).unwrap();
        let left = place.directory().join(format!("lamp.db{ending}"));
        fs::write(&left, "old").unwrap();
        is_occupied(&store::restore(&to, &place, || Ok(())), &left);
        assert!(!place.database().exists());
    }
}

#[tokio::test]
async fn what_is_no_backup_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let place = DataDirectory::new(directory.path().join("data"));
    let from = directory.path().join("from");
    let refused = |from: &Path| {
        let outcome = store::restore(from, &place, || Ok(()));
        assert!(matches!(outcome, Err(BackupError::NotABackup(_))), "{outcome:?}");
        assert!(!place.directory().exists());
    };
    refused(&from);
    fs::create_dir_all(&from).unwrap();
    refused(&from);
    fs::write(from.join("lamp.db"), "not a database").unwrap();
    refused(&from);
}

#[tokio::test]
async fn a_place_in_use_is_not_restored_to() {
    let home = Home::sqlite().await;
    let to = home.place.directory().join("backup");
    home.store.back_up(&to).await.unwrap();
    let place = DataDirectory::new(home.place.directory().join("other"));
    let _server = place.lock().unwrap();
    let outcome = store::restore(&to, &place, || Ok(()));
    assert!(
        matches!(outcome, Err(BackupError::DataDirectory(OpenError::InUse { .. }))),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_restore_that_was_interrupted_can_be_done_again() {
    let home = Home::sqlite().await;
    live(&home.store, 1).await;
    let to = home.place.directory().join("backup");
    home.store.back_up(&to).await.unwrap();
    let notes = home.store.blobs().put(b"notes of 1").unwrap().to_string();
    let place = DataDirectory::new(home.place.directory().join("restored"));
    let torn = place.blobs().join(&notes[..2]).join(&notes);
    fs::create_dir_all(torn.parent().unwrap()).unwrap();
    fs::write(&torn, "note").unwrap();
    store::restore(&to, &place, || Ok(())).unwrap();
    assert_eq!(check(&open(&place).await).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_database_says_how_it_is_backed_up() {
    let server = testkit::postgres::Postgres::start().unwrap();
    let home = Home::postgres(&server, "backup").await;
    let outcome = home.store.back_up(&home.place.directory().join("backup")).await;
    let told = outcome.unwrap_err().to_string();
    assert!(told.starts_with("back up a PostgreSQL database with `pg_dump`"), "{told}");
    assert!(told.contains(home.place.blobs().to_str().unwrap()), "{told}");
}

/// The commands of `docs/guides/backup.md`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_and_a_copy_bring_a_postgresql_store_back() {
    let server = testkit::postgres::Postgres::start().unwrap();
    let home = Home::postgres(&server, "dumped").await;
    for number in 1..=5 {
        live(&home.store, number).await;
    }
    let dump = home.place.directory().join("lamp.dump");
    run(Command::new(program("pg_dump"))
        .arg("--format=custom")
        .arg("--file")
        .arg(&dump)
        .arg(&home.url));
    let place = DataDirectory::new(home.place.directory().join("restored"));
    fs::create_dir_all(place.directory()).unwrap();
    let url = server.new_database("restored").unwrap();
    run(Command::new(program("pg_restore")).arg("--no-owner").args(["--dbname", &url]).arg(&dump));
    run(Command::new("cp").arg("--archive").arg(home.place.blobs()).arg(place.directory()));
    let restored = store::open(&url, &place).await.unwrap();
    assert_eq!(check(&restored).await, 5);
    live(&restored, 6).await;
    assert_eq!(check(&restored).await, 6, "and it goes on");
}

/// Debian keeps PostgreSQL's programs by version; the newest is the one that the server is started from.
fn program(name: &str) -> std::path::PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").unwrap();
    let mut found: Vec<_> =
        versions.map(|version| version.unwrap().path().join("bin").join(name)).collect();
    found.sort();
    found.pop().unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
