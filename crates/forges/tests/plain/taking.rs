//! An honest agent's work comes out as one commit of ours.

use std::{fs, os::unix::fs::symlink};

use contracts::forge::{ForgeError, Forges as _};
use domain::code::CommitId;
use forges::{TakeError, inspection::FlagKind};

use crate::stage::{SANDBOX, Stage, git_in, key, repository};

#[tokio::test]
async fn plain_git_keeps_the_promises_of_a_forge() {
    let stage = Stage::new();
    stage.change("src/main.rs", "fn main() { todo!() }\n");
    let forge = stage.forge();
    contracts::promises::forge::kept(
        &forge,
        &repository(),
        &"unknown/web".parse().unwrap(),
        SANDBOX,
        "agent/x".parse().unwrap(),
    )
    .await
    .unwrap();
    let number = domain::code::PullRequestNumber(1);
    contracts::promises::forge::pull_requests_kept(&forge, &repository(), number).await.unwrap();
}

#[tokio::test]
async fn what_is_new_different_and_gone_comes_out_and_what_is_ignored_does_not() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("src/main.rs", "fn main() { run() }\n");
    stage.change("src/a b\u{fc}.rs", "new");
    stage.change("target/debug/x", "generated");
    fs::remove_file(stage.path("work/README.md")).unwrap();
    symlink("main.rs", stage.path("work/src/link")).unwrap();
    let taken = forge.take(key(1), SANDBOX, &repository()).await.unwrap();
    assert_eq!(taken.change.paths, ["README.md", "src/a bü.rs", "src/link", "src/main.rs"]);
    let flags: Vec<_> = taken.flags.into_iter().map(|flag| (flag.path, flag.kind)).collect();
    assert_eq!(flags, [("src/link".to_owned(), FlagKind::Link)]);

    let commit = taken.change.commit.as_str();
    let mirror = forge.house().mirror_path();
    assert_eq!(git_in(mirror, &["rev-parse", &format!("{commit}^")]), stage.base.as_str());
    let format = "--format=%an <%ae> %ad|%cn <%ce> %cd|%B";
    let shown = git_in(mirror, &["show", "-s", "--date=raw", format, commit]);
    assert_eq!(
        shown,
        "Ann <ann@example.com> 1700000000 +0000|Lamp <lamp@example.com> 1700000000 +0000|\
         Do it\n\nBecause.\n\nLamp-Task: t_1"
    );
    let trailers =
        git_in(mirror, &["show", "-s", "--format=%(trailers:key=Lamp-Task,valueonly)", commit]);
    assert_eq!(trailers, "t_1");
    let names = git_in(mirror, &["for-each-ref", "--format=%(refname)", "refs/lamp"]);
    assert_eq!(names, format!("refs/lamp/tasks/{}/1-change-0", key(1).task));
    assert_eq!(forge.house().leftovers(), 0, "quarantines are thrown away");
}

#[tokio::test]
async fn a_repeated_key_gives_the_first_commit_whatever_is_inside_now() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("a", "one");
    let first = forge.take(key(1), SANDBOX, &repository()).await.unwrap();
    stage.change("a", "two");
    let again = forge.take(key(1), SANDBOX, &repository()).await.unwrap();
    assert_eq!(again, first);
    let next = forge.take(key(2), SANDBOX, &repository()).await.unwrap();
    assert_ne!(next.change.commit, first.change.commit);
    assert_ne!(next.change.difference, first.change.difference);
    stage.change("a", "one");
    let third = forge.take(key(3), SANDBOX, &repository()).await.unwrap();
    assert_eq!(
        third.change.difference, first.change.difference,
        "the same change has the same hash"
    );
    assert_eq!(third.change.commit, first.change.commit, "and with the same words the same commit");
    assert_eq!(forge.house().commands().len(), 3, "a repeated key asks nothing inside");
}

