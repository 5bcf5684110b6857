//! Using up what others need: processes, memory, processor, disk, terminals, output.
//!
//! Every storm has a neighbour, which must not notice.

use std::time::{Duration, Instant};

use contracts::sandbox::{Compute, Cut, Ended, SandboxError, Sandboxes as _, Spec, User};
use domain::{agent::Tier, id::SandboxId};

use crate::{
    fixture::{Fixture, GUARANTEED_BYTES, PROBE, command, outside},
    host,
    table::Tally,
};

const MIB: u64 = 1 << 20;

/// Of the room that all disks share, where it is to be small.
const POOL_BYTES: u64 = 512 << 20;

/// The probe alone takes most of it.
const DISK_MIB: u32 = 8;

/// Small, so that it is soon used up.
fn small(fixture: &Fixture, tier: Tier) -> Spec {
    let compute = Compute {
        cpu_millis: 1_000,
        memory_mib: 96,
        disk_mib: DISK_MIB,
        processes: 64,
        ..Compute::default()
    };
    Spec { compute, ..fixture.spec(tier) }
}

/// A line such as `value 17 EAGAIN`.
fn refused_at(line: &str) -> Option<(u64, &str)> {
    let (count, error) = line.strip_prefix("value ")?.split_once(' ')?;
    Some((count.parse().ok()?, error))
}

/// The walls of the untrusted tier are another's; its limits are ours, but it needs more than a small sandbox has.
fn tiers(fixture: &Fixture, tally: &mut Tally) -> Vec<Tier> {
    let (foreign, ours) =
        fixture.tiers().into_iter().partition::<Vec<_>, _>(|tier| *tier == Tier::Untrusted);
    for tier in foreign {
        tally.unsupported(&format!("{tier} storms"), "gVisor itself does not fit into the limits");
    }
    if !host::storms_are_contained(fixture) {
        tally.unsupported("every tier: storms", "no control groups for us here: see `lamp doctor`");
        return Vec::new();
    }
    ours
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_and_memory_run_out_for_one_sandbox_only() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in tiers(&fixture, &mut tally) {
        let neighbour = fixture.open_as(&small(&fixture, tier)).await;
        fork_bomb(&fixture, tier, neighbour, &mut tally).await;
        destroyed_bomb(&fixture, tier, &mut tally).await;
        leftover_processes(&fixture, tier, &mut tally).await;
        memory_bomb(&fixture, tier, neighbour, &mut tally).await;
        shared_memory(&fixture, tier, &mut tally).await;
        let answers = fixture.answers(neighbour).await;
        tally.check(&format!("{tier} the neighbour at the end"), "answers", answers.into());
    }
    let least = if host::storms_are_contained(&fixture) { 30 } else { 0 };
    fixture.end().await;
    tally.finish("processes and memory", least);
}

async fn fork_bomb(fixture: &Fixture, tier: Tier, neighbour: SandboxId, tally: &mut Tally) {
    let id = fixture.open_as(&small(fixture, tier)).await;
    let mut bomb = command(User::Agent, &[PROBE, "fork-bomb"]);
    bomb.limit = Duration::from_secs(2);
    let meanwhile = async {
        let mut most = 0;
        let mut slowest = Duration::ZERO;
        let end = Instant::now() + Duration::from_millis(1_500);
        while Instant::now() < end {
            most = most.max(fixture.provider.stats(id).await.unwrap().processes);
            let asked = Instant::now();
            assert!(fixture.answers(neighbour).await);
            slowest = slowest.max(asked.elapsed());
        }
        (most, slowest)
    };
    let (ended, (most, slowest)) = tokio::join!(fixture.exec(id, &bomb), meanwhile);
    let ended = ended.unwrap();
    let said = ended.text();
    let first = said.lines().next().unwrap_or_default();
    let named = refused_at(first).is_some_and(|(count, error)| count <= 64 && error == "EAGAIN");
    tally.check(&format!("59 {tier} a fork bomb is refused"), first, named.into());
    let within = (32..=64).contains(&most);
    tally.check(&format!("59 {tier} processes at most"), &most.to_string(), within.into());
    let shown = format!("{slowest:?} at most for a command");
    let quick = slowest < Duration::from_secs(3);
    tally.check(&format!("59 {tier} its neighbour meanwhile"), &shown, quick.into());
    let timed_out = ended.finished.ending == Ended::TimedOut;
    let shown = format!("{:?}", ended.finished.ending);
    tally.check(&format!("59 {tier} a fork bomb ends in time"), &shown, timed_out.into());
    let answers = fixture.answers(id).await;
    tally.check(&format!("59 {tier} its sandbox afterwards"), "answers", answers.into());
    let threads = fixture.probe(id, User::Agent, &["threads"]).await;
    let held = refused_at(&threads).is_some_and(|(count, _)| count <= 64);
    tally.check(&format!("59 {tier} threads"), &threads, held.into());
    fixture.provider.destroy(id).await.unwrap();
}

