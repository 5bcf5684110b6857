//! Archives as people write them, and as attackers do.

use std::{
    fmt::Write as _,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::PathBuf,
    process::Command,
};

use proptest::prelude::*;
use tar::Header;
use tempfile::TempDir;
use unsupported::unsupported;

use super::*;
use crate::base::testing::{Tar, owner, rules, stored};

/// A layer's directory, with a sentinel beside it that must stay as it is.
struct Yard {
    all: TempDir,
}

impl Yard {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        std::fs::create_dir(all.path().join("layer")).unwrap();
        std::fs::write(all.path().join("sentinel"), "untouched").unwrap();
        std::fs::create_dir(all.path().join("outside")).unwrap();
        Self { all }
    }

    fn layer(&self) -> PathBuf {
        self.all.path().join("layer")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.layer().join(path)
    }

    fn unpack(&self, archive: &[u8], rules: &Rules) -> Result<Unpacked, BaseError> {
        unpack(archive, &self.layer(), rules)
    }

    fn assert_outside_is_untouched(&self) {
        let sentinel = self.all.path().join("sentinel");
        assert_eq!(std::fs::read_to_string(&sentinel).unwrap(), "untouched");
        let found = sentinel.metadata().unwrap();
        assert_eq!((found.nlink(), found.uid()), (1, rustix::process::geteuid().as_raw()));
        assert_eq!(std::fs::read_dir(self.all.path().join("outside")).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(self.all.path()).unwrap().count(), 3);
    }
}

fn ordinary() -> Rules {
    rules(Whiteouts::Ordinary)
}

#[test]
fn a_tree_is_unpacked_with_shifted_ids() {
    let mut tool = Tar::header(EntryType::Regular, b"usr/bin/tool");
    tool.set_mode(0o4755);
    tool.set_uid(33);
    tool.set_gid(65_535);
    let mut closed = Tar::header(EntryType::Directory, b"closed/");
    closed.set_mode(0o555);
    let archive = Tar::new()
        .directory("./")
        .push(closed, b"")
        .file("closed/inside", "x")
        .push(tool, b"program")
        .symlink("bin", "usr/bin")
        .symlink("passwd", "/etc/passwd")
        .link(EntryType::Link, "usr/bin/same", "./usr/bin/tool")
        .file("usr/bin/../".trim_end_matches("../"), "")
        .bytes();
    let yard = Yard::new();
    let done = yard.unpack(&archive, &ordinary()).unwrap();
    assert_eq!((done.bytes, done.skipped), (8, 0));

    let tool = yard.at("usr/bin/tool").metadata().unwrap();
    assert_eq!(
        (tool.uid(), tool.gid(), tool.mtime()),
        (stored(33), stored_group(65_535), 1_000_000_000)
    );
    let set_id = if owner().base.is_some() { 0o4755 } else { 0o755 };
    assert_eq!(tool.permissions().mode() & 0o7777, set_id);
    assert_eq!(yard.at("usr/bin/same").metadata().unwrap().ino(), tool.ino());
    assert_eq!(std::fs::read_link(yard.at("bin")).unwrap(), PathBuf::from("usr/bin"));
    assert_eq!(std::fs::read_link(yard.at("passwd")).unwrap(), PathBuf::from("/etc/passwd"));
    let closed = yard.at("closed").metadata().unwrap();
    assert_eq!(
        closed.permissions().mode() & 0o777,
        if owner().base.is_some() { 0o555 } else { 0o755 }
    );
    let implied = yard.at("usr").metadata().unwrap();
    assert_eq!((implied.uid(), implied.permissions().mode() & 0o7777), (stored(0), 0o755));
    yard.assert_outside_is_untouched();
}

fn stored_group(id: u32) -> u32 {
    owner().base.map_or_else(|| rustix::process::getegid().as_raw(), |base| base + id)
}

