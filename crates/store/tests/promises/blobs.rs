//! Large things: whole or an error, kept while an event speaks of them, and then collected.

use std::time::{Duration, SystemTime};

use domain::{digest::Digest, task::Report};
use fs_err as fs;
use store::{BlobError, Blobs, Collected};

use crate::{append::sandbox, home::Home, life::Life};

const HOUR: Duration = Duration::from_hours(1);

on_both!(what_no_event_speaks_of_is_collected_once_it_is_old);

fn path(home: &Home, digest: Digest) -> std::path::PathBuf {
    let name = digest.to_string();
    home.place.blobs().join(&name[..2]).join(name)
}

#[expect(clippy::disallowed_methods, reason = "compared with file times, which the system sets")]
fn make_old(path: &std::path::Path) {
    let long_ago = SystemTime::now() - 2 * HOUR;
    let file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.into_file().set_modified(long_ago).unwrap();
}

fn old_half_written(home: &Home) -> std::path::PathBuf {
    let path = home.place.blobs().join("new").join(".tmpHalf");
    fs::write(&path, "half of somethi").unwrap();
    make_old(&path);
    path
}

#[tokio::test]
async fn what_was_put_can_be_got_again() {
    let home = Home::sqlite().await;
    let blobs = home.store.blobs();
    for bytes in [&b""[..], b"a transcript", &[0, 255, 10, 13]] {
        let digest = blobs.put(bytes).unwrap();
        assert_eq!(blobs.put(bytes).unwrap(), digest, "twice is once");
        assert_eq!(blobs.get(digest).unwrap(), bytes);
    }
    let missing = Digest::of(b"never put");
    let error = blobs.get(missing).unwrap_err();
    assert!(matches!(error, BlobError::Missing { digest } if digest == missing), "{error}");
}

#[tokio::test]
async fn a_torn_blob_is_an_error_until_it_is_put_again() {
    let home = Home::sqlite().await;
    let blobs = home.store.blobs();
    let bytes = b"evidence that must be whole";
    let digest = blobs.put(bytes).unwrap();
    for damage in [&bytes[..9], b"", b"evidence that must be while"] {
        fs::write(path(&home, digest), damage).unwrap();
        let error = blobs.get(digest).unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, BlobError::Damaged { .. }), "{error}");
        assert!(told.contains(&digest.to_string()), "{told}");
        assert!(told.contains(path(&home, digest).to_str().unwrap()), "{told}");
        blobs.put(bytes).unwrap();
        assert_eq!(blobs.get(digest).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_blob_that_is_too_large_is_refused() {
    let home = Home::sqlite().await;
    // Never touched, so the system never gives the memory.
    let endless = vec![0; usize::try_from(Blobs::LIMIT).unwrap() + 1];
    let error = home.store.blobs().put(&endless).unwrap_err();
    assert_eq!(error.to_string(), "a blob may have 268435456 bytes at most");
    assert_eq!(home.store.collect_blobs(HOUR).await.unwrap(), Collected::default());
}

async fn what_no_event_speaks_of_is_collected_once_it_is_old(home: Home) {
    let store = &home.store;
    let spoken_of = store.blobs().put(b"notes").unwrap();
    let mut life = Life::begin(store, 1, 0).await;
    life.report(store, Report::Admitted, 0).await;
    life.report(
        store,
        Report::Prepared {
            sandbox: sandbox(),
            commit: crate::life::base(),
            left: domain::task::Leftovers::default(),
        },
        0,
    )
    .await;
    life.report(store, Report::Researched { notes: spoken_of, session: None }, 0).await;
    let forgotten = store.blobs().put(b"forgotten").unwrap();
    let young = store.blobs().put(b"its event comes soon").unwrap();
    let renewed = store.blobs().put(b"forgotten, then put again").unwrap();
    for digest in [spoken_of, forgotten, renewed] {
        make_old(&path(&home, digest));
    }
    store.blobs().put(b"forgotten, then put again").unwrap();
    let half = old_half_written(&home);
    let stranger = home.place.blobs().join("README");
    fs::write(&stranger, "somebody's").unwrap();
    make_old(&stranger);
    let collected = store.collect_blobs(HOUR).await.unwrap();
    assert_eq!(collected, Collected { kept: 3, removed: 2, freed_bytes: 9 + 15 });
    assert!(!half.exists() && stranger.exists());
    for digest in [spoken_of, young, renewed] {
        assert!(store.blobs().get(digest).is_ok());
    }
    assert!(matches!(store.blobs().get(forgotten), Err(BlobError::Missing { .. })));
    assert_eq!(store.collect_blobs(HOUR).await.unwrap().removed, 0);
}

#[tokio::test]
async fn many_who_keep_the_same_blob_all_have_it() {
    let home = Home::sqlite().await;
    let other = home.another().await;
    let bytes = vec![7; 100_000];
    std::thread::scope(|scope| {
        for number in 0..8 {
            let blobs = if number % 2 == 0 { home.store.blobs() } else { other.blobs() };
            let bytes = &bytes;
            scope.spawn(move || {
                let digest = blobs.put(bytes).unwrap();
                assert_eq!(&blobs.get(digest).unwrap(), bytes);
            });
        }
    });
    let left = fs::read_dir(home.place.blobs().join("new")).unwrap().count();
    assert_eq!(left, 0, "nothing half-written stays");
}

/// The collector has decided to remove it; the keeper has just found it there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blob_that_was_put_is_there_although_it_was_about_to_be_collected() {
    let home = Home::sqlite().await;
    for round in 0..150u32 {
        let bytes = round.to_be_bytes();
        let digest = home.store.blobs().put(&bytes).unwrap();
        make_old(&path(&home, digest));
        let blobs = home.store.blobs().clone();
        let keeper = tokio::task::spawn_blocking(move || blobs.put(&bytes).unwrap());
        let (collected, kept) = tokio::join!(home.store.collect_blobs(HOUR), keeper);
        collected.unwrap();
        assert!(home.store.blobs().get(kept.unwrap()).is_ok(), "round {round}");
    }
}
