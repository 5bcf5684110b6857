//! Plain directories, also as an ordinary user.

use std::os::unix::{fs::MetadataExt, process::CommandExt};

use rustix::fs::XattrFlags;

use super::*;

#[test]
fn plain_directories_say_that_limits_are_only_watched() {
    let disks = Scratch::plain();
    assert_eq!(disks.kind(), Kind::Plain);
    assert!(disks.weaker().unwrap().contains("watched"));
}

#[test]
fn a_copy_keeps_what_an_overlay_wrote_down() {
    let disks = Scratch::plain();
    let upper = disks.create(&disk("from"), LIMIT).unwrap().join("upper");
    fs::create_dir(upper.join("opaque")).unwrap();
    let mut attributes = vec![c"user.overlay.opaque"];
    if rustix::process::geteuid().is_root() {
        attributes.push(c"trusted.overlay.opaque");
    }
    for name in &attributes {
        rustix::fs::setxattr(upper.join("opaque"), *name, b"y", XattrFlags::empty()).unwrap();
    }
    let whiteout = rustix::fs::FileType::CharacterDevice;
    let mode = rustix::fs::Mode::empty();
    rustix::fs::mknodat(CWD, upper.join("whiteout"), whiteout, mode, 0).unwrap();
    let sparse = fs::File::create(upper.join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"in the middle", 1 << 39).unwrap();

    let copy = disks.fork(&disk("from"), &disk("to"), LIMIT).unwrap().join("upper");
    for name in &attributes {
        let mut value = [0; 8];
        let length = rustix::fs::getxattr(copy.join("opaque"), *name, &mut value).unwrap();
        assert_eq!(&value[..length], b"y");
    }
    let found = fs::symlink_metadata(copy.join("whiteout")).unwrap();
    assert_eq!((found.mode() & 0o170_000, found.rdev()), (0o020_000, 0));
    let sparse = fs::metadata(copy.join("sparse")).unwrap();
    assert_eq!(sparse.len(), 1 << 40);
    assert!(sparse.blocks() * 512 < MIB, "holes stay holes");
    let mut middle = [0; 13];
    let file = fs::File::open(copy.join("sparse")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut middle, 1 << 39).unwrap();
    assert_eq!(&middle, b"in the middle");
}

#[test]
fn a_link_out_of_the_disk_is_copied_and_not_followed() {
    let disks = Scratch::plain();
    let secret = tempfile::tempdir().unwrap();
    fs::write(secret.path().join("key"), "secret").unwrap();
    let upper = disks.create(&disk("from"), LIMIT).unwrap().join("upper");
    std::os::unix::fs::symlink(secret.path(), upper.join("way-out")).unwrap();
    let copy = disks.fork(&disk("from"), &disk("to"), LIMIT).unwrap().join("upper");
    assert!(fs::symlink_metadata(copy.join("way-out")).unwrap().is_symlink());
    assert_eq!(disks.usage(&disk("to")).unwrap().files, 1);
    disks.remove(&disk("from")).unwrap();
    disks.empty_trash().unwrap();
    assert!(secret.path().join("key").exists());
}

/// Makes a tree that is deeper than any path is long.
fn dig(at: &Path, levels: usize) {
    let mut here = tree::open_root(at).unwrap();
    for _ in 0..levels {
        rustix::fs::mkdirat(&here, c"deep", rustix::fs::Mode::RWXU).unwrap();
        here = tree::open_directory(&here, c"deep").unwrap();
    }
}

#[test]
fn a_tree_without_end_is_refused_and_still_removed() {
    let disks = Scratch::plain();
    let at = disks.create(&disk("deep"), LIMIT).unwrap();
    dig(&at.join("upper"), 3_000);
    assert!(matches!(disks.usage(&disk("deep")), Err(DiskError::TooDeep(_))));
    let forked = disks.fork(&disk("deep"), &disk("copy"), LIMIT);
    assert!(matches!(forked, Err(DiskError::TooDeep(_))));
    disks.remove(&disk("deep")).unwrap();
    disks.empty_trash().unwrap();
    assert!(names_in(&disks.place(TRASH)).is_empty());
}

#[test]
fn directories_that_are_closed_to_their_owner_are_removed() {
    use std::os::unix::fs::PermissionsExt;
    let disks = Scratch::plain();
    let at = disks.create(&disk("one"), LIMIT).unwrap();
    // What an overlay leaves behind, and what an agent may do.
    fs::create_dir_all(at.join("work/work/incompat/volatile/dirty")).unwrap();
    fs::create_dir_all(at.join("upper/closed/inner")).unwrap();
    let closed = fs::Permissions::from_mode(0o000);
    for name in ["work/work", "upper/closed"] {
        fs::set_permissions(at.join(name), closed.clone()).unwrap();
    }
    disks.reopen(&disk("one"), LIMIT).unwrap();
    assert!(names_in(&at.join("work")).is_empty());
    disks.remove(&disk("one")).unwrap();
    disks.empty_trash().unwrap();
    assert!(names_in(&disks.place(TRASH)).is_empty());
}

#[test]
fn what_is_in_a_closed_directory_counts_and_it_is_closed_again() {
    use std::os::unix::fs::PermissionsExt;
    let disks = Scratch::plain();
    let upper = disks.create(&disk("one"), LIMIT).unwrap().join("upper");
    for (name, mode) in [("unread", 0o300), ("unsearched", 0o600), ("shut", 0o000)] {
        let inner = upper.join(name).join("inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), BLOCK).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(upper.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let usage = disks.usage(&disk("one")).unwrap();
    assert!(usage.files == 9 && usage.bytes >= 3 * MIB, "{usage:?}");
    for (name, mode) in [("unread", 0o300), ("unsearched", 0o600), ("shut", 0o000)] {
        assert_eq!(fs::metadata(upper.join(name)).unwrap().mode() & 0o7777, mode);
    }
}

#[test]
fn all_of_this_works_as_an_ordinary_user() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        unsupported!("it is run again as nobody by root; every other test here has shown it");
    }
    // A copy of these tests, where that user can reach it.
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    std::os::unix::fs::chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    std::os::unix::fs::chown(&scratch, Some(NOBODY), Some(NOBODY)).unwrap();
    let output = std::process::Command::new(&program)
        .args(["disk::tests", "--test-threads", "2", "--nocapture"])
        .env("TMPDIR", &scratch)
        // What needs root is shown by whoever is root.
        .env_remove(unsupported::DIRECTORY)
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("running 0 tests"), "{said}");
}
