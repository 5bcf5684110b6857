//! A full disk: said so, nothing half-written, and everything goes on once there is room.
//!
//! The disk is a small tmpfs in a mount namespace of its own. The test starts itself again inside one
//! (`unshare`), so nothing of it is ever seen outside. A machine that allows no such namespace cannot
//! show this, and the test fails with that sentence.

use std::{path::PathBuf, process::Command};

use domain::digest::Digest;
use fs_err as fs;
use store::{BlobError, DataDirectory, StoreError};

use crate::life::{Life, beginning, id, request, requested};

const SMALL_DISK: &str = "LAMP_TEST_SMALL_DISK";

#[expect(
    clippy::disallowed_methods,
    reason = "a word from this test to itself, in another process"
)]
fn inside() -> Option<PathBuf> {
    std::env::var_os(SMALL_DISK).map(PathBuf::from)
}

/// Runs the test `name` of this program again, on a small disk.
fn again_on_a_small_disk(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut namespace = Command::new("unshare");
    namespace.arg("--mount");
    if !rustix_is_root() {
        namespace.arg("--map-root-user");
    }
    let script =
        "mount -t tmpfs -o size=3m tmpfs \"$1\" || exit 77; exec \"$2\" --exact \"$3\" --nocapture";
    let output = namespace
        .args(["sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(SMALL_DISK, directory.path())
        .output()
        .unwrap();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let ran = told.contains("1 passed") || told.contains("FAILED");
    assert!(ran, "this test needs a mount namespace (`unshare --mount`) and `mount`:\n{told}");
    assert!(output.status.success(), "{told}");
}

fn rustix_is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

/// Takes all the room that is left.
fn fill(directory: &std::path::Path) -> PathBuf {
    use std::io::Write as _;
    let ballast = directory.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    let error = loop {
        if let Err(error) = file.write_all(&[1; 4_096]) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    ballast
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_and_passes() {
    match inside() {
        Some(directory) => a_full_disk_loses_nothing(directory).await,
        None => again_on_a_small_disk("disk::a_full_disk_loses_nothing_and_passes"),
    }
}

async fn a_full_disk_loses_nothing(directory: PathBuf) {
    let place = DataDirectory::new(directory.join("data"));
    let store = store::open(&place.sqlite_url(), &place).await.unwrap();
    let mut life = Life::begin(&store, 1, 0).await;
    let ballast = fill(&directory);

    // Words until nothing fits any more: the journal has some room of its own.
    let long = "words ".repeat(2_000);
    let error = loop {
        let message = life.message(&long);
        match life.add(&store, life.next(vec![message], 1)).await {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::DiskFull(_)) && error.is_passing(), "{error:?}");
    assert_eq!(error.to_string(), "the disk that holds the database is full; nothing was written");
    let history = store.history(life.id).await.unwrap();
    assert_eq!(history.seq(), life.seq, "exactly what was acknowledged");
    assert_eq!(store.task(life.id).await.unwrap().unwrap().seq, life.seq);

    // Many at once share one commit: all of them are told the truth. The long ones do not even fit into
    // SQLite's memory, so it gives up in the middle of the transaction; the short ones have room.
    let longer = "words ".repeat(100_000);
    let room = fs::metadata(&ballast).unwrap().len() - 300_000;
    fs::OpenOptions::new().write(true).open(&ballast).unwrap().set_len(room).unwrap();
    let attempts = (2..40).map(|number| {
        let mut asked = request("acme/web", 1);
        asked.text = if number % 5 == 0 { longer.clone() } else { "a word".to_owned() };
        store.append(beginning(id(number), requested(asked), 2))
    });
    let outcomes = futures::future::join_all(attempts).await;
    for (number, outcome) in (2..40).zip(&outcomes) {
        let kept = store.history(id(number)).await.unwrap().seq();
        assert_eq!(kept == 1, outcome.is_ok(), "{number}: {outcome:?}");
        let is_full = matches!(outcome, Err(StoreError::DiskFull(_)) | Ok(_));
        assert!(is_full, "{number}: {outcome:?}");
    }
    assert!(outcomes.iter().any(Result::is_err));

    fs::remove_file(ballast).unwrap();
    let message = life.message(&long);
    life.add(&store, life.next(vec![message], 3)).await.unwrap();
    let last = outcomes.iter().rposition(Result::is_err).unwrap() as u128 + 2;
    Life::begin(&store, last, 4).await;
    store.verify_audit().await.unwrap();
    store.close().await;
    let store = store::open(&place.sqlite_url(), &place).await.unwrap();
    assert_eq!(store.history(life.id).await.unwrap().seq(), life.seq);
    assert_eq!(store.history(life.id).await.unwrap().task(), Some(life.task));
    store.verify_audit().await.unwrap();
}

#[tokio::test]
async fn a_blob_that_does_not_fit_leaves_nothing_behind() {
    match inside() {
        Some(directory) => a_blob_leaves_nothing(directory).await,
        None => again_on_a_small_disk("disk::a_blob_that_does_not_fit_leaves_nothing_behind"),
    }
}

async fn a_blob_leaves_nothing(directory: PathBuf) {
    let place = DataDirectory::new(directory.join("data"));
    let store = store::open(&place.sqlite_url(), &place).await.unwrap();
    let bytes = vec![3; 4_000_000];
    let error = store.blobs().put(&bytes).unwrap_err();
    let BlobError::Io(cause) = &error else { panic!("{error:?}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull, "{error:?}");
    assert!(matches!(store.blobs().get(Digest::of(&bytes)), Err(BlobError::Missing { .. })));
    assert_eq!(fs::read_dir(place.blobs().join("new")).unwrap().count(), 0);
    let small = store.blobs().put(b"this fits").unwrap();
    assert_eq!(store.blobs().get(small).unwrap(), b"this fits");
}

#[tokio::test]
async fn a_backup_that_does_not_fit_is_no_backup() {
    match inside() {
        Some(directory) => a_backup_is_none(directory).await,
        None => again_on_a_small_disk("disk::a_backup_that_does_not_fit_is_no_backup"),
    }
}

async fn a_backup_is_none(directory: PathBuf) {
    let home = crate::home::Home::sqlite().await;
    home.store.blobs().put(&vec![3; 4_000_000]).unwrap();
    let to = directory.join("backup");
    assert!(home.store.back_up(&to).await.is_err());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "nothing stays");
}