#[tokio::test]
async fn what_the_agent_committed_counts_as_much_as_what_it_did_not() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("a", "committed");
    stage.change("target/kept", "added by force");
    stage.git("work", &["add", "--force", "a", "target/kept"]);
    stage.git("work", &["commit", "--quiet", "-m", "mine"]);
    stage.change("b", "not committed");
    let taken = forge.take(key(1), SANDBOX, &repository()).await.unwrap();
    assert_eq!(taken.change.paths, ["a", "b", "target/kept"]);
    let mirror = forge.house().mirror_path();
    let count = git_in(mirror, &["rev-list", "--count", taken.change.commit.as_str()]);
    assert_eq!(count, "2", "the agent's own commits stay inside");
}

#[tokio::test]
async fn a_broken_or_missing_git_directory_does_not_matter() {
    for spoil in ["rm -rf .git", "echo x > .git/index", "rm .git/HEAD", "echo '[' > .git/config"] {
        let stage = Stage::new();
        stage.change("a", "new");
        let spoiled = std::process::Command::new("sh")
            .args(["-c", spoil])
            .current_dir(stage.path("work"))
            .status();
        assert!(spoiled.unwrap().success());
        let taken = stage.forge().take(key(1), SANDBOX, &repository()).await;
        assert_eq!(taken.unwrap().change.paths, ["a"], "{spoil}");
    }
}

#[tokio::test]
async fn what_a_killed_server_left_is_cleared_away() {
    let stage = Stage::new();
    let forge = stage.forge();
    fs::create_dir_all(stage.path("host/scratch/take-x/git/objects")).unwrap();
    forge.clear_scratch().unwrap();
    assert_eq!(forge.house().leftovers(), 0);
}

#[tokio::test]
async fn settings_of_the_agent_change_nothing() {
    let stage = Stage::new();
    let ran = stage.path("ran");
    let run = format!("touch {}; cat", ran.display());
    for (name, value) in [
        ("filter.x.clean", run.as_str()),
        ("core.fsmonitor", &format!("touch {}", ran.display())),
        ("core.excludesFile", "/dev/null"),
        ("core.worktree", "/tmp"),
        ("core.hooksPath", "/tmp"),
    ] {
        stage.git("work", &["config", name, value]);
    }
    stage.change(".gitattributes", "* filter=x\n");
    stage.change("a", "new");
    let taken = stage.forge().take(key(1), SANDBOX, &repository()).await.unwrap();
    assert_eq!(taken.change.paths, [".gitattributes", "a"]);
    assert_eq!(taken.flags[0].kind, FlagKind::Attributes);
    assert!(!ran.exists());
}

#[tokio::test]
async fn nothing_changed_is_said_so() {
    let stage = Stage::new();
    let forge = stage.forge();
    let nothing = forge.take(key(1), SANDBOX, &repository()).await.unwrap_err();
    assert!(matches!(nothing, TakeError::NothingChanged), "{nothing}");
    stage.change("target/x", "ignored");
    let error = forge.take_change(key(1), SANDBOX, &repository()).await.unwrap_err();
    assert_eq!(error, ForgeError::NothingChanged);
    stage.change("a", "one");
    let first = forge.take(key(2), SANDBOX, &repository()).await.unwrap();
    forge.house().ordered(|order| order.parent = first.change.commit.clone());
    let error = forge.take_change(key(3), SANDBOX, &repository()).await.unwrap_err();
    assert_eq!(error, ForgeError::NothingChanged, "since its last commit");
}

#[tokio::test]
async fn later_work_follows_the_tasks_own_commit_and_is_compared_with_the_base() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("a", "one");
    let first = forge.take(key(1), SANDBOX, &repository()).await.unwrap();
    forge.house().ordered(|order| order.parent = first.change.commit.clone());
    stage.change("b", "two");
    let second = forge.take(key(2), SANDBOX, &repository()).await.unwrap();
    assert_eq!(second.change.paths, ["a", "b"]);
    let mirror = forge.house().mirror_path();
    let parent = git_in(mirror, &["rev-parse", &format!("{}^", second.change.commit)]);
    assert_eq!(parent.parse::<CommitId>().unwrap(), first.change.commit);
}
