//! Merging, as a person asks for it.

use std::{fs, path::PathBuf};

use contracts::forge::{
    Author, Forges as _, Merge, News, PullError, PullRequests as _, PullState, news,
};
use domain::code::{CommitId, PullRequestNumber};

use crate::{
    delivering::commit,
    fixture::{Fixture, Forge, delivery, git_in, key, repository},
};

const ONE: PullRequestNumber = PullRequestNumber(1);

fn merge(head: &CommitId) -> Merge {
    Merge { head: head.clone(), base: "trunk".to_owned(), by: Author::Person("ann".to_owned()) }
}

#[tokio::test]
async fn a_base_that_did_not_move_goes_forward() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let before = forge.pull(&repository(), ONE).await.unwrap();
    let merged = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(merged, head);
    assert_eq!(fixture.far("refs/heads/trunk").as_deref(), Some(head.as_str()));
    assert_eq!(forge.merge(&repository(), ONE, &merge(&head)).await.unwrap(), merged, "again");
    let after = forge.pull(&repository(), ONE).await.unwrap();
    assert!(matches!(after.state, PullState::Merged { .. }));
    assert_eq!(news(&before, &after), [News::Merged { commit: head }]);
    let diff = forge.diff(&repository(), ONE).await.unwrap();
    assert!(String::from_utf8(diff.text).unwrap().contains("+work 1"), "still what it changed");
}

#[tokio::test]
async fn a_base_that_moved_is_joined_by_a_merge_commit() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let theirs = fixture.person_pushes("trunk", "b", "meanwhile");
    let merged = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    let parents = fixture.git("remote.git", &["show", "-s", "--format=%P", "trunk"]);
    assert_eq!(parents, format!("{theirs} {head}"));
    assert_eq!(fixture.far("refs/heads/trunk").as_deref(), Some(merged.as_str()));
    let files = fixture.git("remote.git", &["ls-tree", "--name-only", "trunk"]);
    assert!(files.contains("a\n") && files.contains("b\n"), "{files}");
    let diff = forge.diff(&repository(), ONE).await.unwrap();
    let diff = String::from_utf8(diff.text).unwrap();
    assert!(diff.contains("+work 1") && !diff.contains("meanwhile"), "{diff}");
}

#[tokio::test]
async fn a_conflict_names_its_files_and_changes_nothing() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    fixture.change("README.md", "ours\n");
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let theirs = fixture.person_pushes("trunk", "README.md", "theirs\n");
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    let PullError::Conflicts { paths, .. } = error else { panic!("{error}") };
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0].path, "README.md");
    assert_eq!(fixture.far("refs/heads/trunk").as_deref(), Some(theirs.as_str()));
    let pull = forge.pull(&repository(), ONE).await.unwrap();
    assert_eq!(pull.state, PullState::Draft);
}

