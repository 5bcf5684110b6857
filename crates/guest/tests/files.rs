//! File operations, and archives that mean no good.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
};

use guest::protocol::{Ask, Ending, Entry, FileJob, Job, Kind, Tell, Who};
use support::{CHANNEL, Guest, Said, names};
use tar::{Builder, EntryType, Header};

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn errno(said: &Said) -> i32 {
    match said.ending() {
        Ending::Failed { errno, .. } => errno,
        Ending::Exited(_) | Ending::Signaled(_) | Ending::TimedOut | Ending::Killed => 0,
    }
}

#[test]
fn files_can_be_looked_at() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let here = guest.scratch();
    fs::write(here.join("file"), "12345").unwrap();
    fs::create_dir(here.join("directory")).unwrap();
    symlink("/nowhere", here.join("link")).unwrap();
    let said = host.file(FileJob::List { path: text(&here) }, b"");
    assert_eq!(names(&said), ["directory", "file", "link"]);
    let said = host.file(FileJob::Stat { path: text(&here.join("file")) }, b"");
    let [entry]: [Entry; 1] = said.messages().try_into().unwrap();
    assert_eq!((entry.name.as_str(), entry.kind, entry.size), ("file", Kind::File, 5));
    let said = host.file(FileJob::Stat { path: text(&here.join("link")) }, b"");
    assert_eq!(said.messages::<Entry>()[0].kind, Kind::Symlink);
    for missing in [
        FileJob::Stat { path: "/no/where".to_owned() },
        FileJob::List { path: "/no/where".to_owned() },
        FileJob::Read { path: "/no/where".to_owned() },
        FileJob::TarOut { path: "/no/where".to_owned() },
        FileJob::TarIn { path: "/no/where".to_owned() },
        FileJob::Watch { path: "/no/where".to_owned() },
        FileJob::Write { path: "/no/where".to_owned(), mode: 0o600 },
    ] {
        let said = host.file(missing, b"");
        let expected = Ending::Failed { what: "/no/where".to_owned(), errno: libc::ENOENT };
        assert_eq!(said.ending(), expected);
    }
}

#[test]
fn content_is_written_whole_and_read_back() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let path = guest.scratch().join("file");
    fs::write(&path, "old").unwrap();
    let content: Vec<u8> = (0..2_000_000_u32).map(|i| u8::try_from(i % 241).unwrap()).collect();
    let said = host.file(FileJob::Write { path: text(&path), mode: 0o7751 }, &content);
    assert_eq!(said.ending(), Ending::Exited(0));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
    let said = host.file(FileJob::Read { path: text(&path) }, b"");
    assert!(said.out == content);
}

#[test]
fn a_write_that_is_given_up_changes_nothing() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let path = guest.scratch().join("file");
    fs::write(&path, "old").unwrap();
    let job = FileJob::Write { path: text(&path), mode: 0o644 };
    host.open(CHANNEL, Job::File { who: Who::Agent, job }).unwrap();
    host.input(CHANNEL, 0, b"half of what was to c");
    while fs::read_dir(guest.scratch()).unwrap().count() < 2 {
        host.ping(1);
    }
    host.ask(&Ask::Kill { channel: CHANNEL });
    assert_eq!(host.finish(CHANNEL, 0).ending(), Ending::Killed);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(guest.scratch()).unwrap().count(), 1);
}

#[test]
fn a_watch_tells_what_changes() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let here = guest.scratch();
    let job = FileJob::Watch { path: text(&here) };
    host.open(CHANNEL, Job::File { who: Who::Agent, job }).unwrap();
    host.credit(CHANNEL, 0);
    let mut said = Said::default();
    let mut written = false;
    while !said.messages::<String>().contains(&"new file".to_owned()) {
        if let Tell::Output { bytes, .. } = host.tell() {
            said.out.extend(bytes);
        }
        // The first message says that the watch stands.
        if !written && said.messages::<String>() == [""] {
            fs::write(here.join("new file"), "x").unwrap();
            written = true;
        }
    }
    host.ask(&Ask::Kill { channel: CHANNEL });
    assert_eq!(host.finish(CHANNEL, said.out.len() as u64).ending(), Ending::Killed);
}

