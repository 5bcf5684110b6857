//! The room that all disks share: what is promised is there, and what is lent comes back.

use std::io::Write as _;

use super::*;

fn pool(guaranteed_bytes: u64) -> Result<Scratch, &'static str> {
    pool_of(POOL, guaranteed_bytes)
}

fn pool_of(bytes: u64, guaranteed_bytes: u64) -> Result<Scratch, &'static str> {
    // Asked for the reason that it tells.
    drop(Scratch::btrfs()?);
    let root = tempfile::tempdir().unwrap();
    let budget = Budget { bytes, guaranteed_bytes };
    let disks = Disks::open(root.path(), Wish::Btrfs, budget).unwrap();
    Ok(Scratch { disks: Some(disks), root })
}

fn limit(mib: u64) -> Limit {
    Limit { bytes: mib * MIB, files: 1 << 20 }
}

/// Writes until it is refused; returns how many MiB there was room for.
fn fill(at: &Path) -> u64 {
    let full = at.join("upper/full");
    let before = fs::metadata(&full).map_or(0, |found| found.len() / MIB);
    let mut file = fs::File::options().append(true).create(true).open(&full).unwrap();
    let fits = |_: &u64| file.write_all(&BLOCK).and_then(|()| file.sync_data()).is_ok();
    before + (0..2_048_u64).take_while(fits).count() as u64
}

/// As many empty files as it takes: they cost only what the kernel's own books need.
fn fill_with_names(at: &Path) {
    let refused = (0..1_000_000)
        .find_map(|number| fs::File::create(at.join(format!("upper/{number:0200}"))).err());
    assert!(refused.is_some());
}

#[test]
fn a_greedy_disk_leaves_its_neighbours_all_that_is_guaranteed_to_them() {
    let disks = supported!(pool(64 * MIB));
    // Made first and last: who came first does not matter.
    let early = disks.create(&disk("early"), limit(64)).unwrap();
    let greedy = disks.create(&disk("greedy"), limit(4_096)).unwrap();
    let late = disks.create(&disk("late"), limit(64)).unwrap();
    // It is given more as it fills, as by a server that looks after it.
    let mut written = fill(&greedy);
    for _ in 0..4 {
        disks.balance().unwrap();
        written = fill(&greedy);
    }
    assert!(written > 200, "the control: it had much more than is guaranteed to it: {written} MiB");
    let latest = disks.create(&disk("latest"), limit(64));
    assert!(matches!(latest, Err(DiskError::NoRoom(_))), "{latest:?}");
    assert!(fill(&early) >= 60);
    assert!(fill(&late) >= 60);
}

#[test]
fn many_empty_files_leave_neighbours_all_that_is_guaranteed_to_them() {
    let disks = supported!(pool_of(POOL / 2, 16 * MIB));
    let modest = disks.create(&disk("modest"), limit(16)).unwrap();
    let greedy = disks.create(&disk("greedy"), limit(16)).unwrap();
    let other = disks.create(&disk("other"), limit(4_096)).unwrap();
    fill_with_names(&greedy);
    fill(&other);
    disks.balance().unwrap();
    fill_with_names(&other);
    assert!(fill(&modest) >= 14);
}

#[test]
fn a_disk_that_does_not_fit_is_refused_with_the_numbers() {
    let disks = supported!(pool(60 * MIB));
    let made = (0..10).map(|number| disks.create(&disk(&format!("d{number}")), limit(60)));
    let made: Vec<_> = made.collect();
    let fit = made.iter().filter(|made| made.is_ok()).count();
    assert!((5..=7).contains(&fit), "{made:?}");
    let Err(DiskError::NoRoom(refused)) = made.last().unwrap() else { panic!("{made:?}") };
    assert_eq!((refused.needed, refused.disks, refused.total), (60 * MIB, fit, POOL));
    assert!(refused.left < 60 * MIB && refused.promised > 290 * MIB, "{refused:?}");
    assert!(!disks.place(DISKS).join("d9").exists());
    assert!(names_in(&disks.place(INCOMING)).is_empty(), "nothing is left of it");
    // Whoever is removed makes room, and so does whoever rests.
    disks.remove(&disk("d0")).unwrap();
    disks.create(&disk("again"), limit(60)).unwrap();
    disks.rest(&disk("d1"));
    disks.create(&disk("another"), limit(60)).unwrap();
    let woken = disks.reopen(&disk("d1"), limit(60));
    assert!(matches!(woken, Err(DiskError::NoRoom(_))), "{woken:?}");
    let forked = disks.fork(&disk("d2"), &disk("fork"), limit(60));
    assert!(matches!(forked, Err(DiskError::NoRoom(_))), "{forked:?}");
    let setup = disks.create_for_setup(&disk("setup"), limit(60));
    assert!(matches!(setup, Err(DiskError::NoRoom(_))), "{setup:?}");
    let filled = disks.import_layer(&layer("base"), with_file("file"));
    assert!(matches!(filled, Err(ImportError::Disk(DiskError::NoRoom(_)))), "{filled:?}");
}

