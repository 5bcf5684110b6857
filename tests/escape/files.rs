//! Archives and links that lead elsewhere, while the host reads and writes.
//!
//! Every file operation of the host is done inside, by a process that has become the user. So nothing that a sandbox
//! does to its paths can lead to a file of the host; here that is tried, with a sentinel on both sides.

use std::time::Duration;

use contracts::sandbox::{FileAsk, Sandboxes as _, Transfer, User};
use domain::{agent::Tier, id::SandboxId};
use tar::{EntryType, Header};

use crate::{
    fixture::{Fixture, PROBE, command, is_root},
    table::Tally,
};

/// One entry of a hostile archive.
#[derive(Debug, Clone, Copy)]
struct Bad {
    name: &'static str,
    kind: EntryType,
    goal: &'static str,
    mode: u32,
}

const fn bad(name: &'static str, kind: EntryType, goal: &'static str) -> Bad {
    Bad { name, kind, goal, mode: 0o644 }
}

/// Built by hand: a library that writes archives refuses such names.
fn archive(entries: &[Bad]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let content: &[u8] =
            if entry.kind == EntryType::Regular { b"written by the archive\n" } else { b"" };
        let mut header = Header::new_gnu();
        let fields = header.as_gnu_mut().unwrap();
        fields.name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        fields.linkname[..entry.goal.len()].copy_from_slice(entry.goal.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_size(content.len() as u64);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1);
        if entry.kind == EntryType::Block {
            header.set_device_major(7).unwrap();
            header.set_device_minor(0).unwrap();
        }
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// What is sent, and whether it must be refused as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Refused,
    /// Taken, but harmless.
    Confined,
}

const SENTINEL: &str = "/home/lamp/sentinel";

#[tokio::test(flavor = "multi_thread")]
async fn hostile_archives_are_confined() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        fixture.shell(id, "mkdir -p /home/lamp/in; echo untouched > /home/lamp/sentinel").await;
        for user in crate::fixture::users() {
            hostile_archives(&fixture, tier, id, user, &mut tally).await;
        }
        many_entries(&fixture, tier, id, &mut tally).await;
        broken_archives(&fixture, tier, id, &mut tally).await;
    }
    fixture.end().await;
    tally.finish("archives", 52);
}