#[test]
fn a_later_entry_replaces_an_earlier_one() {
    let archive = Tar::new()
        .file("a", "first")
        .file("a", "second")
        .symlink("b", "a")
        .file("b", "no link any more")
        .directory("c")
        .file("c", "no directory any more")
        .file("d", "no file any more")
        .directory("d")
        .file("d/e", "in it")
        .bytes();
    let yard = Yard::new();
    yard.unpack(&archive, &ordinary()).unwrap();
    for (path, content) in [
        ("a", "second"),
        ("b", "no link any more"),
        ("c", "no directory any more"),
        ("d/e", "in it"),
    ] {
        assert_eq!(std::fs::read_to_string(yard.at(path)).unwrap(), content);
    }
}

/// Every way out that we know, and what is said about it.
#[test]
fn an_archive_that_tries_to_leave_is_refused() {
    let far = "../".repeat(40);
    let far = far.as_str();
    let mut sparse = Tar::header(EntryType::GNUSparse, b"a");
    sparse.as_gnu_mut().unwrap().realsize = *b"00000000000\0";
    let cases: Vec<(&str, Tar)> = vec![
        ("up", Tar::new().file("../sentinel", "evil")),
        ("up in the middle", Tar::new().file("a/../../sentinel", "evil")),
        ("absolute", Tar::new().file("/tmp/lamp-evil", "evil")),
        ("through a link", Tar::new().symlink("way", "../outside").file("way/evil", "evil")),
        ("through an absolute link", Tar::new().symlink("way", "/tmp").file("way/evil", "evil")),
        (
            "through a link below",
            Tar::new().symlink("a/way", "../../outside").directory("a/way/evil"),
        ),
        (
            "a directory over a link",
            Tar::new()
                .symlink("way", "../outside")
                .directory("way")
                .file("way/evil", "x")
                .symlink("way/up", "..")
                .file("way/up/way/up/x", ""),
        ),
        ("a hard link out", Tar::new().link(EntryType::Link, "stolen", "../sentinel")),
        (
            "a hard link to an absolute path",
            Tar::new().link(EntryType::Link, "stolen", "/etc/passwd"),
        ),
        (
            "a hard link through a link",
            Tar::new().symlink("way", "..").link(EntryType::Link, "stolen", "way/sentinel"),
        ),
        ("a hard link to a directory", Tar::new().directory("a").link(EntryType::Link, "b", "a")),
        ("a hard link to nothing", Tar::new().link(EntryType::Link, "b", "a")),
        (
            "a long way up, by extension",
            Tar::new().extensions(&[("path", b"../sentinel")]).file("harmless", "evil"),
        ),
        (
            "a hard link by extension",
            Tar::new().extensions(&[("linkpath", b"../sentinel")]).link(EntryType::Link, "b", "a"),
        ),
        (
            "a link target by extension",
            Tar::new()
                .extensions(&[("linkpath", far.as_bytes())])
                .symlink("w", "a")
                .file("w/x", ""),
        ),
        ("a zero byte", Tar::new().extensions(&[("path", b"a\0b")]).file("harmless", "")),
        ("a link to nothing", Tar::new().symlink("a", "")),
        (
            "a file without a name",
            Tar::new().file("./", "").push(Tar::header(EntryType::Symlink, b"./"), b""),
        ),
        ("an id that no sandbox has", {
            let mut h = Tar::header(EntryType::Regular, b"a");
            h.set_uid(65_536);
            Tar::new().push(h, b"")
        }),
        ("an id by extension", Tar::new().extensions(&[("gid", b"4294967295")]).file("a", "")),
        ("a sparse file", Tar::new().push(sparse, b"")),
        (
            "a sparse file by extension",
            Tar::new()
                .extensions(&[("GNU.sparse.realsize", b"1152921504606846976")])
                .file("a", "x"),
        ),
        (
            "a header for all",
            Tar::new()
                .push(Tar::header(EntryType::XGlobalHeader, b"g"), b"23 path=../../evil/x12\n"),
        ),
        ("an unknown kind", Tar::new().push(Tar::header(EntryType::new(b'Z'), b"a"), b"")),
        ("a full directory replaced", Tar::new().file("a/b", "").file("a", "")),
        (
            "deeper than deep",
            Tar::new().extensions(&[("path", "a/".repeat(1_000).as_bytes())]).file("a", ""),
        ),
        (
            "a name that is too long",
            Tar::new().extensions(&[("path", "a".repeat(300).as_bytes())]).file("a", ""),
        ),
        ("through a file", Tar::new().file("a", "").file("a/b", "")),
    ];
    let mut told = String::new();
    for (name, archive) in cases {
        let yard = Yard::new();
        let answer = match yard.unpack(&archive.bytes(), &ordinary()) {
            Ok(_) => "UNPACKED".to_owned(),
            Err(error) => error.sentence(),
        };
        writeln!(told, "{name}: {}", answer.chars().take(160).collect::<String>()).unwrap();
        yard.assert_outside_is_untouched();
        assert!(!PathBuf::from("/tmp/lamp-evil").exists() && !PathBuf::from("/tmp/evil").exists());
    }
    insta::assert_snapshot!(told);
}

