//! When what is written out, and what a crash at each of those times leaves.

use std::fs;

use super::*;

fn begun(to: &Path) -> Unfinished {
    let mut unfinished = Unfinished::begin(to, crate::PRIVATE).unwrap();
    unfinished.write_all(b"new").unwrap();
    unfinished
}

#[test]
fn bytes_are_on_the_disk_before_the_name_and_the_name_before_the_return() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("record");
    fs::write(&to, "old").unwrap();
    let mut seen = Vec::new();
    let mut look = |file: &File| {
        let what = if file.metadata()?.is_dir() { "directory" } else { "file" };
        seen.push(format!("sync {what}, and the name leads to {}", fs::read_to_string(&to)?));
        file.sync_all()
    };
    begun(&to).put(Former::Goes, Durability::Synced, &mut look).unwrap();
    assert_eq!(
        seen,
        ["sync file, and the name leads to old", "sync directory, and the name leads to new"]
    );
}

#[test]
fn of_many_files_each_is_on_the_disk_and_the_directory_is_left_to_whoever_writes_them() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("one of many");
    let mut seen = Vec::new();
    let mut look = |file: &File| {
        seen.push(file.metadata()?.is_dir());
        Ok(())
    };
    begun(&to).put(Former::Goes, Durability::SyncedFile, &mut look).unwrap();
    assert_eq!(seen, [false]);
}

#[test]
fn what_can_be_made_again_waits_for_no_disk() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("cache");
    let mut never = |_: &File| Err(io::Error::other("it was asked to wait for the disk"));
    begun(&to).put(Former::Goes, Durability::Cache, &mut never).unwrap();
    assert_eq!(fs::read_to_string(&to).unwrap(), "new");
}

#[test]
fn a_failure_before_the_name_leaves_the_old_file_and_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("record");
    fs::write(&to, "old").unwrap();
    let mut full = |_: &File| Err(io::Error::from(io::ErrorKind::StorageFull));
    let error = begun(&to).put(Former::Goes, Durability::Synced, &mut full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("record"), "it names the file: {error}");
    assert_eq!(fs::read_to_string(&to).unwrap(), "old");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_name_that_is_not_on_the_disk_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("record");
    let mut torn = |file: &File| {
        if file.metadata()?.is_dir() { Err(io::Error::other("torn")) } else { Ok(()) }
    };
    let error = begun(&to).put(Former::Goes, Durability::Synced, &mut torn).unwrap_err();
    assert!(error.to_string().contains("torn"), "{error}");
}

#[test]
fn a_crash_between_writing_and_naming_leaves_the_old_file_and_a_leftover_that_is_swept() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("record.json");
    fs::write(&to, "old").unwrap();
    // Whoever is killed drops nothing.
    std::mem::forget(begun(&to));
    assert_eq!(fs::read_to_string(&to).unwrap(), "old");
    let leftover = |path: &Path| path != to;
    let names = || fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().path());
    let left: Vec<_> = names().filter(|path| leftover(path)).collect();
    assert_eq!(left.len(), 1);
    assert!(crate::is_unfinished(&left[0]), "{left:?}");
    assert!(left[0].extension().is_none_or(|ending| ending != "json"), "no reader takes it");
    begun(&to).replace(Durability::Synced).unwrap();
    assert_eq!(fs::read_to_string(&to).unwrap(), "new", "it is in nobody's way");
    crate::sweep(directory.path()).unwrap();
    assert_eq!(names().filter(|path| leftover(path)).count(), 0);
    assert!(to.exists());
}

#[test]
fn what_is_there_first_stays() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("notice");
    begun(&to).put_new(Durability::Synced).unwrap();
    let error = begun(&to).put_new(Durability::Synced).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