async fn hostile_archives(
    fixture: &Fixture,
    tier: Tier,
    id: SandboxId,
    user: User,
    tally: &mut Tally,
) {
    use EntryType as Kind;
    let cases: [(&str, Vec<Bad>, Verdict); 10] = [
        ("..", vec![bad("../sentinel", Kind::Regular, "")], Verdict::Refused),
        ("a/../..", vec![bad("a/../../sentinel", Kind::Regular, "")], Verdict::Refused),
        ("absolute", vec![bad("/home/lamp/sentinel", Kind::Regular, "")], Verdict::Refused),
        (
            "link, then file through it",
            vec![bad("out", Kind::Symlink, "/home/lamp"), bad("out/sentinel", Kind::Regular, "")],
            Verdict::Refused,
        ),
        (
            "link, then file in its place",
            vec![bad("l", Kind::Symlink, "/home/lamp/sentinel"), bad("l", Kind::Regular, "")],
            Verdict::Confined,
        ),
        (
            "hard link out, then written through",
            vec![bad("h", Kind::Link, "../sentinel"), bad("h", Kind::Regular, "")],
            Verdict::Refused,
        ),
        (
            "hard link through a link",
            vec![bad("d", Kind::Symlink, "/home/lamp"), bad("h", Kind::Link, "d/sentinel")],
            Verdict::Refused,
        ),
        ("a device", vec![bad("b", Kind::Block, "")], Verdict::Refused),
        ("a pipe", vec![bad("p", Kind::Fifo, "")], Verdict::Refused),
        (
            "set-uid bits",
            vec![Bad { mode: 0o6755, ..bad("suid", Kind::Regular, "") }],
            Verdict::Confined,
        ),
    ];
    for (name, entries, verdict) in cases {
        let ask = FileAsk::TarIn { path: "/home/lamp/in".to_owned(), user };
        let (transfer, _) = fixture.file(id, &ask, &archive(&entries)).await.unwrap();
        let refused = matches!(transfer, Transfer::Failed { .. });
        let sentinel = fixture.shell(id, &format!("cat {SENTINEL}")).await;
        let odd = "find /home/lamp/in -perm /6000 -o -type b -o -type p | wc -l";
        let odd = fixture.shell(id, odd).await;
        let holds =
            refused == (verdict == Verdict::Refused) && sentinel == "untouched" && odd == "0";
        let what = format!("44 {tier} {user:?} archive: {name}");
        let shown = format!("{transfer:?}, sentinel {sentinel}, {odd} odd files");
        tally.check(&what, &shown, holds.into());
        fixture.run(id, user, &["/bin/rm", "-rf", "/home/lamp/in"]).await.unwrap();
        fixture.shell(id, "mkdir -p /home/lamp/in").await;
    }
    // The control: an honest archive arrives, so it was not the way that was closed.
    let honest = archive(&[bad("honest/file", Kind::Regular, "")]);
    let ask = FileAsk::TarIn { path: "/home/lamp/in".to_owned(), user };
    let (transfer, _) = fixture.file(id, &ask, &honest).await.unwrap();
    let there = fixture.shell(id, "cat /home/lamp/in/honest/file").await;
    let holds = transfer == Transfer::Done && there == "written by the archive";
    tally.check(&format!("44 {tier} {user:?} archive: honest"), &there, holds.into());
    fixture.run(id, user, &["/bin/rm", "-rf", "/home/lamp/in/honest"]).await.unwrap();
}

/// More entries than the disk takes: refused at some point, and the sandbox answers.
async fn many_entries(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    const ENTRIES: usize = 5_000;
    let one = archive(&[bad("same", EntryType::Symlink, "x")]);
    // Without the two empty blocks at the end.
    let many = one[..512].repeat(ENTRIES);
    let ask = FileAsk::TarIn { path: "/home/lamp/in".to_owned(), user: User::Agent };
    let (transfer, _) = fixture.file(id, &ask, &many).await.unwrap();
    let answers = fixture.answers(id).await;
    let what = format!("44 {tier} archive: {ENTRIES} entries of one name, and no end");
    tally.check(&what, &format!("{transfer:?}"), answers.into());
}

