//! What a server that was killed leaves behind, and the next one finds.

use super::*;

fn leaves_nothing(mut scratch: Scratch, wish: Wish) {
    let upper = scratch.create(&disk("kept"), LIMIT).unwrap().join("upper");
    fs::write(upper.join("file"), "kept").unwrap();
    scratch.import_layer(&layer("base"), with_file("file")).unwrap();
    let identity = scratch.identity(&layer("base")).unwrap();
    // Killed while one layer was filled, one disk was made, and one was removed.
    scratch.inner.ground.make_for_layer(&scratch.place(INCOMING).join("7")).unwrap();
    fs::create_dir_all(scratch.place(INCOMING).join("7/upper/half")).unwrap();
    scratch.inner.ground.make(&scratch.place(INCOMING).join("8")).unwrap();
    scratch.inner.ground.make(&scratch.place(TRASH).join("0")).unwrap();
    fs::write(scratch.place(TRASH).join("0/file"), "gone").unwrap();
    // Killed after a layer was named, and before it was closed.
    scratch.inner.ground.open_layer(&scratch.place(LAYERS).join("base")).unwrap();

    scratch.restart(wish);
    assert!(names_in(&scratch.place(INCOMING)).is_empty());
    scratch.empty_trash().unwrap();
    assert!(names_in(&scratch.place(TRASH)).is_empty());
    assert_eq!(scratch.disks().unwrap(), [disk("kept")]);
    assert_eq!(fs::read_to_string(upper.join("file")).unwrap(), "kept");
    assert_eq!(scratch.identity(&layer("base")).unwrap(), identity);
    let base = scratch.layer(&layer("base")).unwrap();
    if scratch.kind() == Kind::Btrfs {
        let error = fs::write(base.join("new"), "x").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    }
}

#[test]
fn plain_directories_are_cleaned_at_the_next_start() {
    leaves_nothing(Scratch::plain(), Wish::Plain);
}

#[test]
fn a_pool_is_cleaned_at_the_next_start() {
    leaves_nothing(supported!(Scratch::btrfs()), Wish::Btrfs);
}

#[test]
fn disks_that_began_plain_stay_plain_and_say_so() {
    let mut scratch = Scratch::plain();
    scratch.create(&disk("one"), LIMIT).unwrap();
    scratch.restart(Wish::Best);
    assert_eq!(scratch.kind(), Kind::Plain);
    assert_eq!(scratch.disks().unwrap(), [disk("one")]);
    assert!(scratch.weaker().unwrap().contains("begun as plain"));
}