#[test]
fn devices_and_attributes_and_what_is_ours_do_not_come_in() {
    let mut device = Tar::header(EntryType::Block, b"dev/sda");
    device.set_device_major(8).unwrap();
    device.set_device_minor(0).unwrap();
    let archive = Tar::new()
        .push(device, b"")
        .push(Tar::header(EntryType::Char, b"dev/hides"), b"")
        .push(Tar::header(EntryType::Fifo, b"pipe"), b"")
        .extensions(&[
            ("SCHILY.xattr.security.capability", b"\x01\0\0\x02\x0a\0\n\0"),
            ("SCHILY.xattr.trusted.overlay.redirect", b"/etc"),
            ("SCHILY.xattr.user.overlay.opaque", b"y"),
        ])
        .file("tool", "x")
        .file(".lamp/fake", "x")
        .bytes();
    let yard = Yard::new();
    let done = yard.unpack(&archive, &ordinary()).unwrap();
    assert_eq!((done.skipped, done.entries), (4, 5));
    assert!(!yard.at("dev").exists() && !yard.at("pipe").exists() && !yard.at(".lamp").exists());
    let mut names = [0; 256];
    assert_eq!(fs::listxattr(yard.at("tool"), &mut names).unwrap(), 0);
}

#[test]
fn an_archive_beyond_its_limits_is_stopped() {
    let many = (0..50).fold(Tar::new(), |tar, number| tar.file(&format!("{number}"), ""));
    let large = Tar::new().file("a", &"x".repeat(100_000));
    let headers = Tar::new().extensions(&[("comment", &vec![b'x'; 2 << 20])]).file("a", "");
    let mut huge = Tar::header(EntryType::Regular, b"huge");
    huge.set_size(1 << 60);
    huge.set_cksum();
    let huge = [huge.as_bytes().as_slice(), b"only a little"].concat();
    let long_name = {
        let mut name = Tar::header(EntryType::GNULongName, b"././@LongLink");
        name.set_size(1 << 40);
        name.set_cksum();
        [name.as_bytes().as_slice(), &vec![b'a'; 3 << 20]].concat()
    };
    let archives = [
        many.bytes(),
        large.bytes(),
        headers.bytes(),
        huge,
        long_name,
        b"this is not an archive".repeat(100),
    ];
    let limits = Limits { entries: 20, bytes: 60_000 };
    let wide = Limits { bytes: 8 << 20, ..limits };
    let told: Vec<String> = archives
        .iter()
        .zip([limits, limits, wide, wide, wide, wide])
        .map(|(archive, limits)| {
            let yard = Yard::new();
            yard.unpack(archive, &Rules { limits, ..ordinary() }).unwrap_err().sentence()
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    the archive has more than 20 entries
    the archive is larger than 60000 bytes unpacked
    the archive has headers of more than 1048576 bytes
    the entry `huge` is cut off: the archive ends in it
    the archive has headers of more than 1048576 bytes
    the archive cannot be read: numeric field was not a number: rchiveth when getting cksum for this is not an archivethis is not an archivethis is not an archivethis is not an archivethis is not
    ");
}

#[test]
fn what_a_layer_removes_is_marked_for_the_overlay() {
    let archive = Tar::new()
        .file(".wh.gone", "")
        .file("etc/.wh.gone", "")
        .file("emptied/.wh..wh..opq", "")
        .file("emptied/new", "x")
        .file(".wh.again", "")
        .directory("again")
        .file("again/new", "x")
        .directory("before")
        .file(".wh.before", "")
        .file("kept", "x")
        .file(".wh.kept", "")
        .file(".wh..wh.plnk/notes", "")
        .file(".wh..wh.aufs", "")
        .bytes();
    let yard = Yard::new();
    let done = yard.unpack(&archive, &rules(Whiteouts::Translated)).unwrap();
    assert_eq!((done.whiteouts, done.skipped), (6, 1));
    for path in ["gone", "etc/gone"] {
        let found = yard.at(path).symlink_metadata().unwrap();
        assert!(found.file_type().is_char_device() && found.rdev() == 0, "{path}");
    }
    assert_eq!(std::fs::read_to_string(yard.at("kept")).unwrap(), "x");
    let ground = Ground::open(&yard.layer()).unwrap();
    for (path, opaque) in [("emptied", true), ("again", true), ("before", true), ("etc", false)] {
        let path = Inside::parse(path.as_bytes()).unwrap();
        assert_eq!(ground.is_opaque(&path, owner()).unwrap(), opaque, "{path:?}");
    }
    for wrong in [".wh.", ".wh..", ".wh...", "a/.wh."] {
        let yard = Yard::new();
        assert!(
            yard.unpack(&Tar::new().file(wrong, "").bytes(), &rules(Whiteouts::Translated))
                .is_err(),
            "{wrong}"
        );
    }
}

/// The kernel is the judge of the marks.
#[test]
fn an_overlay_shows_what_the_layers_mean() {
    let lower = Tar::new()
        .file("gone", "")
        .file("stays", "")
        .file("emptied/old", "")
        .file("again/old", "")
        .file("etc/gone", "")
        .file("etc/stays", "");
    let upper = Tar::new()
        .file(".wh.gone", "")
        .file("etc/.wh.gone", "")
        .file("emptied/.wh..wh..opq", "")
        .file("emptied/new", "")
        .file(".wh.again", "")
        .directory("again")
        .file("again/new", "");
    let (below, above) = (Yard::new(), Yard::new());
    below.unpack(&lower.bytes(), &rules(Whiteouts::Translated)).unwrap();
    above.unpack(&upper.bytes(), &rules(Whiteouts::Translated)).unwrap();
    let attributes = if owner().base.is_some() { "" } else { ",userxattr" };
    let layers =
        format!("lowerdir={}:{}{attributes}", above.layer().display(), below.layer().display());
    let place = above.all.path().join("outside");
    let namespaces = if owner().base.is_some() { "-m" } else { "-Urm" };
    let shown = Command::new("unshare")
        .args([
            namespaces,
            "sh",
            "-c",
            r#"mount -t overlay -o "$1" none "$2" && cd "$2" && find . -type f | sort"#,
            "sh",
        ])
        .args([layers.as_str(), place.to_str().unwrap()])
        .output()
        .unwrap();
    if !shown.status.success() {
        let told = String::from_utf8_lossy(&shown.stderr);
        unsupported!("no overlay can be mounted here: {told}");
    }
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!(shown, "./again/new\n./emptied/new\n./etc/stays\n./stays\n");
}

#[test]
fn without_layers_below_a_mark_is_a_file() {
    let yard = Yard::new();
    yard.unpack(&Tar::new().file(".wh.x", "content").bytes(), &ordinary()).unwrap();
    assert_eq!(std::fs::read_to_string(yard.at(".wh.x")).unwrap(), "content");
}

/// A name or target, more often bad than good.
fn hostile_name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => Just("a".to_owned()), 4 => Just("b".to_owned()), 3 => Just("..".to_owned()), 1 => Just(".".to_owned()),
        1 => Just(String::new()), 1 => Just("outside".to_owned()), 1 => Just("sentinel".to_owned()),
        1 => Just(".wh.a".to_owned()), 1 => Just(".wh..wh..opq".to_owned()), 1 => Just(".wh...".to_owned()),
        1 => Just("proc/self/root".to_owned()),
    ];
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"))
}

