//! Taking a merged pull request back, as a person asks for it.

use contracts::forge::{Author, Forges as _, Merge, PullRequests as _, PullState, Revert};
use domain::code::{CommitId, PullRequestNumber};

use crate::{
    delivering::commit,
    fixture::{Fixture, Forge, delivery, git_in, key, repository},
};

const ONE: PullRequestNumber = PullRequestNumber(1);
const TWO: PullRequestNumber = PullRequestNumber(2);

fn by() -> Author {
    Author::Person("ann".to_owned())
}

fn merge(head: &CommitId) -> Merge {
    Merge { head: head.clone(), base: "trunk".to_owned(), by: by() }
}

pub(crate) fn revert(fixture: &Fixture) -> Revert {
    Revert {
        began: fixture.base.clone(),
        known: None,
        title: "Revert \"Fix it\"".to_owned(),
        body: "ann takes back #1.".to_owned(),
    }
}

/// A change to `README.md`, delivered and merged.
pub(crate) async fn merged(fixture: &Fixture, forge: &Forge) -> CommitId {
    fixture.change("README.md", "better\n");
    let head = commit(fixture, forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    head
}

fn content(fixture: &Fixture, revision: &str) -> String {
    fixture.git("remote.git", &["show", &format!("{revision}:README.md")])
}

#[tokio::test]
async fn what_was_merged_is_taken_back_and_what_came_after_it_stays() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    merged(&fixture, &forge).await;
    let tip = fixture.person_pushes("trunk", "b", "later");
    assert_eq!(content(&fixture, "trunk"), "better");
    let back = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
    assert_eq!(back.number, TWO);
    let pull = forge.pull(&repository(), TWO).await.unwrap();
    assert_eq!((pull.branch.as_str(), pull.base.as_str()), ("agent/revert-1", "trunk"));
    assert_eq!(pull.title, "Revert \"Fix it\"");
    let parent = fixture.git("remote.git", &["rev-parse", "agent/revert-1^"]);
    assert_eq!(parent, tip.as_str());
    assert_eq!(content(&fixture, "trunk"), "better", "nothing is merged by itself");
    forge.merge(&repository(), TWO, &merge(&pull.delivered)).await.unwrap();
    assert_eq!(content(&fixture, "trunk"), "hello");
    assert_eq!(fixture.git("remote.git", &["show", "trunk:b"]), "later");
    let again = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
    assert_eq!(again, back, "it has one revert, also when that is merged");
}

#[tokio::test]
async fn a_change_that_was_joined_by_a_merge_is_taken_back_without_the_other_side() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("README.md", "better\n");
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    fixture.person_pushes("trunk", "b", "meanwhile");
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
    assert_eq!(content(&fixture, "agent/revert-1"), "hello");
    assert_eq!(fixture.git("remote.git", &["show", "agent/revert-1:b"]), "meanwhile");
}

#[tokio::test]
async fn what_somebody_merged_with_git_alone_is_taken_back_as_well() {
    for how in [&["--ff-only"][..], &["--no-ff", "--no-edit"]] {
        let fixture = Fixture::new();
        git_in(&fixture.path(""), &["clone", "--quiet", "remote.git", "person"]);
        let person = fixture.path("person");
        let address = person.display().to_string();
        let forge = fixture.forge_at("host", &address);
        fixture.change("README.md", "better\n");
        let head = forge.take(key(1), &fixture.taking()).await.unwrap().commit;
        forge.deliver(key(2), &delivery(&head)).await.unwrap();
        git_in(&person, &[&["merge", "--quiet"], how, &["agent/x"]].concat());
        std::fs::write(person.join("b"), "later").unwrap();
        git_in(&person, &["add", "b"]);
        git_in(&person, &["commit", "--quiet", "-m", "later"]);
        let back = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
        assert_eq!(back.number, TWO, "{how:?}");
        let show = |what: &str| git_in(&person, &["show", &format!("agent/revert-1:{what}")]);
        assert_eq!((show("README.md"), show("b")), ("hello".to_owned(), "later".to_owned()));
    }
}

#[tokio::test]
async fn what_others_built_upon_is_refused_with_its_files() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    merged(&fixture, &forge).await;
    fixture.person_pushes("trunk", "README.md", "better still\n");
    let error = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "pull request #1 cannot be taken back by itself: others changed `README.md` since"
    );
    assert_eq!(fixture.refs(), ["refs/heads/agent/x", "refs/heads/trunk", "refs/lamp/pulls/1"]);
}

#[tokio::test]
async fn only_what_is_merged_and_still_there_is_taken_back() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("README.md", "better\n");
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let error = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap_err();
    assert_eq!(error.to_string(), "pull request #1 is not merged: close it instead");
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    git_in(&fixture.path(""), &["clone", "--quiet", "remote.git", "person"]);
    fixture.git("person", &["revert", "--no-edit", "HEAD"]);
    fixture.git("person", &["push", "--quiet", "origin", "trunk"]);
    let error = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the forge said no: nothing that pull request #1 changed is in `trunk` any more: there is nothing to take back"
    );

    let closed = Fixture::new();
    let forge = closed.forge();
    let head = commit(&closed, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    forge.close(&repository(), ONE, &by()).await.unwrap();
    let error = forge.revert(&repository(), ONE, &revert(&closed)).await.unwrap_err();
    assert!(error.to_string().contains("nothing to take back"), "{error}");
}

#[tokio::test]
async fn after_a_revert_was_closed_another_can_be_asked_for() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    merged(&fixture, &forge).await;
    forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
    forge.close(&repository(), TWO, &by()).await.unwrap();
    let second = forge.revert(&repository(), ONE, &revert(&fixture)).await.unwrap();
    assert_eq!(second.number, PullRequestNumber(3));
    let pull = forge.pull(&repository(), second.number).await.unwrap();
    assert_eq!((pull.branch.as_str(), pull.state), ("agent/revert-1-2", PullState::Draft));
}
