//! Taking a merged pull request back, as a person asks for it.

use contracts::forge::{Author, Forges as _, Merge, PullRequests as _, PullState, Revert};
use domain::code::{CommitId, PullRequestNumber};

use crate::{
    delivering::commit,
    stage::{Forge, Stage, delivery, git_in, key, repository},
};

const ONE: PullRequestNumber = PullRequestNumber(1);
const TWO: PullRequestNumber = PullRequestNumber(2);

fn by() -> Author {
    Author::Person("ann".to_owned())
}

fn merge(head: &CommitId) -> Merge {
    Merge { head: head.clone(), base: "trunk".to_owned(), by: by() }
}

pub(crate) fn revert(stage: &Stage) -> Revert {
    Revert {
        began: stage.base.clone(),
        known: None,
        title: "Revert \"Fix it\"".to_owned(),
        body: "ann takes back #1.".to_owned(),
    }
}

/// A change to `README.md`, delivered and merged.
pub(crate) async fn merged(stage: &Stage, forge: &Forge) -> CommitId {
    stage.change("README.md", "better\n");
    let head = commit(stage, forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    head
}

fn content(stage: &Stage, revision: &str) -> String {
    stage.git("remote.git", &["show", &format!("{revision}:README.md")])
}

#[tokio::test]
async fn what_was_merged_is_taken_back_and_what_came_after_it_stays() {
    let stage = Stage::new();
    let forge = stage.forge();
    merged(&stage, &forge).await;
    let tip = stage.person_pushes("trunk", "b", "later");
    assert_eq!(content(&stage, "trunk"), "better");
    let back = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap();
    assert_eq!(back.number, TWO);
    let pull = forge.pull(&repository(), TWO).await.unwrap();
    assert_eq!((pull.branch.as_str(), pull.base.as_str()), ("agent/revert-1", "trunk"));
    assert_eq!(pull.title, "Revert \"Fix it\"");
    let parent = stage.git("remote.git", &["rev-parse", "agent/revert-1^"]);
    assert_eq!(parent, tip.as_str());
    assert_eq!(content(&stage, "trunk"), "better", "nothing is merged by itself");
    forge.merge(&repository(), TWO, &merge(&pull.delivered)).await.unwrap();
    assert_eq!(content(&stage, "trunk"), "hello");
    assert_eq!(stage.git("remote.git", &["show", "trunk:b"]), "later");
    let again = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap();
    assert_eq!(again, back, "it has one revert, also when that is merged");
}

#[tokio::test]
async fn a_change_that_was_joined_by_a_merge_is_taken_back_without_the_other_side() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("README.md", "better\n");
    let head = commit(&stage, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    stage.person_pushes("trunk", "b", "meanwhile");
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap();
    assert_eq!(content(&stage, "agent/revert-1"), "hello");
    assert_eq!(stage.git("remote.git", &["show", "agent/revert-1:b"]), "meanwhile");
}

#[tokio::test]
async fn what_somebody_merged_with_git_alone_is_taken_back_as_well() {
    for how in [&["--ff-only"][..], &["--no-ff", "--no-edit"]] {
        let stage = Stage::new();
        git_in(&stage.path(""), &["clone", "--quiet", "remote.git", "person"]);
        let person = stage.path("person");
        let address = person.display().to_string();
        let forge = stage.forge_at("host", &address);
        stage.change("README.md", "better\n");
        let head = forge.take(key(1), &stage.taking()).await.unwrap().commit;
        forge.deliver(key(2), &delivery(&head)).await.unwrap();
        git_in(&person, &[&["merge", "--quiet"], how, &["agent/x"]].concat());
        std::fs::write(person.join("b"), "later").unwrap();
        git_in(&person, &["add", "b"]);
        git_in(&person, &["commit", "--quiet", "-m", "later"]);
        let back = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap();
        assert_eq!(back.number, TWO, "{how:?}");
        let show = |what: &str| git_in(&person, &["show", &format!("agent/revert-1:{what}")]);
        assert_eq!((show("README.md"), show("b")), ("hello".to_owned(), "later".to_owned()));
    }
}

#[tokio::test]
async fn what_others_built_upon_is_refused_with_its_files() {
    let stage = Stage::new();
    let forge = stage.forge();
    merged(&stage, &forge).await;
    stage.person_pushes("trunk", "README.md", "better still\n");
    let error = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "pull request #1 cannot be taken back by itself: others changed `README.md` since"
    );
    assert_eq!(stage.refs(), ["refs/heads/agent/x", "refs/heads/trunk", "refs/lamp/pulls/1"]);
}

#[tokio::test]
async fn only_what_is_merged_and_still_there_is_taken_back() {
    let stage = Stage::new();
    let forge = stage.forge();
    stage.change("README.md", "better\n");
    let head = commit(&stage, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let error = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap_err();
    assert_eq!(error.to_string(), "pull request #1 is not merged: close it instead");
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    git_in(&stage.path(""), &["clone", "--quiet", "remote.git", "person"]);
    stage.git("person", &["revert", "--no-edit", "HEAD"]);
    stage.git("person", &["push", "--quiet", "origin", "trunk"]);
    let error = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the forge said no: nothing that pull request #1 changed is in `trunk` any more: there is nothing to take back"
    );

    let closed = Stage::new();
    let forge = closed.forge();
    let head = commit(&closed, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    forge.close(&repository(), ONE, &by()).await.unwrap();
    let error = forge.revert(&repository(), ONE, &revert(&closed)).await.unwrap_err();
    assert!(error.to_string().contains("nothing to take back"), "{error}");
}

#[tokio::test]
async fn after_a_revert_was_closed_another_can_be_asked_for() {
    let stage = Stage::new();
    let forge = stage.forge();
    merged(&stage, &forge).await;
    forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap();
    forge.close(&repository(), TWO, &by()).await.unwrap();
    let second = forge.revert(&repository(), ONE, &revert(&stage)).await.unwrap();
    assert_eq!(second.number, PullRequestNumber(3));
    let pull = forge.pull(&repository(), second.number).await.unwrap();
    assert_eq!((pull.branch.as_str(), pull.state), ("agent/revert-1-2", PullState::Draft));
}
