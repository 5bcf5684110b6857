//! What anybody who writes a file here may rely on.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    thread,
};

use proptest::prelude::*;

use super::*;

const ALL: [Durability; 3] = [Durability::Synced, Durability::SyncedFile, Durability::Cache];

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_private_file_is_its_owners_alone_also_where_others_could_read_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    for durability in ALL {
        let path = directory.path().join(format!("{durability:?}"));
        write(&path, b"first", PRIVATE, durability).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, wide()).unwrap();
        write(&path, b"second", PRIVATE, durability).unwrap();
        assert_eq!(mode(&path), 0o600);
    }
}

fn wide() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[test]
fn a_link_at_the_path_is_replaced_and_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (directory.path().join("path"), directory.path().join("elsewhere"));
    fs::write(&elsewhere, "somebody's").unwrap();
    symlink(&elsewhere, &path).unwrap();
    write(&path, b"ours", PRIVATE, Durability::Synced).unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "somebody's");
}

#[test]
fn whoever_reads_meanwhile_sees_one_writing_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("busy");
    let text = |number: u8| vec![number; 40_000];
    write(&path, &text(0), PRIVATE, Durability::Cache).unwrap();
    thread::scope(|scope| {
        for number in 1..=4 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..50 {
                    write(path, &text(number), PRIVATE, Durability::Cache).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let read = fs::read(&path).unwrap();
            assert_eq!(read, text(read[0]), "a part of one, or two mixed");
        }
    });
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_directory_is_made_with_what_is_missing_above_it() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("one/two/three");
    make_directory(&deep).unwrap();
    make_directory(&deep).unwrap();
    assert_eq!([mode(&deep), mode(deep.parent().unwrap())], [0o700; 2]);
}

#[test]
fn failures_name_the_path_and_keep_their_kind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing/file");
    let error = write(&path, b"", PRIVATE, Durability::Synced).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("missing/file`"), "{error}");
    let error = write(Path::new("/"), b"", PRIVATE, Durability::Synced).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let occupied = directory.path().join("directory");
    fs::create_dir(&occupied).unwrap();
    write(&occupied, b"", PRIVATE, Durability::Synced).unwrap_err();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

proptest! {
    #[test]
    fn what_was_written_last_is_read(writings in prop::collection::vec(
        (prop::collection::vec(any::<u8>(), 0..2_000), prop::sample::select(&ALL[..])), 1..6,
    )) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x".repeat(255));
        for (bytes, durability) in &writings {
            write(&path, bytes, PRIVATE, *durability).unwrap();
        }
        prop_assert_eq!(fs::read(&path).unwrap(), writings.last().unwrap().0.clone());
    }
}