#[test]
fn what_was_lent_and_not_used_is_taken_back_for_others() {
    let disks = supported!(pool(32 * MIB));
    let granted = |name: &str| {
        let shares = disks.inner.room.granted();
        shares.get(name).copied().unwrap() / MIB
    };
    disks.create(&disk("rich"), limit(4_096)).unwrap();
    assert!(granted("rich") > 200, "half of what there is: {}", granted("rich"));
    for number in 0..12 {
        disks.create(&disk(&format!("d{number}")), limit(32)).unwrap();
    }
    assert_eq!(granted("rich"), 32);
}

#[test]
fn a_server_that_comes_back_counts_what_is_written_to() {
    let mut disks = supported!(pool(60 * MIB));
    let fits = |number: &u32| disks.create(&disk(&format!("d{number}")), limit(60)).is_ok();
    let fit = (0..10).take_while(fits).count();
    disks.disks = None;
    let budget = Budget { bytes: POOL, guaranteed_bytes: 60 * MIB };
    disks.disks = Some(Disks::open(disks.root.path(), Wish::Btrfs, budget).unwrap());
    for number in 0..fit {
        disks.take_over(&disk(&format!("d{number}")), limit(60)).unwrap();
    }
    let refused = disks.create(&disk("more"), limit(60));
    assert!(matches!(refused, Err(DiskError::NoRoom(_))), "{refused:?}");
}

#[test]
fn a_layer_cannot_take_what_disks_were_promised() {
    let disks = supported!(pool(64 * MIB));
    let one = disks.create(&disk("one"), limit(64)).unwrap();
    let filled = disks.import_layer(&layer("large"), |at| {
        let mut file = fs::File::create(at.join("file"))?;
        (0..1_000).try_for_each(|_| file.write_all(&BLOCK).and_then(|()| file.sync_data()))
    });
    assert!(matches!(filled, Err(ImportError::Fill(_))), "{filled:?}");
    assert!(fill(&one) >= 60);
    assert!(names_in(&disks.place(LAYERS)).is_empty());
}

#[test]
fn a_pool_grows_when_its_budget_was_raised() {
    let mut disks = supported!(pool(MIB));
    let kept = disks.create(&disk("kept"), LIMIT).unwrap().join("upper/file");
    fs::write(&kept, "kept").unwrap();
    let before = disks.inner.ground.space().unwrap().total;
    disks.disks = None;
    let budget = Budget { bytes: 2 * POOL, guaranteed_bytes: MIB };
    disks.disks = Some(Disks::open(disks.root.path(), Wish::Btrfs, budget).unwrap());
    let after = disks.inner.ground.space().unwrap().total;
    assert_eq!((before, after), (POOL, 2 * POOL));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    let at = disks.create(&disk("large"), limit(700)).unwrap();
    disks.rest(&disk("kept"));
    assert!(fill(&at) > 300);
}

#[test]
fn plain_directories_promise_no_more_than_the_host_has_free() {
    let root = tempfile::tempdir().unwrap();
    let budget = Budget { bytes: POOL, guaranteed_bytes: 1 << 60 };
    let disks = Disks::open(root.path(), Wish::Plain, budget).unwrap();
    let huge = Limit { bytes: 1 << 60, files: 1 };
    let make = |number| disks.create(&disk(&format!("d{number}")), huge);
    let refused = (0..=8).find_map(|number| make(number).err());
    assert!(matches!(refused, Some(DiskError::NoRoom(_))), "{refused:?}");
    disks.remove(&disk("d0")).unwrap();
    disks.create(&disk("one"), LIMIT).unwrap();
}