#[tokio::test]
async fn only_what_was_looked_at_is_merged() {
    let fixture = Fixture::new();
    let forge = fixture.forge();
    let head = commit(&fixture, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    let theirs = fixture.person_pushes("agent/x", "b", "slipped in");
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(matches!(error, PullError::Moved { .. }), "{error}");
    assert_eq!(fixture.far("refs/heads/trunk").as_deref(), Some(fixture.base.as_str()));
    forge.merge(&repository(), ONE, &merge(&theirs)).await.unwrap();

    let second = Fixture::new();
    let forge = second.forge();
    let head = commit(&second, &forge, 1).await;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    forge.close(&repository(), ONE, &Author::Platform).await.unwrap();
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(matches!(error, PullError::Ended { how: "closed", .. }), "{error}");
}

/// A repository that somebody works in, a pull request on it, and the commit to merge.
async fn checked_out(fixture: &Fixture) -> (PathBuf, Forge, CommitId) {
    git_in(&fixture.path(""), &["clone", "--quiet", "remote.git", "person"]);
    let person = fixture.path("person");
    let address = person.display().to_string();
    let forge = fixture.forge_at("host", &address);
    fixture.change("README.md", "better\n");
    let head = forge.take(key(1), &fixture.taking()).await.unwrap().commit;
    forge.deliver(key(2), &delivery(&head)).await.unwrap();
    (person, forge, head)
}

#[tokio::test]
async fn a_checked_out_base_is_brought_up_to_date_only_when_nothing_is_lost() {
    let fixture = Fixture::new();
    let (person, forge, head) = checked_out(&fixture).await;
    let told = format!(
        "the forge said no: `trunk` is checked out in `{}`, with changes that are not committed: commit or stash them there and \
         merge again, or run `git merge agent/x` there",
        person.display()
    );
    fs::write(person.join("README.md"), "not committed\n").unwrap();
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert_eq!(error.to_string(), told);
    git_in(&person, &["add", "README.md"]);
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert_eq!(error.to_string(), told, "what is staged counts as well");
    let content = || fs::read_to_string(person.join("README.md")).unwrap();
    assert_eq!(content(), "not committed\n");
    assert_eq!(git_in(&person, &["rev-parse", "HEAD"]), fixture.base.as_str());

    git_in(&person, &["reset", "--quiet", "--hard"]);
    fs::write(person.join("untracked"), "of no concern\n").unwrap();
    let merged = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(content(), "better\n");
    assert_eq!(git_in(&person, &["status", "--porcelain"]), "?? untracked");
    assert_eq!(git_in(&person, &["rev-parse", "HEAD"]), merged.as_str());
    let diff = forge.diff(&repository(), ONE).await.unwrap();
    assert!(String::from_utf8(diff.text).unwrap().contains("+better"));
}

#[tokio::test]
async fn no_filter_of_the_repository_runs_what_a_change_brings() {
    let fixture = Fixture::new();
    fixture.change(".gitattributes", "* filter=shape\n");
    fixture.change("shape.sh", "touch ran; cat\n");
    let (person, forge, head) = checked_out(&fixture).await;
    git_in(&person, &["config", "filter.shape.smudge", "sh ./shape.sh"]);
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(error.to_string().contains("run `git merge agent/x` there yourself"), "{error}");
    assert!(!person.join("ran").exists());
    assert_eq!(git_in(&person, &["rev-parse", "trunk"]), fixture.base.as_str());

    // The control: it would have run.
    git_in(&person, &["merge", "--quiet", "--ff-only", "agent/x"]);
    git_in(&person, &["checkout", "--quiet", "--force", "HEAD", "--", "."]);
    fs::remove_file(person.join("README.md")).unwrap();
    git_in(&person, &["checkout", "--quiet", "--", "README.md"]);
    assert!(person.join("ran").exists());
}

#[tokio::test]
async fn a_file_that_nobody_committed_is_not_overwritten_by_a_merge() {
    let fixture = Fixture::new();
    fixture.change("new", "of the agent\n");
    let (person, forge, head) = checked_out(&fixture).await;
    fs::write(person.join("new"), "of a person\n").unwrap();
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(error.to_string().contains("commit or stash them"), "{error}");
    assert_eq!(fs::read_to_string(person.join("new")).unwrap(), "of a person\n");
    assert_eq!(git_in(&person, &["rev-parse", "HEAD"]), fixture.base.as_str());
    let pull = forge.pull(&repository(), ONE).await.unwrap();
    assert_eq!(pull.state, PullState::Draft);
}

#[tokio::test]
async fn a_base_that_nobody_has_checked_out_moves_whatever_is_in_the_files() {
    let fixture = Fixture::new();
    let (person, forge, head) = checked_out(&fixture).await;
    git_in(&person, &["checkout", "--quiet", "-b", "mine"]);
    fs::write(person.join("README.md"), "not committed\n").unwrap();
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(git_in(&person, &["rev-parse", "trunk"]), head.as_str());
    assert_eq!(git_in(&person, &["status", "--porcelain"]), "M README.md");
}

#[tokio::test]
async fn a_person_in_the_midst_of_a_rebase_is_left_alone() {
    let fixture = Fixture::new();
    let (person, forge, head) = checked_out(&fixture).await;
    fs::write(person.join("b"), "mine\n").unwrap();
    git_in(&person, &["add", "b"]);
    git_in(&person, &["commit", "--quiet", "-m", "mine"]);
    // It stops at the first commit, with nothing in the files that is not committed.
    let edit = ["-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "--quiet", "-i", "HEAD~1"];
    git_in(&person, &edit);
    let before = git_in(&person, &["log", "--format=%H", "--all"]);
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    let told = error.to_string();
    assert!(told.contains("`git rebase` is under way") && told.contains("merge again"), "{told}");
    assert_eq!(git_in(&person, &["status", "--porcelain"]), "");
    assert_eq!(git_in(&person, &["log", "--format=%H", "--all"]), before);
    git_in(&person, &["rebase", "--continue"]);
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(fs::read_to_string(person.join("README.md")).unwrap(), "better\n");
    assert_eq!(fs::read_to_string(person.join("b")).unwrap(), "mine\n");
}

#[tokio::test]
async fn a_person_may_merge_by_hand_and_say_so_afterwards() {
    let fixture = Fixture::new();
    let (person, forge, head) = checked_out(&fixture).await;
    git_in(&person, &["merge", "--quiet", "--no-ff", "--no-edit", "agent/x"]);
    let at = git_in(&person, &["rev-parse", "trunk"]);
    let merged = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(merged.as_str(), at);
    let pull = forge.pull(&repository(), ONE).await.unwrap();
    assert!(matches!(pull.state, PullState::Merged { .. }));
    let diff = forge.diff(&repository(), ONE).await.unwrap();
    assert!(String::from_utf8(diff.text).unwrap().contains("+better"), "still what it changed");
}

#[tokio::test]
async fn a_merge_by_hand_is_seen_without_a_word_also_when_the_branch_is_gone() {
    for how in [&["--ff-only"][..], &["--no-ff", "--no-edit"]] {
        let fixture = Fixture::new();
        let (person, forge, _) = checked_out(&fixture).await;
        let seen = forge.pull(&repository(), ONE).await.unwrap();
        assert!(!matches!(seen.state, PullState::Merged { .. }));
        git_in(&person, &[&["merge", "--quiet"], how, &["agent/x"]].concat());
        let at = git_in(&person, &["rev-parse", "trunk"]);
        git_in(&person, &["branch", "--quiet", "-D", "agent/x"]);
        let one = forge.pull(&repository(), ONE).await.unwrap();
        let all = forge.pulls(&repository()).await.unwrap();
        assert_eq!(all, std::slice::from_ref(&one));
        let PullState::Merged { commit, .. } = one.state else { panic!("{:?}", one.state) };
        assert_eq!(commit.as_str(), at);
    }
}

#[tokio::test]
async fn a_rebase_in_another_work_tree_counts_as_well() {
    let fixture = Fixture::new();
    let (person, forge, head) = checked_out(&fixture).await;
    git_in(&person, &["checkout", "--quiet", "--detach"]);
    git_in(&person, &["worktree", "add", "--quiet", "../second", "trunk"]);
    let second = fixture.path("second");
    fs::write(second.join("b"), "mine\n").unwrap();
    git_in(&second, &["add", "b"]);
    git_in(&second, &["commit", "--quiet", "-m", "mine"]);
    let edit = ["-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "--quiet", "-i", "HEAD~1"];
    git_in(&second, &edit);
    let error = forge.merge(&repository(), ONE, &merge(&head)).await.unwrap_err();
    assert!(error.to_string().contains("`git rebase` is under way"), "{error}");
    git_in(&second, &["rebase", "--continue"]);
    forge.merge(&repository(), ONE, &merge(&head)).await.unwrap();
    assert_eq!(fs::read_to_string(second.join("README.md")).unwrap(), "better\n");
    assert_eq!(git_in(&second, &["status", "--porcelain"]), "");
}
