//! What is done to a pull request without any server, and what is taken back with one: git alone comments, a clone checks the receipt, and
//! `lamp revert` brings the old file back.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use unsupported::supported;

use crate::{
    fixture::{CALC, Fixture, filters},
    world::Ended,
};

/// Greets as well, when somebody on the pull request says so.
const GREETS: &str = r#"make the sum right
#implement
if grep -q 'say hel''lo' "$TOLD"; then echo hello > HELLO; fi
"#;

/// A person's git, with something on its standard input.
fn git(place: &Path, words: &[&str], input: &str) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(place).args(["-c", "user.name=P", "-c", "user.email=p@example.com"]);
    git.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = git.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{words:?}");
    String::from_utf8(ended.stdout).unwrap().trim_end().to_owned()
}

/// Puts a file into the tree of a ref, in place of what is there, as anybody who may push can.
fn put(place: &Path, name: &str, path: &[&str], content: &str) {
    let mut object = git(place, &["hash-object", "-w", "--stdin"], content);
    let mut kind = "100644 blob";
    for depth in (0..path.len()).rev() {
        let above = format!("{name}:{}", path[..depth].join("/"));
        let others = git(place, &["ls-tree", &above], "");
        let others = others.lines().filter(|line| !line.ends_with(&format!("\t{}", path[depth])));
        let tree: Vec<String> = others
            .map(str::to_owned)
            .chain([format!("{kind} {object}\t{}", path[depth])])
            .collect();
        object = git(place, &["mktree"], &format!("{}\n", tree.join("\n")));
        kind = "040000 tree";
    }
    let commit = git(place, &["commit-tree", &object, "-p", name, "-m", "by hand"], "");
    git(place, &["update-ref", name, &commit], "");
}

#[test]
fn a_comment_that_somebody_writes_with_git_alone_wakes_the_task() {
    let fixture = supported!(Fixture::build());
    let task = fixture.planned(GREETS);
    fixture.approve(&task);
    let first = fixture.wait(&task, "pull request open")["commit"].clone();
    let place = fixture.server.world().path().join("calc");
    let record = git(&place, &["show", "refs/lamp/pulls/1:pull.json"], "");
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let comment =
        json!({"name": "c1", "author": {"person": "carol"}, "at_millis": 5, "text": "say hello"});
    record["comments"].as_array_mut().unwrap().push(comment);
    put(&place, "refs/lamp/pulls/1", &["pull.json"], &record.to_string());
    fixture.until("it has gone on", || {
        let task = fixture.json(&["get", &task]);
        assert_ne!(task["state"], "paused", "{task:#}");
        (task["state"] == "pull request open" && task["commit"] != first).then_some(())
    });
    let branch = record["branch"].as_str().unwrap();
    assert_eq!(git(&place, &["show", &format!("{branch}:HELLO")], ""), "hello");
    let log = fixture.fine(&["log", &task]);
    let told = "somebody who calls themselves carol (unproven) said: say hello";
    assert_eq!(log.matches(told).count(), 1, "{log}");
}

#[test]
fn the_receipt_of_a_pull_request_is_checked_in_a_clone_without_a_server() {
    let fixture = supported!(Fixture::build());
    let task = fixture.planned("make the sum right");
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
    let world = fixture.server.world();
    git(world.path(), &["clone", "--quiet", "calc", "clone"], "");
    let clone = world.path().join("clone");
    let keys = world.path().join("data/keys/public");
    let lamp = |words: &[&str]| {
        let mut command = world.command("");
        command.args(words).arg("--keys").arg(&keys).current_dir(&clone);
        command.env("LAMP_SERVER", world.path().join("nobody.sock"));
        Ended::of(command.output().unwrap())
    };
    let without = lamp(&["verify", "1"]);
    assert_eq!(without.code(), Some(1), "{}", without.story());
    assert!(
        without.err().contains("git fetch origin 'refs/lamp/*:refs/lamp/*'"),
        "{}",
        without.story()
    );
    git(&clone, &["fetch", "--quiet", "origin", "refs/lamp/*:refs/lamp/*"], "");
    let verified = lamp(&["verify", "1"]);
    assert_eq!(verified.code(), Some(6), "{}", verified.story());
    for row in ["signature   holds", "commit      holds", "tree        holds"] {
        assert!(verified.out().contains(row), "`{row}` in {}", verified.story());
    }
    assert!(!verified.out().contains("does not hold"), "{}", verified.story());

    // One letter of it, one too many of it, and the right receipt for the wrong commit.
    let commit = git(&clone, &["rev-parse", "refs/lamp/pulls/1"], "");
    let record = git(&clone, &["show", &format!("{commit}:pull.json")], "");
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let (first, rest) = record["delivered"].as_str().unwrap().split_at(2);
    let receipt = git(&clone, &["show", &format!("refs/lamp/receipts:{first}/{rest}")], "");
    let changed = receipt.replacen("\"payload\":\"e", "\"payload\":\"f", 1);
    assert_ne!(changed, receipt);
    put(&clone, "refs/lamp/receipts", &[first, rest], &changed);
    let tampered = lamp(&["verify", "1"]);
    assert_eq!(tampered.code(), Some(1), "{}", tampered.story());
    assert!(tampered.err().contains("not to be trusted"), "{}", tampered.story());
    put(&clone, "refs/lamp/receipts", &[first, rest], &" ".repeat(3 << 20));
    let large = lamp(&["verify", "1"]);
    assert_eq!(large.code(), Some(1), "{}", large.story());
    assert!(large.err().contains("bytes, and"), "{}", large.story());
    put(&clone, "refs/lamp/receipts", &[first, rest], &receipt);
    let branch = record["branch"].as_str().unwrap();
    git(&clone, &["update-ref", &format!("refs/heads/{branch}"), "HEAD"], "");
    let other = lamp(&["verify", "1"]);
    assert_eq!(other.code(), Some(1), "{}", other.story());
    assert!(other.out().contains("commit      does not hold"), "{}", other.story());
}

#[test]
fn a_merged_change_is_taken_back_and_the_old_file_is_there_again() {
    let fixture = supported!(Fixture::build());
    let _filters = filters();
    let task = fixture.planned("make the sum right");
    let early = fixture.lamp(&["revert", &task]);
    assert!(early.err().contains("has delivered nothing"), "{}", early.story());
    fixture.approve(&task);
    fixture.wait(&task, "pull request open");
    let open = fixture.lamp(&["revert", &task]);
    assert!(open.code() == Some(1) && open.err().contains("close it instead"), "{}", open.story());
    fixture.fine(&["pr", "merge", "1"]);
    fixture.wait(&task, "done");
    let file = fixture.server.world().path().join("calc/calc.py");
    assert_eq!(fs_err::read_to_string(&file).unwrap(), CALC.replace("a - b", "a + b"));

    insta::assert_snapshot!(fixture.story(&[
        &["revert", &task],
        &["revert", &task],
        &["pr", "diff", "2"],
        &["pr", "get", "2"],
    ]));
    assert_eq!(fs_err::read_to_string(&file).unwrap(), CALC.replace("a - b", "a + b"));
    let merged = fixture.json(&["revert", &task, "--merge"]);
    assert_eq!((&merged["reverts"], &merged["pull"]["number"]), (&1.into(), &2.into()));
    assert_eq!(merged["pull"]["state"]["state"], "merged", "{merged:#}");
    assert_eq!(fs_err::read_to_string(&file).unwrap(), CALC, "the bug is back");
}
