//! What only a pool does: hold limits, copy at once, and outlive the server.

use std::{
    collections::BTreeSet,
    io::{ErrorKind, Write},
    os::unix::fs::MetadataExt,
    sync::atomic::AtomicBool,
};

use super::*;

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::QuotaExceeded | ErrorKind::StorageFull)
}

/// Two sandboxes' disks on one layer.
fn neighbours(disks: &Disks, limit: Limit) -> [Overlay; 2] {
    let base = disks.import_layer(&layer("base"), with_file("lower")).unwrap();
    ["one", "two"].map(|name| {
        let at = disks.create(&disk(name), limit).unwrap();
        Overlay::mount(&at, &[&base.path])
    })
}

#[test]
fn a_disk_is_full_at_its_limit_and_its_neighbour_is_not() {
    let disks = supported!(Scratch::btrfs());
    let [greedy, modest] = neighbours(&disks, Limit { bytes: 16 * MIB, files: 1_000 });
    let mut file = fs::File::create(greedy.path().join("big")).unwrap();
    let written = (0..64).take_while(|_| {
        let written = file.write_all(&BLOCK).and_then(|()| file.sync_data());
        written.inspect_err(|error| assert!(is_full(error), "{error}")).is_ok()
    });
    let written = written.count();
    assert!((8..=16).contains(&written), "{written} MiB");
    fs::write(modest.path().join("file"), BLOCK).unwrap();
    assert!(disks.bytes(&disk("one")).unwrap() <= 16 * MIB);
}

#[test]
fn many_empty_files_reach_the_limit_too() {
    let disks = supported!(Scratch::btrfs());
    let [greedy, modest] = neighbours(&disks, Limit { bytes: 4 * MIB, files: 1_000 });
    let refused = (0..100_000)
        .find_map(|number| fs::File::create(greedy.path().join(format!("{number:0100}"))).err());
    assert!(is_full(&refused.expect("the limit holds")));
    fs::write(modest.path().join("file"), "fine").unwrap();
}

#[test]
fn a_disk_is_forked_while_it_is_written_to() {
    let disks = supported!(Scratch::btrfs());
    let [running, _other] = neighbours(&disks, LIMIT);
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut number = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let name = running.path().join(format!("{}", number % 100));
                fs::write(name, number.to_string()).unwrap();
                number += 1;
            }
        });
        for number in 0..10 {
            let name = disk(&format!("fork-{number}"));
            let at = disks.fork(&disk("one"), &name, LIMIT).unwrap();
            let base = disks.layer(&layer("base")).unwrap();
            let overlay = Overlay::mount(&at, &[&base]);
            fs::write(overlay.path().join("own"), "x").unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(!running.path().join("own").exists());
}

#[test]
fn no_two_files_of_a_stack_have_the_same_number() {
    let disks = supported!(Scratch::btrfs());
    let fill = |at: &Path| (0..200).try_for_each(|n| fs::create_dir(at.join(format!("base-{n}"))));
    let base = disks.import_layer(&layer("base"), fill).unwrap();
    let at = disks.create_for_setup(&disk("setup"), LIMIT).unwrap();
    let overlay = Overlay::mount(&at, &[&base.path]);
    for number in 0..200 {
        fs::create_dir(overlay.path().join(format!("base-{number}/setup"))).unwrap();
    }
    drop(overlay);
    let setup = disks.seal(&disk("setup"), &layer("setup")).unwrap();
    let late = disks.import_layer(&layer("late"), |at| fs::create_dir(at.join("late"))).unwrap();
    let at = disks.create(&disk("one"), LIMIT).unwrap();
    let overlay = Overlay::mount(&at, &[&late.path, &setup.path, &base.path]);
    for number in 0..200 {
        fs::create_dir(overlay.path().join(format!("base-{number}/setup/disk"))).unwrap();
    }
    let mut seen = BTreeSet::new();
    let mut left = vec![overlay.path().to_owned()];
    while let Some(at) = left.pop() {
        assert!(seen.insert(fs::metadata(&at).unwrap().ino()), "{}", at.display());
        left.extend(names_in(&at).iter().map(|name| at.join(name)));
    }
    assert_eq!(seen.len(), 602);
}

#[test]
fn the_numbers_of_layers_go_on_where_they_were_after_a_restart() {
    let mut scratch = supported!(Scratch::btrfs());
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let mut highest = 0;
    for name in ["a", "b", "c"] {
        let made = scratch.import_layer(&layer(name), with_file("file")).unwrap();
        let number = inode(&made.path.join("file"));
        assert!(number > highest);
        highest = number;
        scratch.disks.take().unwrap().close().unwrap();
        scratch.restart(Wish::Btrfs);
    }
}