/// Destroyed while it rages.
async fn destroyed_bomb(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    let id = fixture.open_as(&small(fixture, tier)).await;
    let inside = host::Inside::of(fixture, id);
    let bomb = command(User::Agent, &[PROBE, "fork-bomb"]);
    let destroying = async {
        while inside.processes() < 32 {
            tests::arena::pause(Duration::from_millis(10)).await;
        }
        let asked = Instant::now();
        fixture.provider.destroy(id).await.unwrap();
        let acknowledged = asked.elapsed();
        inside.emptied(Duration::from_secs(10)).await;
        (acknowledged, asked.elapsed())
    };
    let (ended, (acknowledged, gone)) = tokio::join!(fixture.exec(id, &bomb), destroying);
    let shown = format!("acknowledged after {acknowledged:?}, gone after {gone:?}");
    let quick = ended.is_err() && gone < Duration::from_secs(5) && inside.processes() == 0;
    tally.check(&format!("59 {tier} a raging bomb is destroyed"), &shown, quick.into());
}

async fn leftover_processes(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    let id = fixture.open_as(&small(fixture, tier)).await;
    let inside = host::Inside::of(fixture, id);
    let said = fixture.probe(id, User::Agent, &["zombies", "40"]).await;
    let reaped = host::until(Duration::from_secs(5), || inside.processes() <= 2).await;
    tally.check(&format!("59 {tier} orphans are reaped"), &said, reaped.into());
    let said = fixture.probe(id, User::Agent, &["daemons", "10"]).await;
    let answers = fixture.answers(id).await;
    tally.check(&format!("59 {tier} daemons that ignore signals"), &said, answers.into());
    let before = inside.processes();
    fixture.provider.destroy(id).await.unwrap();
    inside.emptied(Duration::from_secs(5)).await;
    let shown = format!("{before} before, {} after", inside.processes());
    let none = inside.processes() == 0;
    tally.check(&format!("59 {tier} daemons go with their sandbox"), &shown, none.into());
}

async fn memory_bomb(fixture: &Fixture, tier: Tier, neighbour: SandboxId, tally: &mut Tally) {
    let id = fixture.open_as(&small(fixture, tier)).await;
    let ended = fixture.run(id, User::Agent, &[PROBE, "memory-bomb"]).await.unwrap();
    let shown = format!("{:?}", ended.finished.ending);
    let named = matches!(ended.finished.ending, Ended::OutOfMemory { peak_mib } if (80..=96).contains(&peak_mib));
    tally.check(&format!("60 {tier} a memory bomb is named"), &shown, named.into());
    let counted = fixture.provider.stats(id).await.unwrap().out_of_memory;
    tally.check(&format!("60 {tier} and counted"), &counted.to_string(), (counted > 0).into());
    let foreign = fixture.provider.stats(neighbour).await.unwrap().out_of_memory;
    let unharmed = foreign == 0 && fixture.answers(neighbour).await;
    tally.check(&format!("60 {tier} not for its neighbour"), &foreign.to_string(), unharmed.into());
    let answers = fixture.answers(id).await;
    tally.check(&format!("60 {tier} its sandbox afterwards"), "answers", answers.into());
    fixture.provider.destroy(id).await.unwrap();
}

