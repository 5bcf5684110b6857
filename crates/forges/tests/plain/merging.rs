//! Merging, as a person asks for it.

use contracts::forge::{
    Author, Forges as _, Merge, News, PullError, PullRequests as _, PullState, news,
};
use domain::code::PullRequestNumber;
use forges::Transport;

use crate::{
    delivering::commit,
    stage::{SANDBOX, Stage, delivery, git_in, key, repository},
};

const ONE: PullRequestNumber = PullRequestNumber(1);

fn merge(head: &domain::code::CommitId) -> Merge {
    Merge { head: head.clone(), by: Author::Person("ann".to_owned()) }
}

#[tokio::test]
async fn a_base_that_did_not_move_goes_forward() {
    let stage = Stage::new();
    let forge = stage.forge();
    let head = commit(&stage, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let before = forge.pull(&repository(), ONE).await.unwrap();
    let merged = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(merged, head);
    assert_eq!(stage.far("refs/heads/trunk").as_deref(), Some(head.as_str()));
    assert_eq!(forge.merge(&repository(), ONE, &merge(&head)).await.unwrap(), merged, "again");
    let after = forge.pull(&repository(), ONE).await.unwrap();
    assert!(matches!(after.state, PullState::Merged { .. }));
    assert_eq!(news(&before, &after), [News::Merged { commit: head }]);
    let diff = forge.diff(&repository(), ONE).await.unwrap();
    assert!(String::from_utf8(diff.text).unwrap().contains("+work 1"), "still what it changed");
}

#[tokio::test]
async fn a_base_that_moved_is_joined_by_a_merge_commit() {
    let stage = Stage::new();
    let forge = stage.forge();
    let head = commit(&stage, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let theirs = stage.person_pushes("trunk", "b", "meanwhile");
    let merged = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    let parents = stage.git("remote.git", &["show", "-s", "--format=%P", "trunk"]);
    assert_eq!(parents, format!("{theirs} {head}"));
    assert_eq!(stage.far("refs/heads/trunk").as_deref(), Some(merged.as_str()));
    let files = stage.git("remote.git", &["ls-tree", "--name-only", "trunk"]);
    assert!(files.contains("a\n") && files.contains("b\n"), "{files}");
    let diff = forge.diff(&repository(), ONE).await.unwrap();
    let diff = String::from_utf8(diff.text).unwrap();
    assert!(diff.contains("+work 1") && !diff.contains("meanwhile"), "{diff}");
}

#[tokio::test]
async fn a_conflict_names_its_files_and_changes_nothing() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("README.md", "ours\n");
    let head = commit(&stage, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let theirs = stage.person_pushes("trunk", "README.md", "theirs\n");
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    let PullError::Conflicts { paths, .. } = error else { panic!("{error}") };
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0].path, "README.md");
    assert_eq!(stage.far("refs/heads/trunk").as_deref(), Some(theirs.as_str()));
    let pull = forge.pull(&repository(), ONE).await.unwrap();
    assert_eq!(pull.state, PullState::Draft);
}

#[tokio::test]
async fn only_what_was_looked_at_is_merged() {
    let stage = Stage::new();
    let forge = stage.forge();
    let head = commit(&stage, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let theirs = stage.person_pushes("agent/x", "b", "slipped in");
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(matches!(error, PullError::Moved { .. }), "{error}");
    assert_eq!(stage.far("refs/heads/trunk").as_deref(), Some(stage.base.as_str()));
    forge.merge(&repository(), ONE, &merge(&theirs)).await.unwrap();

    let second = Stage::new();
    let forge = second.forge();
    let head = commit(&second, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    forge.close(&repository(), ONE, &Author::Platform).await.unwrap();
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(matches!(error, PullError::Ended { how: "closed", .. }), "{error}");
}

#[tokio::test]
async fn a_checked_out_base_is_brought_up_to_date_only_when_nothing_is_lost() {
    let stage = Stage::new();
    git_in(&stage.path(""), &["clone", "--quiet", "remote.git", "person"]);
    let person = stage.path("person");
    let address = person.display().to_string();
    let directory = Transport::Directory(person.clone());
    let forge = stage.forge_at("host", std::path::Path::new("git"), &address, directory);
    stage.change("README.md", "better\n");
    let head = forge.take(key(1), SANDBOX, &repository()).await.unwrap().change.commit;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();

    std::fs::write(person.join("README.md"), "not committed\n").unwrap();
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(matches!(error, PullError::Rejected { .. }), "{error}");
    let content = || std::fs::read_to_string(person.join("README.md")).unwrap();
    assert_eq!(content(), "not committed\n");

    git_in(&person, &["checkout", "--quiet", "README.md"]);
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(content(), "better\n");
    assert_eq!(git_in(&person, &["status", "--porcelain"]), "");
}
