//! What cannot run on a machine is counted, and on CI it is on a list: `scripts/unsupported` and `tests/unsupported.txt`.

use std::{path::Path, process::Command};

use crate::{
    functions,
    tree::{assert_none, files_with, read, root},
};

const LIST: &str = "tests/unsupported.txt";

const TOLD: &str = "part\ttests::escape\tcalls::all\tthe tier `untrusted`\tgVisor (runsc) is missing\n\
    test\timages\tdisk::one\t-\ta pool needs root\n\
    test\timages\tdisk::one\t-\ta pool needs root\n\
    test\timages\tdisk::two\t-\ta pool needs root\n";

/// What the script prints, and whether it is content.
fn report(told: &str, list: &str, variables: &[(&str, &str)]) -> (String, bool) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("told");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("1"), told).unwrap();
    // Another process.
    std::fs::write(directory.join("2"), told).unwrap();
    let kept = place.path().join("list");
    std::fs::write(&kept, list).unwrap();
    let output = script(&directory, &kept).envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (said.replace(kept.to_str().unwrap(), "LIST"), output.status.success())
}

fn script(directory: &Path, list: &Path) -> Command {
    let mut command = Command::new(root().join("scripts/unsupported"));
    command.arg(directory).arg(list).env_remove("CI").env_remove("LAMP_REQUIRE");
    command
}

#[test]
fn what_cannot_run_is_told_once_and_counted() {
    let (said, is_content) = report(TOLD, "", &[]);
    insta::assert_snapshot!(said, @r"
      unlisted: tests::escape calls::all: the tier `untrusted`: gVisor (runsc) is missing
      unlisted: images disk::one: a pool needs root
      unlisted: images disk::two: a pool needs root
    unsupported: 2 tests, 1 parts
    ");
    assert!(is_content, "a smaller machine than CI's is fine");
    assert_eq!(report("", "", &[]).0, "unsupported: 0 tests, 0 parts\n");
}

#[test]
fn where_all_is_required_only_what_is_listed_is_excused() {
    let all = "# why\n\nimages disk::* | - | no root\ntests::escape calls::all | the tier *: gVisor * is missing | none\n";
    let some = "images disk::two | - | no root\ntests::escape calls::all | - | none\n";
    for required in [("CI", "true"), ("LAMP_REQUIRE", "all")] {
        let (said, is_content) = report(TOLD, all, &[required]);
        assert!(is_content && !said.contains("unlisted"), "{said}");
        assert!(said.contains("listed, 2 times: images disk::* | - | no root"), "{said}");
        let (said, is_content) = report(TOLD, some, &[required]);
        assert!(
            !is_content && said.contains("2 that tests/unsupported.txt does not list"),
            "{said}"
        );
    }
    assert!(report(TOLD, some, &[]).1);
}

#[test]
fn an_entry_that_nothing_needs_is_told() {
    let (said, is_content) = report("", "images disk::* | - | no root\n", &[("CI", "true")]);
    insta::assert_snapshot!(said, @r"
      stale? listed, but it ran or was not asked: images disk::* | - | no root
    unsupported: 0 tests, 0 parts
    ");
    assert!(is_content);
}

#[test]
fn what_is_not_understood_fails() {
    let (said, is_content) = report("half a line\n", "no bars\n", &[]);
    insta::assert_snapshot!(said, @r"
    LIST:1: an entry is `program test | part | why`, and `-` is all of a test
    not understood: half a line
    unsupported: 0 tests, 0 parts
    ");
    assert!(!is_content);
    let nowhere = script(Path::new("/nowhere/to/be/found"), &root().join(LIST)).output().unwrap();
    assert!(!nowhere.status.success());
    let (said, is_content) = {
        let place = tempfile::tempdir().unwrap();
        let output = script(place.path(), Path::new("/nowhere/to/be/found")).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.success())
    };
    assert!(!is_content && said.contains("cannot be read"), "{said}");
}

/// An entry for a test that was renamed would excuse nothing, and stay for ever.
#[test]
fn the_list_names_only_tests_that_exist() {
    let files = files_with("rs");
    let known: Vec<String> = files
        .iter()
        .filter(|file| functions::may_have_tests(file))
        .flat_map(|file| functions::find(file).tests)
        .collect();
    let wrong: Vec<String> = read(LIST)
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| {
            let test = line.split(" | ").next().unwrap_or_default().trim();
            let name = test.rsplit([' ', ':']).next().unwrap_or_default();
            !name.contains('*') && !known.iter().any(|known| known == name)
        })
        .map(str::to_owned)
        .collect();
    assert_none("correct tests/unsupported.txt", &wrong);
}