/// Files in memory are memory of the sandbox.
async fn shared_memory(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    let id = fixture.open_as(&small(fixture, tier)).await;
    let before = fixture.provider.stats(id).await.unwrap().memory_bytes;
    let filled = fixture.probe(id, User::Agent, &["fill", "/dev/shm/full", "200"]).await;
    let after = fixture.provider.stats(id).await.unwrap().memory_bytes;
    let refused = refused_at(&filled);
    let held = refused.is_some_and(|(mib, error)| mib <= 48 && error == "ENOSPC");
    tally.check(&format!("47 {tier} /dev/shm is full"), &filled, held.into());
    let charged = refused.is_some_and(|(mib, _)| after >= before + (mib - 2) * MIB);
    let shown = format!("{} MiB before, {} MiB after", before / MIB, after / MIB);
    tally.check(&format!("47 {tier} and is its memory"), &shown, charged.into());
    fixture.provider.destroy(id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_is_full_for_one_sandbox_only() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    let mut many = Some(["fill-files", "/home/lamp/many", "200000"]);
    for tier in tiers(&fixture, &mut tally) {
        let neighbour = fixture.open_as(&small(&fixture, tier)).await;
        // Slow, and the same disk for every tier.
        if let Some(many) = many.take() {
            filled(&fixture, tier, neighbour, &many, &mut tally).await;
        }
        for words in [
            ["fill", "/home/lamp/full", "500"],
            ["attributes", "/home/lamp/attributes", "100000"],
            ["fallocate", "/home/lamp/claimed", "500"],
            ["deleted-open", "/home/lamp/deleted", "500"],
        ] {
            filled(&fixture, tier, neighbour, &words, &mut tally).await;
        }
        odd_trees(&fixture, tier, &mut tally).await;
    }
    let is_shown = host::storms_are_contained(&fixture) && host::disks_are_enforced(&fixture);
    fixture.end().await;
    greedy(&mut tally).await;
    tally.finish("disk", if is_shown { 54 } else { 0 });
}

async fn filled(
    fixture: &Fixture,
    tier: Tier,
    neighbour: SandboxId,
    words: &[&str],
    tally: &mut Tally,
) {
    let id = fixture.open_as(&small(fixture, tier)).await;
    let outcome = fixture.probe(id, User::Agent, words).await;
    let what = format!("47 {tier} {}", words.join(" "));
    let is_enforced = host::disks_are_enforced(fixture);
    let full = ["EDQUOT", "ENOSPC"].iter().any(|error| outcome.ends_with(error));
    match (full, is_enforced) {
        (true, _) => tally.passed(&what, &outcome),
        (false, false) => tally.unsupported(&what, "the disk is watched here, not enforced"),
        (false, true) => tally.failed(&what, &outcome),
    }
    let usage = fixture.provider.stats(id).await.unwrap();
    if is_enforced {
        let within = usage.disk_bytes <= u64::from(DISK_MIB + 1) * MIB;
        let shown = format!("{} MiB, {} files", usage.disk_bytes / MIB, usage.disk_files);
        tally.check(&format!("{what}: as the host sees it"), &shown, within.into());
    }
    let writes = "echo fine > /home/lamp/fine && cat /home/lamp/fine; rm /home/lamp/fine";
    let said = fixture.shell(neighbour, writes).await;
    tally.check(&format!("{what}: its neighbour writes"), &said, (said == "fine").into());
    let host = fixture.at.path().join("fine");
    let wrote = std::fs::write(&host, vec![1; 1 << 20]);
    tally.check(&format!("{what}: the host writes"), "1 MiB", wrote.is_ok().into());
    let answers = fixture.answers(id).await;
    tally.check(&format!("{what}: the sandbox answers"), "yes", answers.into());
    fixture.provider.destroy(id).await.unwrap();
}

/// A disk that may grow larger than the room that all share: the room is full for its sandbox before it is for others.
async fn greedy(tally: &mut Tally) {
    let fixture = Fixture::with_disk(POOL_BYTES).await;
    if !host::disks_are_enforced(&fixture) {
        tally.unsupported(
            "47 a disk larger than the room",
            "the disk is watched here, not enforced",
        );
        fixture.end().await;
        return;
    }
    let of = |disk_mib| {
        let spec = fixture.spec(Tier::Verified);
        Spec { compute: Compute { disk_mib, ..spec.compute }, ..spec }
    };
    let guaranteed = u32::try_from(GUARANTEED_BYTES / MIB).unwrap();
    let neighbour = fixture.open_as(&of(guaranteed)).await;
    let id = fixture.open_as(&of(4_096)).await;
    let mut outcome = String::new();
    // It is lent more as it fills, until nothing is left that was not promised.
    for number in 0..4 {
        let path = format!("/home/lamp/full-{number}");
        outcome = fixture.probe(id, User::Agent, &["fill", &path, "4000"]).await;
        fixture.provider.tend().await;
    }
    let bytes = fixture.provider.stats(id).await.map(|stats| stats.disk_bytes).unwrap_or_default();
    let shown = format!("{outcome}, {} MiB written", bytes / MIB);
    let much = bytes > 4 * GUARANTEED_BYTES;
    tally.check("47 a disk larger than the room: it fills", &shown, much.into());

    // All but what the kernel sets aside of the same limit, for names and for what is on its way to the disk.
    let whole = GUARANTEED_BYTES / 4 * 3;
    let writes = format!(
        "head -c {whole} /dev/urandom > /home/lamp/fine && sync && wc -c < /home/lamp/fine"
    );
    let said = fixture.shell(neighbour, &writes).await;
    let what = "47 a disk larger than the room: its neighbour writes what is its own";
    tally.check(what, &said, (said == whole.to_string()).into());

    let mut refused = Ok(());
    for _ in 0..POOL_BYTES / GUARANTEED_BYTES {
        refused = fixture.provider.open(&of(guaranteed)).await;
        if refused.is_err() {
            break;
        }
    }
    let shown = format!("{refused:?}");
    let what = "47 more disks than there is room for";
    tally.check(what, &shown, matches!(refused, Err(SandboxError::NoRoom { .. })).into());
    fixture.end().await;
}

/// Trees that walk whoever walks them to death.
async fn odd_trees(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    const DISK_MIB: u32 = 32;
    let compute = Compute { disk_mib: DISK_MIB, ..small(fixture, tier).compute };
    let id = fixture.open_as(&Spec { compute, ..fixture.spec(tier) }).await;
    let deep = fixture.probe(id, User::Agent, &["deep", "/home/lamp/deep", "5000"]).await;
    tally.check(
        &format!("47 {tier} 5000 directories deep"),
        &deep,
        (deep == "value 5000 made").into(),
    );
    let bytes = fixture.provider.stats(id).await.map(|stats| stats.disk_bytes / MIB);
    let shown = format!("{bytes:?} MiB");
    tally.check(&format!("47 {tier} the host still counts"), &shown, bytes.is_ok().into());
    let sparse = fixture.probe(id, User::Agent, &["sparse", "/home/lamp/sparse"]).await;
    let bytes = fixture.provider.stats(id).await.map(|stats| stats.disk_bytes / MIB);
    let shown = format!("{sparse}, the host counts {bytes:?} MiB");
    let counted = bytes.is_ok_and(|mib| mib <= u64::from(DISK_MIB + 1));
    tally.check(&format!("47 {tier} a sparse file of 1 EiB"), &shown, counted.into());
    let long = fixture.probe(id, User::Agent, &["long-name", "/home/lamp"]).await;
    let refused = long == "denied ENAMETOOLONG";
    tally.check(&format!("47 {tier} a name of 4 KiB"), &long, refused.into());
    let unnamed = fixture.probe(id, User::Agent, &["tmpfile", "/home/lamp"]).await;
    let shown = unnamed.as_str();
    let known = matches!(shown, "allowed" | "denied EOPNOTSUPP");
    tally.check(&format!("48 {tier} a file without a name"), shown, known.into());
    let asked = Instant::now();
    fixture.provider.destroy(id).await.unwrap();
    let quick = asked.elapsed() < Duration::from_secs(5);
    let shown = format!("{:?}", asked.elapsed());
    tally.check(&format!("47 {tier} all of it is destroyed"), &shown, quick.into());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_all_share_is_shared_out() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    for tier in tiers(&fixture, &mut tally) {
        let id = fixture.open(tier).await;
        for (probe, most) in [
            ("descriptors-until-full", 16_384),
            ("inotify-until-full", 1_024),
            // The kernel has 4096 for the whole host.
            ("terminals-until-full", 1_024),
            ("queues-until-full", 1_024),
            ("shared-until-full", 8_192),
        ] {
            let said = fixture.probe(id, User::Agent, &[probe]).await;
            let held = refused_at(&said).is_some_and(|(count, _)| count <= most);
            tally.check(&format!("49 {tier} {probe}"), &said, held.into());
        }
        processor(&fixture, tier, &mut tally).await;
        flood(&fixture, tier, &mut tally).await;
    }
    let least = if host::storms_are_contained(&fixture) { 8 } else { 0 };
    fixture.end().await;
    tally.finish("shared things", least);
}

async fn processor(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    let used = async |cpu_millis| {
        let compute = Compute { cpu_millis, ..small(fixture, tier).compute };
        let id = fixture.open_as(&Spec { compute, ..fixture.spec(tier) }).await;
        let before = fixture.provider.stats(id).await.unwrap().cost.cpu_millis;
        let began = Instant::now();
        fixture.probe(id, User::Agent, &["spin", "2000"]).await;
        let after = fixture.provider.stats(id).await.unwrap().cost.cpu_millis;
        let wall = u64::try_from(began.elapsed().as_millis()).unwrap();
        fixture.provider.destroy(id).await.unwrap();
        (after - before) * 1000 / wall
    };
    let (narrow, wide) = (used(300).await, used(2_000).await);
    let shown = format!("{narrow} thousandths of a core; with more allowed: {wide}");
    let what = format!("61 {tier} four threads spin under 300 thousandths");
    match (narrow <= 330, wide > narrow + 100) {
        (true, true) => tally.passed(&what, &shown),
        (true, false) => {
            tally.unsupported(&what, &format!("{shown}: the host is too busy to tell"));
        }
        (false, _) => tally.failed(&what, &shown),
    }
}

async fn flood(fixture: &Fixture, tier: Tier, tally: &mut Tally) {
    let id = fixture.open(tier).await;
    let before = host::resident_kib();
    let flood = command(User::Agent, &[PROBE, "flood", "100"]);
    let began = Instant::now();
    let ended = fixture.exec(id, &flood).await.unwrap();
    let grown = host::resident_kib().saturating_sub(before);
    let shown = format!(
        "{} KiB passed on, {:?}, {grown} KiB more, {:?}",
        ended.out.len() / 1024,
        ended.finished.cut,
        began.elapsed()
    );
    let bounded = ended.out.len() as u64 <= flood.output_limit && grown < 32 * 1024;
    let told = ended.finished.cut == Cut::Cut && ended.finished.ending == Ended::Exited(0);
    tally.check(&format!("64 {tier} 100 MiB without a line"), &shown, (bounded && told).into());
    // The control: outside, all of it comes.
    let all = std::process::Command::new(crate::fixture::program()).args(["flood", "2"]).output();
    assert!(all.unwrap().stdout.len() > 2 << 20);
    assert!(outside(&["who"]).starts_with("value "));
}
