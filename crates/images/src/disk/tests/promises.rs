//! What disks promise on any ground.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

/// Runs a promise on every ground that this machine has.
fn on_every_ground(promise: impl Fn(&Scratch)) {
    promise(&Scratch::plain());
    match Scratch::btrfs() {
        Ok(scratch) => promise(&scratch),
        Err(why) => unsupported::part("on btrfs", why),
    }
}

#[test]
fn a_new_disk_is_empty_and_belongs_to_its_sandbox() {
    on_every_ground(|disks| {
        let at = disks.create(&disk("one"), LIMIT).unwrap();
        let (upper, work) = (at.join("upper"), at.join("work"));
        assert!(names_in(&upper).is_empty() && names_in(&work).is_empty());
        assert_eq!(fs::metadata(&upper).unwrap().permissions().mode() & 0o7777, 0o755);
        let own = rustix::process::geteuid();
        let expected = if own.is_root() { [STORED_IDS, MOUNTER] } else { [own.as_raw(); 2] };
        let owners = [&upper, &work].map(|path| fs::metadata(path).unwrap().uid());
        assert_eq!(owners, expected);
        assert_eq!(disks.disks().unwrap(), [disk("one")]);
        assert_eq!(disks.path(&disk("one")).unwrap(), at);
    });
}

#[test]
fn a_name_is_given_once() {
    on_every_ground(|disks| {
        disks.create(&disk("one"), LIMIT).unwrap();
        assert!(matches!(disks.create(&disk("one"), LIMIT), Err(DiskError::Exists(_))));
        assert!(matches!(disks.create_for_setup(&disk("one"), LIMIT), Err(DiskError::Exists(_))));
        assert!(names_in(&disks.place(INCOMING)).is_empty());
        assert!(matches!(disks.path(&disk("two")), Err(DiskError::NoDisk(_))));
    });
}

#[test]
fn a_fork_has_all_of_the_disk_and_goes_its_own_way() {
    on_every_ground(|disks| {
        let from = disks.create(&disk("from"), LIMIT).unwrap().join("upper");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "first").unwrap();
        fs::hard_link(from.join("a/b/file"), from.join("again")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        fs::set_permissions(from.join("a"), fs::Permissions::from_mode(0o2750)).unwrap();

        let to = disks.fork(&disk("from"), &disk("to"), LIMIT).unwrap();
        fs::write(from.join("a/b/file"), "changed").unwrap();
        let upper = to.join("upper");
        assert_eq!(fs::read_to_string(upper.join("a/b/file")).unwrap(), "first");
        assert_eq!(fs::read_link(upper.join("link")).unwrap(), Path::new("/etc/passwd"));
        assert_eq!(fs::metadata(upper.join("a")).unwrap().permissions().mode() & 0o7777, 0o2750);
        let inode = |name: &str| fs::metadata(upper.join(name)).unwrap().ino();
        assert_eq!(inode("again"), inode("a/b/file"));
        assert!(names_in(&to.join("work")).is_empty());
    });
}

#[test]
fn sealing_keeps_the_numbers_and_times_of_files() {
    on_every_ground(|disks| {
        let upper = disks.create_for_setup(&disk("setup"), LIMIT).unwrap().join("upper");
        fs::create_dir(upper.join("source")).unwrap();
        fs::write(upper.join("source/file"), "content").unwrap();
        let look = |at: &Path| {
            let found = fs::metadata(at.join("source/file")).unwrap();
            (found.ino(), found.ctime(), found.ctime_nsec(), found.mtime_nsec(), found.uid())
        };
        let before = look(&upper);
        let made = disks.seal(&disk("setup"), &layer("sealed")).unwrap();
        assert_eq!(look(&made.path), before);
        assert_eq!(made.proof.layer(), &layer("sealed"));
        assert_eq!(disks.layers().unwrap(), [layer("sealed")]);
        assert_eq!(disks.layer(&layer("sealed")).unwrap(), made.path);
        assert!(disks.disks().unwrap().is_empty());
    });
}

#[test]
fn only_the_disk_of_a_setup_becomes_a_layer() {
    on_every_ground(|disks| {
        disks.create(&disk("work"), LIMIT).unwrap();
        let refused = disks.seal(&disk("work"), &layer("x"));
        assert!(matches!(refused, Err(DiskError::NotASetup(_))), "{refused:?}");
        disks.create_for_setup(&disk("setup"), LIMIT).unwrap();
        disks.fork(&disk("setup"), &disk("copy"), LIMIT).unwrap();
        assert!(matches!(disks.seal(&disk("copy"), &layer("x")), Err(DiskError::NotASetup(_))));
        assert!(matches!(disks.seal(&disk("none"), &layer("x")), Err(DiskError::NoDisk(_))));
        assert!(disks.layers().unwrap().is_empty());
    });
}

