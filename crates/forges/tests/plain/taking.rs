//! An honest agent's work comes out as one commit of ours.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
};

use contracts::forge::{Flag, FlagKind, ForgeError, Forges as _, Taking, Workflows};
use domain::{code::CommitId, id::SandboxId};
use forges::TakeError;

use crate::fixture::{Fixture, git_in, key, repository};

#[tokio::test]
async fn plain_git_keeps_the_promises_of_a_forge() {
    let fixture = Fixture::new();
    fixture.change("src/main.rs", "fn main() { todo!() }\n");
    let forge = fixture.forge();
    contracts::promises::forge::kept(
        &*forge,
        &fixture.taking(),
        &"unknown/web".parse().unwrap(),
        "agent/x".parse().unwrap(),
    )
    .await
    .unwrap();
    let number = domain::code::PullRequestNumber(1);
    contracts::promises::forge::pull_requests_kept(&*forge, &repository(), number, &fixture.base)
        .await
        .unwrap();
}

/// Git looks at whole seconds: a file with the length and the second that the index remembers is taken for unchanged, unless the index is of the
/// same second. So the copy of the index that we look with has to keep its time.
#[tokio::test]
async fn a_change_of_the_same_length_in_the_second_of_the_checkout_comes_out() {
    let fixture = Fixture::new();
    let second = |name: &str| fs::metadata(fixture.path("work").join(name)).unwrap().mtime();
    // Nearly always at once: all of it has to fall into one second.
    let began = loop {
        fixture.change("README.md", "hello\n");
        let began = second("README.md");
        fixture.git("work", &["update-index", "--refresh"]);
        fixture.change("README.md", "jello\n");
        if (second("README.md"), second(".git/index")) == (began, began) {
            break began;
        }
    };
    fixture.change("target/clock", "tick");
    while second("target/clock") == began {
        fixture.change("target/clock", "tick");
    }
    let taken = fixture.forge().take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["README.md"]);
}

#[tokio::test]
async fn what_is_new_different_and_gone_comes_out_and_what_is_ignored_does_not() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("src/main.rs", "fn main() { run() }\n");
    fixture.change("src/a b\u{fc}.rs", "new");
    fixture.change("target/debug/x", "generated");
    fs::remove_file(fixture.path("work/README.md")).unwrap();
    symlink("main.rs", fixture.path("work/src/link")).unwrap();
    let taken = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["README.md", "src/a bü.rs", "src/link", "src/main.rs"]);
    let (path, text) = ("src/link".to_owned(), "`src/link` is a symbolic link".to_owned());
    assert_eq!(taken.flags, [Flag { kind: FlagKind::Odd, path, text }]);

    let commit = taken.commit.as_str();
    let mirror = forge.mirror_path();
    assert_eq!(git_in(mirror, &["rev-parse", &format!("{commit}^")]), fixture.base.as_str());
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
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("a", "one");
    let first = forge.take(key(1), &fixture.taking()).await.unwrap();
    fixture.change("a", "two");
    let again = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(again, first);
    let next = forge.take(key(2), &fixture.taking()).await.unwrap();
    assert_ne!(next.commit, first.commit);
    assert_ne!(next.difference, first.difference);
    fixture.change("a", "one");
    let third = forge.take(key(3), &fixture.taking()).await.unwrap();
    assert_eq!(third.difference, first.difference, "the same change has the same hash");
    assert_eq!(third.commit, first.commit, "and with the same words the same commit");
    assert_eq!(forge.commands().len(), 3, "a repeated key asks nothing inside");
}

#[tokio::test]
async fn what_the_agent_committed_counts_as_much_as_what_it_did_not() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("a", "committed");
    fixture.change("target/kept", "added by force");
    fixture.git("work", &["add", "--force", "a", "target/kept"]);
    fixture.git("work", &["commit", "--quiet", "-m", "mine"]);
    fixture.change("b", "not committed");
    let taken = forge.take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, ["a", "b", "target/kept"]);
    let mirror = forge.mirror_path();
    let count = git_in(mirror, &["rev-list", "--count", taken.commit.as_str()]);
    assert_eq!(count, "2", "the agent's own commits stay inside");
}

