//! Which names of files are taken apart, and what stays of them.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use super::*;

struct Ground {
    all: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        for directory in ["upper/workspace/web/deep", "upper/home/lamp", "work"] {
            fs::create_dir_all(all.path().join(directory)).unwrap();
        }
        Self { all }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.all.path().join("upper").join(path)
    }

    fn untie(&self) -> u64 {
        untie(self.all.path(), 1 << 20).unwrap()
    }
}

fn number(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_file_with_a_name_outside_is_another_file_afterwards() {
    let ground = Ground::new();
    let (inside, outside) = (ground.at("workspace/web/deep/file"), ground.at("home/lamp/file"));
    fs::write(&inside, "as it was").unwrap();
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(&inside, &outside).unwrap();
    let before = fs::metadata(&inside).unwrap();
    assert_eq!(ground.untie(), 1);
    let after = fs::metadata(&inside).unwrap();
    assert_ne!(after.ino(), before.ino());
    assert_eq!(number(&outside), before.ino());
    assert_eq!(after.mode(), before.mode());
    assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    fs::write(&outside, "written outside").unwrap();
    assert_eq!(fs::read_to_string(&inside).unwrap(), "as it was");
    // Once is enough, and nothing is left beside it.
    assert_eq!(ground.untie(), 0);
    assert!(!ground.all.path().join("untied").exists());
}

#[test]
fn files_whose_names_are_all_inside_stay_one() {
    let ground = Ground::new();
    let (one, two) = (ground.at("workspace/web/one"), ground.at("workspace/two"));
    fs::write(&one, "x").unwrap();
    fs::hard_link(&one, &two).unwrap();
    assert_eq!(ground.untie(), 0);
    assert_eq!(number(&one), number(&two));
    // With a third name outside, every name inside gets a file of its own.
    fs::hard_link(&one, ground.at("home/lamp/three")).unwrap();
    assert_eq!(ground.untie(), 2);
    assert_ne!(number(&one), number(&ground.at("home/lamp/three")));
    assert_ne!(number(&two), number(&ground.at("home/lamp/three")));
}

#[test]
fn links_lead_nowhere_and_a_workspace_that_is_one_is_left_alone() {
    let ground = Ground::new();
    fs::write(ground.at("home/lamp/a"), "x").unwrap();
    fs::hard_link(ground.at("home/lamp/a"), ground.at("home/lamp/b")).unwrap();
    symlink("../../home/lamp", ground.at("workspace/web/out")).unwrap();
    symlink("../../home/lamp/a", ground.at("workspace/web/file")).unwrap();
    assert_eq!(ground.untie(), 0);
    fs::remove_dir_all(ground.at("workspace")).unwrap();
    symlink("home/lamp", ground.at("workspace")).unwrap();
    assert_eq!(ground.untie(), 0);
    assert_eq!(number(&ground.at("home/lamp/a")), number(&ground.at("home/lamp/b")));
}

#[test]
fn holes_are_not_filled_and_what_is_copied_has_a_limit() {
    let ground = Ground::new();
    let inside = ground.at("workspace/sparse");
    let file = File::create(&inside).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(b"far", 1 << 30).unwrap();
    drop(file);
    fs::hard_link(&inside, ground.at("home/lamp/sparse")).unwrap();
    assert_eq!(ground.untie(), 1);
    let about = fs::metadata(&inside).unwrap();
    assert_eq!(about.len(), 1 << 40);
    assert!(about.blocks() < 1 << 11, "{} blocks", about.blocks());
    let mut read = [0; 3];
    File::open(&inside).unwrap().read_exact_at(&mut read, 1 << 30).unwrap();
    assert_eq!(&read, b"far");
}

#[test]
fn a_copy_that_is_larger_than_the_disk_may_be_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fs::write(&from, vec![7; 5_000]).unwrap();
    let home = openat(CWD, directory.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let mut copying = Copying { home, left: 4_999, count: 0 };
    let (from, to) = (File::open(&from).unwrap(), File::create(&to).unwrap());
    assert!(matches!(copying.copy(&from, &to, 5_000), Err(TieError::TooLarge)));
    copying.left = 1 << 20;
    copying.copy(&from, &to, 5_000).unwrap();
    assert_eq!(fs::read(directory.path().join("to")).unwrap(), vec![7; 5_000]);
}

#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let ground = Ground::new();
    let mut deep = ground.at("workspace");
    for _ in 0..DEEPEST {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    assert!(matches!(untie(ground.all.path(), 1), Err(TieError::TooMuch)));
}
