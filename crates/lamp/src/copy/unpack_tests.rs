//! Archives that mean harm, each with what must be true afterwards.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

const LIMITS: Limits = Limits { entries: 1000, bytes: 1 << 20 };

/// Something to put into an archive, without any of the checks that the library makes for the well-meaning.
enum Put<'a> {
    File(&'a str, u32, &'a [u8]),
    Kind(&'a str, EntryType, &'a str),
    Claims(&'a str, u64),
}

fn archive(puts: &[Put<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for put in puts {
        let (name, kind, link, mode, size, content): (_, _, _, _, _, &[u8]) = match put {
            Put::File(name, mode, content) => {
                (*name, EntryType::Regular, "", *mode, content.len() as u64, content)
            }
            Put::Kind(name, kind, link) => (*name, *kind, *link, 0o777, 0, b""),
            Put::Claims(name, size) => (*name, EntryType::Regular, "", 0o644, *size, b""),
        };
        let mut header = tar::Header::new_gnu();
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name.as_bytes());
        old.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.extend_from_slice(&[0; 1024]);
    bytes
}

/// A target in a directory beside which nothing may appear.
struct Stage {
    directory: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs_err::create_dir(directory.path().join("target")).unwrap();
        fs_err::write(directory.path().join("secret"), "untouched").unwrap();
        Self { directory }
    }

    fn target(&self) -> PathBuf {
        self.directory.path().join("target")
    }

    fn unpack_with(&self, puts: &[Put<'_>], limits: Limits) -> Result<Unpacked, UnpackError> {
        let target = OwnedFd::from(std::fs::File::open(self.target()).unwrap());
        let unpacked = unpack(archive(puts).as_slice(), &target, limits);
        let beside: Vec<_> = fs_err::read_dir(self.directory.path()).unwrap().collect();
        assert_eq!(beside.len(), 2, "something appeared beside the target");
        let secret = fs_err::read_to_string(self.directory.path().join("secret")).unwrap();
        assert_eq!(secret, "untouched");
        unpacked
    }

    fn unpack(&self, puts: &[Put<'_>]) -> Result<Unpacked, UnpackError> {
        self.unpack_with(puts, LIMITS)
    }
}

#[test]
fn an_ordinary_archive_comes_out_as_it_was() {
    let stage = Stage::new();
    let unpacked = stage.unpack(&[
        Put::Kind("./", EntryType::Directory, ""),
        Put::Kind("sub/", EntryType::Directory, ""),
        Put::File("sub/file", 0o755, b"hello"),
        Put::File("deep/without/its/directories", 0o600, b"x"),
        Put::Kind("link", EntryType::Symlink, "sub/file"),
        Put::Kind("sub/up", EntryType::Symlink, "../link"),
        Put::Kind("same", EntryType::Link, "sub/file"),
    ]);
    let expected = Unpacked { files: 2, bytes: 6, links_left_out: 0 };
    assert_eq!(unpacked.unwrap(), expected);
    let target = stage.target();
    for name in ["sub/file", "link", "sub/up", "same"] {
        assert_eq!(fs_err::read_to_string(target.join(name)).unwrap(), "hello", "{name}");
    }
    let file = fs_err::metadata(target.join("sub/file")).unwrap();
    assert_eq!(file.permissions().mode() & 0o700, 0o700);
    assert_eq!(file.nlink(), 2);
    // And a second time, over itself.
    stage.unpack(&[Put::File("sub/file", 0o644, b"new")]).unwrap();
    assert_eq!(fs_err::read_to_string(target.join("sub/file")).unwrap(), "new");
    assert_eq!(fs_err::read_to_string(target.join("same")).unwrap(), "hello");
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in ["../out", "/tmp/out", "a/../../out", "a/..", "..", "./../out", ""] {
        let refused = Stage::new().unpack(&[Put::File(name, 0o644, b"x")]);
        assert!(matches!(refused, Err(UnpackError::Name(_))), "{name}: {refused:?}");
        let refused = Stage::new().unpack(&[Put::Kind(name, EntryType::Directory, "")]);
        assert!(matches!(refused, Err(UnpackError::Name(_))), "{name}: {refused:?}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let stage = Stage::new();
    // One that was there before.
    std::os::unix::fs::symlink(stage.directory.path(), stage.target().join("door")).unwrap();
    let through = stage.unpack(&[Put::File("door/secret", 0o644, b"stolen")]);
    assert!(matches!(through, Err(UnpackError::Place { .. })), "{through:?}");
    let through = stage.unpack(&[Put::Kind("door/made", EntryType::Directory, "")]);
    assert!(matches!(through, Err(UnpackError::Place { .. })), "{through:?}");
    // One that the archive brings, even a harmless one.
    let brought = stage.unpack(&[
        Put::Kind("sub", EntryType::Directory, ""),
        Put::Kind("way", EntryType::Symlink, "sub"),
        Put::File("way/file", 0o644, b"x"),
    ]);
    assert!(matches!(brought, Err(UnpackError::Place { .. })), "{brought:?}");
    // A file in the place of a link replaces the link.
    std::os::unix::fs::symlink("../secret", stage.target().join("file")).unwrap();
    stage.unpack(&[Put::File("file", 0o644, b"mine")]).unwrap();
    assert_eq!(fs_err::read_to_string(stage.target().join("file")).unwrap(), "mine");
}

#[test]
fn links_that_lead_out_are_left_out() {
    let stage = Stage::new();
    for link in ["../secret", "/etc/passwd", "a/../../secret", "..", "sub/../..", ""] {
        let unpacked = stage.unpack(&[Put::Kind("link", EntryType::Symlink, link)]).unwrap();
        assert_eq!(unpacked.links_left_out, 1, "{link}");
        assert!(!stage.target().join("link").is_symlink(), "{link}");
    }
    // Two that are each harmless, and together would not be.
    let unpacked = stage.unpack(&[
        Put::Kind("a/b", EntryType::Directory, ""),
        Put::Kind("a/b/here", EntryType::Symlink, "."),
        Put::Kind("out", EntryType::Symlink, "a/b/here/../../.."),
    ]);
    assert_eq!(unpacked.unwrap().links_left_out, 1);
}

#[test]
fn hard_links_lead_only_to_files_below() {
    for link in ["../secret", "/etc/passwd", "missing", "", "sub"] {
        let stage = Stage::new();
        fs_err::create_dir(stage.target().join("sub")).unwrap();
        let refused = stage.unpack(&[Put::Kind("link", EntryType::Link, link)]);
        assert!(refused.is_err(), "{link}");
    }
    let stage = Stage::new();
    std::os::unix::fs::symlink("../secret", stage.target().join("door")).unwrap();
    let refused = stage
        .unpack(&[Put::Kind("hard", EntryType::Link, "door"), Put::File("hard", 0o644, b"stolen")]);
    assert!(refused.is_err());
}

#[test]
fn devices_and_other_oddities_are_refused() {
    let kinds = [
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::GNUSparse,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
        EntryType::new(b'Z'),
    ];
    for kind in kinds {
        let refused = Stage::new().unpack(&[Put::Kind("odd", kind, "")]);
        assert!(matches!(refused, Err(UnpackError::Kind(_))), "{kind:?}: {refused:?}");
    }
}

#[test]
fn bits_that_give_rights_are_stripped() {
    let stage = Stage::new();
    stage.unpack(&[Put::File("root-me", 0o6755, b"x")]).unwrap();
    let mode = fs_err::metadata(stage.target().join("root-me")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7000, 0);
}

#[test]
fn more_than_allowed_is_refused() {
    let names: Vec<String> = (0..50).map(|n| format!("f{n}")).collect();
    let many: Vec<Put<'_>> = names.iter().map(|name| Put::File(name, 0o644, b"")).collect();
    let few = Limits { entries: 10, ..LIMITS };
    assert!(matches!(Stage::new().unpack_with(&many, few), Err(UnpackError::TooMany(10))));
    let huge = [Put::Claims("huge", 1 << 60)];
    assert!(matches!(Stage::new().unpack(&huge), Err(UnpackError::TooLarge(_))));
    let parts = vec![0u8; 700_000];
    let two = [Put::File("a", 0o644, &parts), Put::File("b", 0o644, &parts)];
    assert!(matches!(Stage::new().unpack(&two), Err(UnpackError::TooLarge(_))));
    // One that says more than it has.
    let torn = archive(&[Put::Claims("torn", 5000)]);
    let stage = Stage::new();
    let target = OwnedFd::from(std::fs::File::open(stage.target()).unwrap());
    assert!(unpack(torn.as_slice(), &target, LIMITS).is_err());
}

#[test]
fn a_long_name_is_read_and_one_without_end_is_not() {
    let stage = Stage::new();
    let name = format!("{}/{}", "d".repeat(150), "f".repeat(150));
    let mut header = tar::Header::new_gnu();
    header.set_size(2);
    header.set_mode(0o644);
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_data(&mut header, &name, b"ok".as_slice()).unwrap();
    let target = OwnedFd::from(std::fs::File::open(stage.target()).unwrap());
    unpack(builder.into_inner().unwrap().as_slice(), &target, LIMITS).unwrap();
    assert_eq!(fs_err::read_to_string(stage.target().join(name)).unwrap(), "ok");

    let mut header = tar::Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(1 << 40);
    header.set_cksum();
    let endless = header.as_bytes().chain(io::repeat(b'x'));
    assert!(matches!(unpack(endless, &target, LIMITS), Err(UnpackError::LongName)));
}

#[test]
fn noise_is_an_error_and_not_a_crash() {
    let target = OwnedFd::from(std::fs::File::open(Stage::new().target()).unwrap());
    for seed in 0..200u32 {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let noise: Vec<u8> = (0..2048)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect();
        drop(unpack(noise.as_slice(), &target, LIMITS));
    }
}