#[test]
fn a_tree_comes_back_as_it_went() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let (from, to) = (guest.scratch().join("from"), guest.scratch().join("to"));
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    fs::create_dir_all(from.join("a/b")).unwrap();
    fs::create_dir_all(from.join("closed")).unwrap();
    fs::create_dir_all(from.join(Path::new(&long).parent().unwrap())).unwrap();
    fs::write(from.join("a/b/script"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(from.join("a/b/script"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(from.join(&long), "long").unwrap();
    fs::write(from.join("closed/inside"), "x").unwrap();
    fs::set_permissions(from.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    fs::write(from.join("large"), vec![7; 1_000_000]).unwrap();
    symlink("a/b", from.join("link")).unwrap();
    let archive = host.file(FileJob::TarOut { path: text(&from) }, b"");
    assert_eq!(archive.ending(), Ending::Exited(0));
    let said = host.file(FileJob::TarIn { path: text(&to) }, &archive.out);
    assert_eq!(said.ending(), Ending::Exited(0));
    assert_eq!(fs::read_to_string(to.join("a/b/script")).unwrap(), "#!/bin/sh\n");
    assert_eq!(fs::metadata(to.join("a/b/script")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(fs::metadata(to.join("closed")).unwrap().mode() & 0o7777, 0o555);
    assert_eq!(fs::read_to_string(to.join("closed/inside")).unwrap(), "x");
    assert_eq!(fs::read_to_string(to.join(long)).unwrap(), "long");
    assert_eq!(fs::read(to.join("large")).unwrap(), vec![7; 1_000_000]);
    assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("a/b"));
    let times = |root: &Path| fs::metadata(root.join("large")).unwrap().mtime();
    assert_eq!(times(&from), times(&to));
}

/// An entry that a well-behaved writer would refuse to write.
fn entry(kind: EntryType, name: &str, link: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    let raw = header.as_old_mut();
    raw.name[..name.len()].copy_from_slice(name.as_bytes());
    raw.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o6777);
    header.set_size(content.len() as u64);
    header.set_mtime(0);
    if kind == EntryType::GNUSparse {
        // One hole of eight gigabytes.
        let gnu = header.as_gnu_mut().unwrap();
        gnu.realsize = *b"77777777777\0";
        gnu.sparse[0].offset = *b"77777777777\0";
        gnu.sparse[0].numbytes = *b"00000000000\0";
    }
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn hostile_archives_touch_nothing_outside() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let outside = guest.scratch().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("sentinel"), "untouched").unwrap();
    let out = text(&outside);
    let regular = EntryType::Regular;
    let link_out = entry(EntryType::Symlink, "way", &out, b"");
    let link_to_file = entry(EntryType::Symlink, "sentinel", &format!("{out}/sentinel"), b"");
    let cases = [
        ("a name with dots", entry(regular, "../outside/sentinel", "", b"evil"), libc::EINVAL),
        (
            "dots in the middle",
            entry(regular, "a/../../outside/sentinel", "", b"evil"),
            libc::EINVAL,
        ),
        ("an absolute name", entry(regular, &format!("{out}/sentinel"), "", b"evil"), libc::EINVAL),
        (
            "through a link",
            [link_out.clone(), entry(regular, "way/sentinel", "", b"evil")].concat(),
            libc::ENOTDIR,
        ),
        (
            "a directory through a link",
            [link_out.clone(), entry(EntryType::Directory, "way/new", "", b"")].concat(),
            libc::ENOTDIR,
        ),
        (
            "a directory in place of a link",
            [link_out.clone(), entry(EntryType::Directory, "way", "", b"")].concat(),
            libc::ENOTDIR,
        ),
        (
            "over a link",
            [link_to_file.clone(), entry(regular, "sentinel", "", b"evil")].concat(),
            0,
        ),
        (
            "a hard link out",
            entry(EntryType::Link, "hard", "../outside/sentinel", b""),
            libc::EINVAL,
        ),
        (
            "a hard link through a link",
            [link_out, entry(EntryType::Link, "hard", "way/sentinel", b"")].concat(),
            libc::ENOTDIR,
        ),
        (
            "a hard link to a link",
            [link_to_file, entry(EntryType::Link, "hard", "sentinel", b"")].concat(),
            libc::EPERM,
        ),
        ("a device", entry(EntryType::Char, "null", "", b""), libc::EINVAL),
        ("a disk", entry(EntryType::Block, "sda", "", b""), libc::EINVAL),
        ("a pipe", entry(EntryType::Fifo, "pipe", "", b""), libc::EINVAL),
        ("a file with holes", entry(EntryType::GNUSparse, "holes", "", b""), libc::EINVAL),
    ];
    for (index, (what, mut archive, expected)) in cases.into_iter().enumerate() {
        archive.extend([0; 1024]);
        let inside = guest.scratch().join(format!("inside{index}"));
        let said = host.file(FileJob::TarIn { path: text(&inside) }, &archive);
        assert_eq!(errno(&said), expected, "{what}: {:?}", said.ending());
        assert_eq!(fs::read_to_string(outside.join("sentinel")).unwrap(), "untouched", "{what}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{what}");
        assert_eq!(fs::metadata(outside.join("sentinel")).unwrap().nlink(), 1, "{what}");
    }
}

#[test]
fn bits_that_give_privileges_are_dropped() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let mut archive = entry(EntryType::Regular, "program", "", b"x");
    archive.extend(entry(EntryType::Directory, "directory/", "", b""));
    archive.extend([0; 1024]);
    let inside = guest.scratch().join("inside");
    let said = host.file(FileJob::TarIn { path: text(&inside) }, &archive);
    assert_eq!(said.ending(), Ending::Exited(0));
    for name in ["program", "directory"] {
        assert_eq!(fs::metadata(inside.join(name)).unwrap().mode() & 0o7777, 0o777, "{name}");
    }
}

#[test]
fn an_archive_that_is_cut_off_or_no_archive_at_all_is_an_error() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let whole = entry(EntryType::Regular, "file", "", &[1; 5000]);
    for broken in [&whole[..1000], &[0x5a; 5000][..]] {
        let path = text(&guest.scratch().join("inside"));
        let said = host.file(FileJob::TarIn { path }, broken);
        assert!(matches!(said.ending(), Ending::Failed { .. }), "{:?}", said.ending());
    }
    host.ping(1);
}

#[test]
fn a_name_as_long_as_the_memory_kills_only_its_own_child() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(1 << 30);
    header.set_cksum();
    let job = FileJob::TarIn { path: text(&guest.scratch().join("inside")) };
    host.open(CHANNEL, Job::File { who: Who::Agent, job }).unwrap();
    let mut archive = header.as_bytes().to_vec();
    archive.resize(400 << 20, b'a');
    let (mut sent, mut ending) = (0, None);
    while ending.is_none() {
        match host.tell() {
            Tell::InputCredit { upto, .. } => {
                let upto = usize::try_from(upto).unwrap().min(archive.len());
                for chunk in archive[sent..upto].chunks(32 * 1024) {
                    host.input(CHANNEL, sent as u64, chunk);
                    sent += chunk.len();
                }
            }
            Tell::Ended { ending: how, .. } => ending = Some(how),
            Tell::Hello { .. }
            | Tell::Opened { .. }
            | Tell::Refused { .. }
            | Tell::Output { .. }
            | Tell::Channels(_)
            | Tell::Pong { .. } => {}
        }
    }
    assert_ne!(ending, Some(Ending::Exited(0)));
    assert!(sent < archive.len(), "it took all of it");
    host.ping(1);
}