#[tokio::test]
async fn a_broken_or_missing_git_directory_does_not_matter() {
    for spoil in ["rm -rf .git", "echo x > .git/index", "rm .git/HEAD", "echo '[' > .git/config"] {
        let fixture = Fixture::new();
        fixture.change("a", "new");
        let spoiled = std::process::Command::new("sh")
            .args(["-c", spoil])
            .current_dir(fixture.path("work"))
            .status();
        assert!(spoiled.unwrap().success());
        let taken = fixture.forge().take(key(1), &fixture.taking()).await;
        assert_eq!(taken.unwrap().paths, ["a"], "{spoil}");
    }
}

#[tokio::test]
async fn what_a_killed_server_left_is_cleared_away() {
    let fixture = Fixture::new();
    drop(fixture.forge());
    fs::create_dir_all(fixture.path("host/takings/take-x/git/objects")).unwrap();
    assert_eq!(fixture.forge().leftovers(), 0);
}

#[tokio::test]
async fn settings_of_the_agent_change_nothing() {
    let fixture = Fixture::new();
    let ran = fixture.path("ran");
    let run = format!("touch {}; cat", ran.display());
    for (name, value) in [
        ("filter.x.clean", run.as_str()),
        ("core.fsmonitor", &format!("touch {}", ran.display())),
        ("core.excludesFile", "/dev/null"),
        ("core.worktree", "/tmp"),
        ("core.hooksPath", "/tmp"),
    ] {
        fixture.git("work", &["config", name, value]);
    }
    fixture.change(".gitattributes", "* filter=x\n");
    fixture.change("a", "new");
    let taken = fixture.forge().take(key(1), &fixture.taking()).await.unwrap();
    assert_eq!(taken.paths, [".gitattributes", "a"]);
    assert_eq!(taken.flags[0].text, "`.gitattributes` tells git how to treat files");
    assert!(!ran.exists());
}

#[tokio::test]
async fn nothing_changed_is_said_so() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let nothing = forge.take(key(1), &fixture.taking()).await.unwrap_err();
    assert!(matches!(nothing, TakeError::NothingChanged), "{nothing}");
    fixture.change("target/x", "ignored");
    let error = forge.take_change(key(1), &fixture.taking()).await.unwrap_err();
    assert_eq!(error, ForgeError::NothingChanged);
    fixture.change("a", "one");
    let first = forge.take(key(2), &fixture.taking()).await.unwrap();
    let error = forge.take_change(key(3), &fixture.taking_after(&first.commit)).await.unwrap_err();
    assert_eq!(error, ForgeError::NothingChanged, "since its last commit");
}

#[tokio::test]
async fn a_sandbox_that_nobody_knows_has_nothing_to_take() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let taking = Taking { sandbox: SandboxId::from_u128(404), ..fixture.taking() };
    let error = forge.take_change(key(1), &taking).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused { .. }), "{error}");
    assert_eq!(forge.commands(), Vec::<String>::new(), "nothing is asked inside");
}

#[tokio::test]
async fn later_work_follows_the_tasks_own_commit_and_is_compared_with_the_base() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("a", "one");
    let first = forge.take(key(1), &fixture.taking()).await.unwrap();
    fixture.change("b", "two");
    let second = forge.take(key(2), &fixture.taking_after(&first.commit)).await.unwrap();
    assert_eq!(second.paths, ["a", "b"]);
    let mirror = forge.mirror_path();
    let parent = git_in(mirror, &["rev-parse", &format!("{}^", second.commit)]);
    assert_eq!(parent.parse::<CommitId>().unwrap(), first.commit);
}

#[tokio::test]
async fn a_workflow_leaves_only_when_it_was_approved_and_is_flagged_then() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change(".github/workflows/ci.yml", "on: push");
    fixture.change(".vscode/tasks.json", "{}");
    let error = forge.take_change(key(1), &fixture.taking()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused { .. }), "{error}");
    let approved = Taking { workflows: Workflows::Approved, ..fixture.taking() };
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