#[test]
fn a_layer_is_imported_whole_or_not_at_all() {
    on_every_ground(|disks| {
        let failed = disks.import_layer(&layer("base"), |at| {
            fs::write(at.join("half"), "half").unwrap();
            Err(std::io::Error::other("the archive ends too early"))
        });
        assert!(matches!(failed, Err(ImportError::Fill(_))));
        assert!(disks.layers().unwrap().is_empty());
        assert!(names_in(&disks.place(INCOMING)).is_empty());

        let made = disks.import_layer(&layer("base"), with_file("whole")).unwrap();
        assert_eq!(names_in(&made.path), ["whole"]);
        let unasked = |_: &Path| -> std::io::Result<()> { panic!("it is there already") };
        assert_eq!(disks.import_layer(&layer("base"), unasked).unwrap().path, made.path);
    });
}

#[test]
fn a_layer_keeps_its_identity_until_it_changes() {
    on_every_ground(|disks| {
        let made = disks.import_layer(&layer("base"), with_file("file")).unwrap();
        let identity = disks.identity(&layer("base")).unwrap();
        assert_eq!(disks.identity(&layer("base")).unwrap(), identity);
        disks.inner.ground.open_layer(made.path.parent().unwrap()).unwrap();
        fs::write(made.path.join("file"), "x".repeat(10_000)).unwrap();
        rustix::fs::syncfs(tree::open_root(&made.path).unwrap()).unwrap();
        assert_ne!(disks.identity(&layer("base")).unwrap(), identity);
    });
}

#[test]
fn what_is_removed_is_gone_and_can_be_removed_again() {
    on_every_ground(|disks| {
        let at = disks.create(&disk("one"), LIMIT).unwrap();
        fs::write(at.join("upper/file"), "x").unwrap();
        disks.import_layer(&layer("base"), with_file("file")).unwrap();
        for _ in 0..2 {
            disks.remove(&disk("one")).unwrap();
            disks.remove_layer(&layer("base")).unwrap();
        }
        assert!(!at.exists());
        assert!(disks.disks().unwrap().is_empty() && disks.layers().unwrap().is_empty());
        disks.empty_trash().unwrap();
        assert!(names_in(&disks.place(TRASH)).is_empty());
        disks.create(&disk("one"), LIMIT).unwrap();
    });
}

#[test]
fn a_disk_that_rested_can_be_mounted_again() {
    if !rustix::process::geteuid().is_root() {
        unsupported!("mounting an overlay needs root");
    }
    on_every_ground(|disks| {
        let base = disks.import_layer(&layer("base"), with_file("lower")).unwrap();
        let at = disks.create(&disk("one"), LIMIT).unwrap();
        let overlay = Overlay::mount(&at, &[&base.path]);
        fs::write(overlay.path().join("upper"), "kept").unwrap();
        fs::remove_file(overlay.path().join("lower")).unwrap();
        drop(overlay);
        assert!(at.join("work/work/incompat/volatile").exists(), "the control: a mark is left");
        let forked = disks.fork(&disk("one"), &disk("two"), LIMIT).unwrap();
        for at in [disks.reopen(&disk("one"), LIMIT).unwrap(), forked] {
            let overlay = Overlay::mount(&at, &[&base.path]);
            assert_eq!(names_in(overlay.path()), ["upper"], "the removal of `lower` is kept");
        }
    });
}

#[test]
fn usage_counts_bytes_and_files() {
    on_every_ground(|disks| {
        let upper = disks.create(&disk("one"), LIMIT).unwrap().join("upper");
        let before = disks.usage(&disk("one")).unwrap();
        assert_eq!(before.files, 0);
        for name in ["a", "b", "c"] {
            fs::write(upper.join(name), BLOCK).unwrap();
        }
        fs::hard_link(upper.join("a"), upper.join("linked")).unwrap();
        fs::File::create(upper.join("sparse")).unwrap().set_len(1 << 40).unwrap();
        rustix::fs::syncfs(tree::open_root(&upper).unwrap()).unwrap();
        let after = disks.usage(&disk("one")).unwrap();
        assert_eq!(after.files, 4);
        let grown = after.bytes - before.bytes;
        assert!((3 * MIB..4 * MIB).contains(&grown), "{grown}");
    });
}
