//! Root file systems, brought in.

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use super::*;
use crate::base::testing::{Tar, owner, stored};

fn root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::create_dir_all(at("usr/bin")).unwrap();
    fs::write(at("usr/bin/tool"), "program").unwrap();
    fs::set_permissions(at("usr/bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(at("usr/bin/tool"), at("usr/bin/same")).unwrap();
    symlink("usr/bin", at("bin")).unwrap();
    symlink("/etc/shadow", at("way-out")).unwrap();
    fs::create_dir(at("closed")).unwrap();
    fs::write(at("closed/inside"), "x").unwrap();
    fs::set_permissions(at("closed"), fs::Permissions::from_mode(0o550)).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    root
}

#[test]
fn a_directory_is_copied_as_it_is() {
    let (root, layer) = (root(), tempfile::tempdir().unwrap());
    fs::create_dir(root.path().join(".lamp")).unwrap();
    let done = import_directory(root.path(), layer.path(), owner(), Limits::default()).unwrap();
    assert_eq!((done.entries, done.bytes, done.skipped), (10, 8, 2));
    let at = |path: &str| layer.path().join(path);
    let tool = at("usr/bin/tool").metadata().unwrap();
    let user = rustix::process::geteuid().as_raw();
    assert_eq!((tool.uid(), tool.permissions().mode() & 0o7777), (stored(user), 0o755));
    assert_eq!(at("usr/bin/same").metadata().unwrap().ino(), tool.ino());
    assert_eq!(
        tool.mtime_nsec(),
        root.path().join("usr/bin/tool").metadata().unwrap().mtime_nsec()
    );
    assert_eq!(fs::read_link(at("way-out")).unwrap(), Path::new("/etc/shadow"));
    assert!(!at("pipe").exists());
    let closed = at("closed").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(closed, if owner().base.is_some() { 0o550 } else { 0o750 });
}

#[test]
fn a_directory_that_is_too_large_is_refused() {
    let (root, layer) = (root(), tempfile::tempdir().unwrap());
    let limits = Limits { entries: 3, bytes: 1_000 };
    let refused = import_directory(root.path(), layer.path(), owner(), limits).unwrap_err();
    insta::assert_snapshot!(refused, @"the directory has more than 3 entries or 1000 bytes");
}

#[test]
fn any_change_gives_another_fingerprint() {
    let root = root();
    let at = |path: &str| root.path().join(path);
    let mut known = vec![fingerprint(root.path()).unwrap()];
    assert_eq!(known, [fingerprint(root.path()).unwrap()]);
    #[expect(clippy::disallowed_methods, reason = "one of the changes")]
    let changes: [&dyn Fn(); 6] = [
        &|| fs::write(at("usr/bin/new"), "").unwrap(),
        &|| fs::write(at("usr/bin/tool"), "PROGRAM").unwrap(),
        &|| fs::set_permissions(at("usr/bin/tool"), fs::Permissions::from_mode(0o700)).unwrap(),
        &|| fs::rename(at("usr/bin/new"), at("usr/bin/newer")).unwrap(),
        &|| fs::remove_file(at("bin")).unwrap(),
        &|| symlink("usr/sbin", at("bin")).unwrap(),
    ];
    for change in changes {
        change();
        let now = fingerprint(root.path()).unwrap();
        assert!(!known.contains(&now));
        known.push(now);
    }
}

#[test]
fn a_tar_is_known_by_the_file_that_it_is() {
    let place = tempfile::tempdir().unwrap();
    let tar = place.path().join("x.tar");
    fs::write(&tar, "one").unwrap();
    let before = fingerprint(&tar).unwrap();
    assert_eq!(before, fingerprint(&tar).unwrap());
    fs::write(&tar, "other").unwrap();
    assert_ne!(before, fingerprint(&tar).unwrap());
}

#[test]
fn a_tar_is_unpacked_in_whatever_packing() {
    let archive = Tar::new().directory("etc").file("etc/motd", "hello").bytes();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&archive).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        archive.as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for bytes in [archive.clone(), gzip.finish().unwrap(), zstd] {
        let (place, layer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let tar = place.path().join("root.tar");
        fs::write(&tar, bytes).unwrap();
        import_tar(&tar, layer.path(), owner(), Limits::default()).unwrap();
        assert_eq!(fs::read_to_string(layer.path().join("etc/motd")).unwrap(), "hello");
    }
}

#[test]
fn what_is_no_root_file_system_is_named() {
    let place = tempfile::tempdir().unwrap();
    let layer = tempfile::tempdir().unwrap();
    let import =
        |path: &Path| import_tar(path, layer.path(), owner(), Limits::default()).unwrap_err();
    assert!(import(&place.path().join("nowhere")).sentence().contains("No such file"));
    assert!(import(place.path()).sentence().ends_with("is not a file"));
    assert!(fingerprint(&place.path().join("nowhere")).is_err());
}
