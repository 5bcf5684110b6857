//! An honest agent's work comes out as one commit of ours.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
};

use contracts::forge::{Flag, FlagKind, ForgeError, Forges as _, Taking, Workflows};
use domain::{code::CommitId, id::SandboxId};
use forges::TakeError;

use crate::stage::{Stage, git_in, key, repository};

#[tokio::test]
async fn plain_git_keeps_the_promises_of_a_forge() {
    let stage = Stage::new();
    stage.change("src/main.rs", "fn main() { todo!() }\n");
    let forge = stage.forge();
    contracts::promises::forge::kept(
        &*forge,
        &stage.taking(),
        &"unknown/web".parse().unwrap(),
        "agent/x".parse().unwrap(),
    )
    .await
    .unwrap();
    let number = domain::code::PullRequestNumber(1);
    contracts::promises::forge::pull_requests_kept(&*forge, &repository(), number, &stage.base)
        .await
        .unwrap();
}

/// Git looks at whole seconds: a file with the length and the second that the index remembers is taken for unchanged, unless the index is of the
/// same second. So the copy of the index that we look with has to keep its time.
#[tokio::test]
async fn a_change_of_the_same_length_in_the_second_of_the_checkout_comes_out() {
    let stage = Stage::new();
    let second = |name: &str| fs::metadata(stage.path("work").join(name)).unwrap().mtime();
    // Nearly always at once: all of it has to fall into one second.
    let began = loop {
        stage.change("README.md", "hello\n");
        let began = second("README.md");
        stage.git("work", &["update-index", "--refresh"]);
        stage.change("README.md", "jello\n");
        if (second("README.md"), second(".git/index")) == (began, began) {
            break began;
        }
    };
    stage.change("target/clock", "tick");
    while second("target/clock") == began {
        stage.change("target/clock", "tick");
    }
    let taken = stage.forge().take(key(1), &stage.taking()).await.unwrap();
    assert_eq!(taken.paths, ["README.md"]);
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
    let taken = forge.take(key(1), &stage.taking()).await.unwrap();
    assert_eq!(taken.paths, ["README.md", "src/a bü.rs", "src/link", "src/main.rs"]);
    let (path, text) = ("src/link".to_owned(), "`src/link` is a symbolic link".to_owned());
    assert_eq!(taken.flags, [Flag { kind: FlagKind::Odd, path, text }]);

    let commit = taken.commit.as_str();
    let mirror = forge.mirror_path();
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
    assert_eq!(forge.leftovers(), 0, "quarantines are thrown away");
}

#[tokio::test]
async fn a_repeated_key_gives_the_first_commit_whatever_is_inside_now() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("a", "one");
    let first = forge.take(key(1), &stage.taking()).await.unwrap();
    stage.change("a", "two");
    let again = forge.take(key(1), &stage.taking()).await.unwrap();
    assert_eq!(again, first);
    let next = forge.take(key(2), &stage.taking()).await.unwrap();
    assert_ne!(next.commit, first.commit);
    assert_ne!(next.difference, first.difference);
    stage.change("a", "one");
    let third = forge.take(key(3), &stage.taking()).await.unwrap();
    assert_eq!(third.difference, first.difference, "the same change has the same hash");
    assert_eq!(third.commit, first.commit, "and with the same words the same commit");
    assert_eq!(forge.commands().len(), 3, "a repeated key asks nothing inside");
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
    let taken = forge.take(key(1), &stage.taking()).await.unwrap();
    assert_eq!(taken.paths, ["a", "b", "target/kept"]);
    let mirror = forge.mirror_path();
    let count = git_in(mirror, &["rev-list", "--count", taken.commit.as_str()]);
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
        let taken = stage.forge().take(key(1), &stage.taking()).await;
        assert_eq!(taken.unwrap().paths, ["a"], "{spoil}");
    }
}

#[tokio::test]
async fn what_a_killed_server_left_is_cleared_away() {
    let stage = Stage::new();
    drop(stage.forge());
    fs::create_dir_all(stage.path("host/takings/take-x/git/objects")).unwrap();
    assert_eq!(stage.forge().leftovers(), 0);
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
    let taken = stage.forge().take(key(1), &stage.taking()).await.unwrap();
    assert_eq!(taken.paths, [".gitattributes", "a"]);
    assert_eq!(taken.flags[0].text, "`.gitattributes` tells git how to treat files");
    assert!(!ran.exists());
}

#[tokio::test]
async fn nothing_changed_is_said_so() {
    let stage = Stage::new();
    let forge = stage.forge();
    let nothing = forge.take(key(1), &stage.taking()).await.unwrap_err();
    assert!(matches!(nothing, TakeError::NothingChanged), "{nothing}");
    stage.change("target/x", "ignored");
    let error = forge.take_change(key(1), &stage.taking()).await.unwrap_err();
    assert_eq!(error, ForgeError::NothingChanged);
    stage.change("a", "one");
    let first = forge.take(key(2), &stage.taking()).await.unwrap();
    let error = forge.take_change(key(3), &stage.taking_after(&first.commit)).await.unwrap_err();
    assert_eq!(error, ForgeError::NothingChanged, "since its last commit");
}

#[tokio::test]
async fn a_sandbox_that_nobody_knows_has_nothing_to_take() {
    let stage = Stage::new();
    let forge = stage.forge();
    let taking = Taking { sandbox: SandboxId::from_u128(404), ..stage.taking() };
    let error = forge.take_change(key(1), &taking).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused { .. }), "{error}");
    assert_eq!(forge.commands(), Vec::<String>::new(), "nothing is asked inside");
}

#[tokio::test]
async fn later_work_follows_the_tasks_own_commit_and_is_compared_with_the_base() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("a", "one");
    let first = forge.take(key(1), &stage.taking()).await.unwrap();
    stage.change("b", "two");
    let second = forge.take(key(2), &stage.taking_after(&first.commit)).await.unwrap();
    assert_eq!(second.paths, ["a", "b"]);
    let mirror = forge.mirror_path();
    let parent = git_in(mirror, &["rev-parse", &format!("{}^", second.commit)]);
    assert_eq!(parent.parse::<CommitId>().unwrap(), first.commit);
}

#[tokio::test]
async fn a_workflow_leaves_only_when_it_was_approved_and_is_flagged_then() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change(".github/workflows/ci.yml", "on: push");
    stage.change(".vscode/tasks.json", "{}");
    let error = forge.take_change(key(1), &stage.taking()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused { .. }), "{error}");
    let approved = Taking { workflows: Workflows::Approved, ..stage.taking() };
    let change = forge.take_change(key(1), &approved).await.unwrap();
    let kinds: Vec<_> = change.flags.iter().map(|flag| (flag.path.as_str(), flag.kind)).collect();
    assert_eq!(
        kinds,
        [
            (".github/workflows/ci.yml", FlagKind::Workflow),
            (".vscode/tasks.json", FlagKind::RunsWhenOpened)
        ]
    );
}