/// Cut off, nonsense, and a size that no disk has.
async fn broken_archives(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    let mut huge = archive(&[bad("huge", EntryType::Regular, "")]);
    // 1 EiB, as large sizes are written; the checksum is made anew.
    huge[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0]);
    let sum: u32 = huge[..512]
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
        .sum();
    huge[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let whole = archive(&[bad("cut", EntryType::Regular, "")]);
    for (name, bytes) in
        [("nonsense", vec![0xa5; 4096]), ("cut off", whole[..520].to_vec()), ("says 1 EiB", huge)]
    {
        let ask = FileAsk::TarIn { path: "/home/lamp/in".to_owned(), user: User::Agent };
        let (transfer, _) = fixture.file(id, &ask, &bytes).await.unwrap();
        let holds = matches!(transfer, Transfer::Failed { .. }) && fixture.answers(id).await;
        tally.check(&format!("44 {tier} archive: {name}"), &format!("{transfer:?}"), holds.into());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_are_swapped_meanwhile_lead_nowhere() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    // A directory of the host by its own name: it has a sentinel, and must keep it.
    let host = fixture.at.path().join("prize");
    std::fs::create_dir(&host).unwrap();
    std::fs::write(host.join("file"), "of the host").unwrap();
    let goal = host.display().to_string();
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        let long = "1500";
        let swapping = command(User::Agent, &[PROBE, "swap-links", "/home/lamp/race", &goal, long]);
        // The same inside, where a link may lead, but only as the user may go.
        let inside = command(User::Agent, &[PROBE, "swap-links", "/home/lamp/etc", "/etc", long]);
        let (swaps, _, operations) = tokio::join!(
            fixture.exec(id, &swapping),
            fixture.exec(id, &inside),
            operate(&fixture, id)
        );
        let swaps = swaps.map(|said| said.text());
        let kept = std::fs::read_to_string(host.join("file")).unwrap();
        let names = std::fs::read_dir(&host).unwrap().count();
        let shown = format!("{swaps:?} swaps, {operations} operations, the host's file: {kept}");
        let holds = kept == "of the host" && names == 1 && fixture.answers(id).await;
        tally.check(&format!("43 {tier} swapped links"), &shown, holds.into());
        let what = format!("43 {tier} files of root inside");
        let look = "find /etc -newer /home/lamp/probe -type f | grep -c race";
        let found = fixture.shell(id, look).await;
        if is_root() {
            tally.check(&what, &found, (found == "0").into());
        } else {
            tally.unsupported(&what, "there is only one user inside");
        }
        fixture.provider.destroy(id).await.unwrap();
    }
    a_link_is_not_followed_by_the_host(&fixture, &mut tally).await;
    fixture.end().await;
    tally.finish("races", 12);
}

/// Everything that a host does with files, on the paths that are being swapped.
async fn operate(fixture: &Fixture, id: SandboxId) -> u32 {
    let small = archive(&[bad("race/file", EntryType::Regular, "")]);
    let mut count = 0;
    let end = std::time::Instant::now() + Duration::from_millis(1_400);
    while std::time::Instant::now() < end {
        for place in ["/home/lamp/race", "/home/lamp/etc"] {
            let path = place.to_owned();
            let file = format!("{place}/race");
            let user = User::Agent;
            for (ask, input) in [
                (FileAsk::Write { path: file.clone(), user, mode: 0o644 }, &b"written"[..]),
                (FileAsk::Read { path: file, user }, &[]),
                (FileAsk::List { path: path.clone(), user }, &[]),
                (FileAsk::TarIn { path: path.clone(), user }, &small[..]),
                (FileAsk::TarOut { path, user }, &[]),
            ] {
                // Most fail, as they should; none may reach the host.
                let done = fixture.file(id, &ask, input).await;
                if let Ok((_, out)) = done {
                    assert!(!String::from_utf8_lossy(&out).contains("of the host"), "{ask:?}");
                }
                count += 1;
            }
        }
    }
    count
}

/// A link to a file of the host leads to a file inside, or to none. The control: the link itself is read inside.
async fn a_link_is_not_followed_by_the_host(fixture: &Fixture, tally: &mut Tally) {
    let secret = fixture.at.path().join("secret");
    std::fs::write(&secret, "host secret").unwrap();
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        let link = format!("ln -s {} /home/lamp/link; readlink /home/lamp/link", secret.display());
        let said = fixture.shell(id, &link).await;
        assert_eq!(said, secret.display().to_string());
        for user in crate::fixture::users() {
            for ask in [
                FileAsk::Read { path: "/home/lamp/link".to_owned(), user },
                FileAsk::TarOut { path: "/home/lamp/link".to_owned(), user },
            ] {
                let (transfer, out) = fixture.file(id, &ask, &[]).await.unwrap();
                let told = String::from_utf8_lossy(&out).contains("secret");
                let refused = matches!(transfer, Transfer::Failed { .. }) && !told;
                let what = format!("43 {tier} {user:?} {ask:?}");
                tally.check(&what, &format!("{transfer:?}"), refused.into());
            }
        }
        if !is_root() {
            tally.unsupported(&format!("43 {tier} as root inside"), "there is none here");
        }
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "host secret");
}
