//! Editing: what is changed, what is refused, and what stays as it was.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::conversation::End;

fn edit(root: &Path, path: &str, old: Option<&str>, new: &str) -> Outcome {
    let wish = Wish { path: path.to_owned(), old: old.map(ToOwned::to_owned), new: new.to_owned() };
    run(&wish, root)
}

fn tree(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a"), text).unwrap();
    home
}

#[test]
fn one_place_is_replaced_and_the_mode_stays() {
    let home = tree("one\ntwo\nthree\n");
    let path = home.path().join("a");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let outcome = edit(home.path(), "a", Some("two"), "2");
    assert_eq!((outcome.end, outcome.text.as_str()), (End::Done, "Changed `a` at about line 1."));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n2\nthree\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(home.path().read_dir().unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn what_is_not_exact_is_refused_with_a_hint() {
    let home = tree("fn a() {\n    1\n}\nx x\n");
    for (old, told) in [
        ("x", "stands 2 times"),
        ("fn a() {\n  1\n}", "Its first line is like line 1"),
        ("fn b()", "read the file again"),
    ] {
        let outcome = edit(home.path(), "a", Some(old), "y");
        assert_eq!(outcome.end, End::Failed);
        assert!(outcome.text.contains(told), "{}", outcome.text);
    }
    assert!(edit(home.path(), "a", Some("1"), "1").text.contains("are the same"));
    assert_eq!(
        std::fs::read_to_string(home.path().join("a")).unwrap(),
        "fn a() {\n    1\n}\nx x\n"
    );
}

#[test]
fn files_are_created_with_their_directories_but_not_overwritten() {
    let home = tree("full");
    assert_eq!(edit(home.path(), "b/c/d", None, "new\n").end, End::Done);
    assert_eq!(std::fs::read_to_string(home.path().join("b/c/d")).unwrap(), "new\n");
    assert!(edit(home.path(), "a", None, "other").text.contains("exists already"));
    assert!(edit(home.path(), "b", Some(""), "other").text.contains("is a directory"));
    assert!(edit(home.path(), "missing", Some("a"), "b").text.contains("cannot be changed"));
}

#[test]
fn the_ends_of_lines_stay_as_they_are() {
    let home = tree("one\r\ntwo\r\nthree\r\n");
    assert_eq!(edit(home.path(), "a", Some("one\ntwo\n"), "1\n2\n").end, End::Done);
    assert_eq!(std::fs::read(home.path().join("a")).unwrap(), b"1\r\n2\r\nthree\r\n");
}

#[test]
fn a_link_in_the_tree_stays_a_link() {
    let home = tree("text");
    std::os::unix::fs::symlink("a", home.path().join("link")).unwrap();
    assert_eq!(edit(home.path(), "link", Some("text"), "other").end, End::Done);
    assert!(home.path().join("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(home.path().join("a")).unwrap(), "other");
}

#[test]
fn what_is_not_text_or_too_large_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("latin"), [b'a', 0xe4]).unwrap();
    assert!(edit(home.path(), "latin", Some("a"), "b").text.contains("not UTF-8"));
    let large = std::fs::File::create(home.path().join("large")).unwrap();
    large.set_len(LARGEST + 1).unwrap();
    assert!(edit(home.path(), "large", Some("a"), "b").text.contains("too large"));
}