#[test]
fn nobody_writes_to_a_layer() {
    let disks = supported!(Scratch::btrfs());
    let base = disks.import_layer(&layer("base"), with_file("lower")).unwrap();
    disks.create_for_setup(&disk("setup"), LIMIT).unwrap();
    let sealed = disks.seal(&disk("setup"), &layer("sealed")).unwrap();
    for path in [base.path.join("lower"), sealed.path.join("new")] {
        let error = fs::write(path, "changed").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnlyFilesystem);
    }
}

#[test]
fn a_pool_is_found_again_mounted_or_not() {
    let mut scratch = supported!(Scratch::btrfs());
    let upper = scratch.create(&disk("one"), LIMIT).unwrap().join("upper");
    fs::write(upper.join("file"), "kept").unwrap();
    let open = fs::File::open(upper.join("file")).unwrap();
    scratch.restart(Wish::Best);
    assert_eq!(scratch.kind(), Kind::Btrfs);
    assert_eq!(fs::metadata(upper.join("file")).unwrap().dev(), open.metadata().unwrap().dev());
    drop(open);

    scratch.disks.take().unwrap().close().unwrap();
    assert!(!upper.exists());
    scratch.restart(Wish::Best);
    assert_eq!(fs::read_to_string(upper.join("file")).unwrap(), "kept");
    assert!(scratch.bytes(&disk("one")).is_ok(), "quotas are still on");
}

#[test]
fn a_pool_in_use_is_not_closed_and_a_closed_one_leaves_nothing() {
    let mut scratch = supported!(Scratch::btrfs());
    let at = scratch.ground();
    let clone = scratch.disks.clone().unwrap();
    assert!(matches!(clone.close(), Err(DiskError::Unusable(_))));
    assert!(fs::read_to_string("/proc/self/mountinfo").unwrap().contains(at.to_str().unwrap()));
    scratch.disks.take().unwrap().close().unwrap();
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(at.to_str().unwrap()));
    let file = scratch.root.path().join("pool.btrfs");
    for device in fs::read_dir("/sys/block").unwrap() {
        let backing = device.unwrap().path().join("loop/backing_file");
        let backing = fs::read_to_string(backing).unwrap_or_default();
        assert_ne!(backing.trim(), file.to_str().unwrap());
    }
    let found = fs::metadata(file).unwrap();
    assert!(found.blocks() * 512 >= POOL, "the file is still allocated in full");
}

#[test]
fn the_accounts_of_removed_disks_go_with_them() {
    let mut scratch = supported!(Scratch::btrfs());
    let accounts = |scratch: &Scratch| {
        let Ground::Btrfs(pool) = &*scratch.inner.ground else { panic!("not btrfs") };
        names_in(&pool.accounts).iter().filter(|name| name.starts_with("0_")).count()
    };
    let before = accounts(&scratch);
    for number in 0..20 {
        let name = disk(&format!("d{number}"));
        let upper = scratch.create(&name, LIMIT).unwrap().join("upper");
        fs::write(upper.join("file"), "x".repeat(100_000)).unwrap();
        let copy = disk(&format!("c{number}"));
        scratch.fork(&name, &copy, LIMIT).unwrap();
        scratch.remove(&name).unwrap();
        scratch.remove(&copy).unwrap();
    }
    assert!(accounts(&scratch) > before, "the control: they have accounts");
    // A server that was killed in between does not know what was removed.
    scratch.restart(Wish::Btrfs);
    // The kernel drops subvolumes in its own time. Every round writes the pool out, so this is some seconds at the least.
    for _ in 0..2_000 {
        scratch.empty_trash().unwrap();
        if accounts(&scratch) == before {
            break;
        }
    }
    assert_eq!(accounts(&scratch), before);
}

#[test]
fn what_is_mounted_in_the_place_of_the_pool_is_left_alone() {
    let mut scratch = supported!(Scratch::btrfs());
    let at = scratch.ground();
    scratch.disks.take().unwrap().close().unwrap();
    rustix::mount::mount("tmpfs", &at, "tmpfs", MountFlags::empty(), None).unwrap();
    let refused = Disks::open(scratch.root.path(), Wish::Best, BUDGET);
    rustix::mount::unmount(&at, UnmountFlags::empty()).unwrap();
    assert!(refused.unwrap_err().to_string().contains("something else is mounted"));
}

#[test]
fn a_budget_that_is_too_small_gives_plain_directories_and_the_reason() {
    drop(supported!(Scratch::btrfs()));
    let root = tempfile::tempdir().unwrap();
    let little = Budget { bytes: MIB, ..BUDGET };
    let refused = Disks::open(root.path(), Wish::Btrfs, little).unwrap_err();
    assert!(refused.to_string().contains("needs 256"), "{refused}");
    let plain = Disks::open(root.path(), Wish::Best, little).unwrap();
    assert_eq!(plain.kind(), Kind::Plain);
    assert!(plain.weaker().unwrap().contains("needs 256"));
    assert!(!root.path().join("pool.btrfs").exists());
}