fn hostile_entry() -> impl Strategy<Value = (Header, Vec<u8>)> {
    let kind = prop_oneof![
        3 => Just(EntryType::Regular), 3 => Just(EntryType::Directory), 4 => Just(EntryType::Symlink),
        3 => Just(EntryType::Link), 1 => Just(EntryType::Char), 1 => Just(EntryType::Fifo),
        1 => Just(EntryType::GNULongName), 1 => Just(EntryType::GNULongLink), 1 => Just(EntryType::XHeader),
        1 => any::<u8>().prop_map(EntryType::new),
    ];
    let ids = prop_oneof![5 => Just(0_u64), 1 => any::<u32>().prop_map(u64::from)];
    (kind, hostile_name(), hostile_name(), 0_u32..0o10000, ids).prop_map(
        |(kind, name, target, mode, id)| {
            let mut header = Tar::header(kind, name.as_bytes());
            header.set_mode(mode);
            header.set_uid(id);
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
            let content = if kind.is_file() {
                b"evil".to_vec()
            } else if kind.is_gnu_longname() || kind.is_gnu_longlink() {
                target.into_bytes()
            } else if kind.is_pax_local_extensions() {
                format!("{} path={target}\n", target.len() + 9).into_bytes()
            } else {
                Vec::new()
            };
            (header, content)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_is_in_an_archive_nothing_outside_changes(entries in prop::collection::vec(hostile_entry(), 1..8)) {
        for whiteouts in [Whiteouts::Translated, Whiteouts::Ordinary] {
            let yard = Yard::new();
            // One entry that cannot be taken ends an archive, so each is also tried alone behind a way out.
            let _ = yard.unpack(&archive_of(&entries), &rules(whiteouts));
            for entry in &entries {
                let yard = Yard::new();
                let way = (Tar::header(EntryType::Symlink, b"a"), Vec::new());
                let mut way = way;
                way.0.as_old_mut().linkname[..2].copy_from_slice(b"..");
                let _ = yard.unpack(&archive_of(&[way, entry.clone()]), &rules(whiteouts));
                yard.assert_outside_is_untouched();
            }
            yard.assert_outside_is_untouched();
        }
    }

    #[test]
    fn any_bytes_end_in_an_answer(mut bytes in prop::collection::vec(any::<u8>(), 0..3_000), flips in prop::collection::vec((0_usize..2_048, any::<u8>()), 0..4)) {
        let yard = Yard::new();
        let _ = yard.unpack(&bytes, &ordinary());
        let mut archive = Tar::new().directory("a").file("a/b", "content").symlink("c", "a").bytes();
        for (place, value) in flips {
            if let Some(byte) = archive.get_mut(place) {
                *byte = value;
            }
        }
        bytes.truncate(512);
        archive.append(&mut bytes);
        let _ = yard.unpack(&archive, &ordinary());
        yard.assert_outside_is_untouched();
    }
}

fn archive_of(entries: &[(Header, Vec<u8>)]) -> Vec<u8> {
    entries
        .iter()
        .fold(Tar::new(), |tar, (header, content)| tar.push(header.clone(), content))
        .bytes()
}
