//! Becoming more than one is.

use std::{
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    process::Command,
};

use contracts::sandbox::User;
use domain::{agent::Tier, id::SandboxId};

use crate::{
    calls::{Knob, play},
    fixture::{Fixture, is_root, outside, program, users},
    table::{Row, Tally, row},
};

/// What root inside may do with its own files, users and ports, and nothing else.
const OF_ROOT_INSIDE: u64 = 0x8004_04fb;

/// Nobody's.
const NOBODY: u32 = 65_534;

fn rows() -> Vec<Row> {
    let refused: &[&str] = &["denied EPERM", "denied EACCES"];
    vec![
        row(61, "real-time", refused),
        row(61, "nice", refused),
        row(61, "io-real-time", refused),
        row(49, "raise-limit", refused),
        row(60, "out-of-memory-score -1000", refused),
        match can_raise_limits() {
            Knob::Set => row(60, "out-of-memory-score 0", refused),
            Knob::Unset => row(60, "out-of-memory-score 0", refused)
                .unless("the launcher lacks CAP_SYS_RESOURCE here, and then the kernel forgets the least score"),
        },
        row(53, "no-new-privileges", &["value 1"]),
    ]
}

/// What makes the kernel take a score for the least that a process may give itself.
fn can_raise_limits() -> Knob {
    const RESOURCE: u64 = 1 << 24;
    let own = outside(&["capabilities"]);
    let bits = own.strip_prefix("value ").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    if bits.is_some_and(|bits| bits & RESOURCE != 0) { Knob::Set } else { Knob::Unset }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_becomes_more_than_he_is() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    play(&fixture, &rows(), &mut tally).await;
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        identities(&fixture, tier, id, &mut tally).await;
        if is_root() {
            privileged_files(&fixture, tier, id, &mut tally).await;
            roots_of_their_own(&fixture, tier, id, &mut tally).await;
        } else {
            tally.unsupported(&format!("53 {tier} privileged files"), "needs a root inside");
        }
        the_first_process_stays(&fixture, tier, id, &mut tally).await;
    }
    fixture.end().await;
    tally.finish("privileges", 50);
}

async fn identities(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    for user in users() {
        let most = match user {
            User::Agent => 0,
            User::Root => OF_ROOT_INSIDE,
        };
        let found = fixture.probe(id, user, &["capabilities"]).await;
        let bits = found.strip_prefix("value ").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let holds = bits.is_some_and(|bits| bits & !most == 0);
        tally.check(&format!("53 {tier} {user:?} capabilities"), &found, holds.into());
        let found = fixture.probe(id, user, &["bounding"]).await;
        let bits = found.strip_prefix("value ").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let holds = bits.is_some_and(|bits| bits & !OF_ROOT_INSIDE == 0);
        tally.check(&format!("53 {tier} {user:?} bounding set"), &found, holds.into());
    }
    let found = fixture.probe(id, User::Agent, &["setuid", "0"]).await;
    let holds = found == "denied EPERM" || found == "denied EINVAL";
    tally.check(&format!("53 {tier} Agent setuid 0"), &found, holds.into());
}

/// Root inside makes programs that would give their user more; the agent runs them, and gets nothing. Outside, the
/// same programs give nobody what they promise.
async fn privileged_files(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    for (make, ask, nothing) in [
        ("make-setuid", "who", "value 1000 1000"),
        ("make-capable", "capabilities", "value 0000000000000000"),
    ] {
        let path = format!("/home/lamp/{make}");
        let made = fixture.probe(id, User::Root, &[make, &path]).await;
        let ran = fixture.run(id, User::Agent, &[&path, ask]).await.unwrap().text();
        let control = as_nobody(make, ask);
        let what = format!("53 {tier} Agent {make}");
        let shown = format!("made: {made}, ran: {ran}; outside: {control}");
        let promised = match ask {
            "who" => control == "value 65534 0",
            _capabilities => control.starts_with("value ") && control != nothing,
        };
        match (ran == nothing, promised) {
            (true, true) => tally.passed(&what, &shown),
            (true, false) => tally.unsupported(&what, &shown),
            (false, _) => tally.failed(&what, &shown),
        }
    }
}

fn as_nobody(make: &str, ask: &str) -> String {
    let at = tempfile::tempdir().unwrap();
    std::fs::set_permissions(at.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = at.path().join("program");
    let copied = Command::new(program()).arg(make).arg(&path).output().unwrap();
    assert!(copied.status.success());
    let ran = Command::new(&path).arg(ask).uid(NOBODY).gid(NOBODY).current_dir("/").output();
    ran.map_or_else(
        |error| error.to_string(),
        |ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned(),
    )
}

/// Climbing out of a changed root leads to the sandbox's root at most.
async fn roots_of_their_own(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    let own = fixture.probe(id, User::Root, &["list", "/"]).await;
    let climbed = fixture.probe(id, User::Root, &["chroot-escape"]).await;
    let control = outside(&["outside", "chroot-escape"]);
    let holds = climbed == own && control != own && control.starts_with("value ");
    tally.check(&format!("55 {tier} Root chroot-escape"), &climbed, holds.into());
    let agents = fixture.probe(id, User::Agent, &["chroot-escape"]).await;
    let holds = agents == "denied EPERM";
    tally.check(&format!("55 {tier} Agent chroot-escape"), &agents, holds.into());
    // What root changes in its own image stays in its own sandbox.
    let other = fixture.open(tier).await;
    fixture.run(id, User::Root, &["/bin/sh", "-c", "echo evil >> /etc/passwd"]).await.unwrap();
    let own = fixture.shell(id, "grep -c evil /etc/passwd").await;
    let foreign = fixture.shell(other, "grep -c evil /etc/passwd").await;
    let host = std::fs::read_to_string("/etc/passwd").unwrap().contains("evil");
    let holds = own == "1" && foreign == "0" && !host;
    tally.check(&format!("45 {tier} Root changes an image's file"), &foreign, holds.into());
}

/// Signals to the first process do nothing, and a storm of them leaves a sandbox that answers.
async fn the_first_process_stays(fixture: &Fixture, tier: Tier, id: SandboxId, tally: &mut Tally) {
    for user in users() {
        if (tier, user) == (Tier::Untrusted, User::Root) {
            let what = "51 untrusted Root signals to the first process";
            tally.unsupported(what, "gVisor lets its root end its own sandbox");
            continue;
        }
        for signal in ["9", "19", "11", "15"] {
            let said = fixture.probe(id, user, &["signal", "1", signal]).await;
            let answers = fixture.answers(id).await;
            let what = format!("51 {tier} {user:?} signal {signal} to the first process");
            tally.check(&what, &said, answers.into());
        }
        let said = fixture.probe(id, user, &["kill-all"]).await;
        let answers = fixture.answers(id).await;
        let what = format!("51 {tier} {user:?} SIGKILL to everybody");
        tally.check(&what, &said, answers.into());
    }
}