#[test]
fn a_file_that_changes_while_it_is_packed_does_not_break_the_archive() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let from = guest.scratch().join("from");
    fs::create_dir(&from).unwrap();
    let mut file = fs::File::create(from.join("growing")).unwrap();
    file.write_all(&vec![1; 4_000_000]).unwrap();
    fs::write(from.join("other"), "other").unwrap();
    let job = FileJob::TarOut { path: text(&from) };
    host.open(CHANNEL, Job::File { who: Who::Agent, job }).unwrap();
    host.credit(CHANNEL, 0);
    // The ring is full before the file is packed; then it shrinks.
    let mut first = Vec::new();
    while first.is_empty() {
        if let Tell::Output { bytes, .. } = host.tell() {
            first = bytes;
        }
    }
    file.set_len(10).unwrap();
    let said = host.finish(CHANNEL, first.len() as u64);
    assert_eq!(said.ending(), Ending::Exited(0));
    first.extend(said.out);
    let mut archive = tar::Archive::new(first.as_slice());
    let mut found: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    found.sort();
    assert_eq!(found, ["growing", "other"]);
}

#[test]
fn many_small_files_arrive() {
    let guest = Guest::start();
    let mut host = guest.connect();
    let mut builder = Builder::new(Vec::new());
    for number in 0..3000 {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(1);
        let name = format!("d{}/e{}/f{number}", number % 7, number % 31);
        builder.append_data(&mut header, name, &b"x"[..]).unwrap();
    }
    let inside = guest.scratch().join("inside");
    let archive = builder.into_inner().unwrap();
    let said = host.file(FileJob::TarIn { path: text(&inside) }, &archive);
    assert_eq!(said.ending(), Ending::Exited(0));
    assert!(inside.join("d0/e0/f0").exists());
    let said = host.file(FileJob::List { path: text(&inside) }, b"");
    assert_eq!(names(&said).len(), 7);
}
