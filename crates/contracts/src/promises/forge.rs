//! The promises of a forge.

use domain::{
    code::{BranchName, CommitId, PullRequestNumber, RepositoryName},
    time::Timestamp,
};

use super::{Kept, keep, key, succeed};
use crate::forge::{
    Author, Check, CheckState, Comment, Delivery, ForgeError, Forges, Known, Merge, News, Outcome,
    PullError, PullRequests, PullState, Revert, Taking, news,
};

/// Plays with a repository, taking the change that `taking` names. Its base is the head.
pub async fn kept(
    forges: &impl Forges,
    taking: &Taking,
    unknown: &RepositoryName,
    branch: BranchName,
) -> Kept {
    let repository = &taking.repository;
    let head = succeed("a repository has a head", forges.head(repository).await)?;
    let stranger = forges.head(unknown).await;
    keep("an unknown repository is refused", matches!(stranger, Err(ForgeError::NoRepository(_))))?;

    let change = succeed("a change is taken", forges.take_change(key(1), taking).await)?;
    keep("a change is a new commit", change.commit != head)?;
    let again = succeed("it is taken again", forges.take_change(key(1), taking).await)?;
    keep("a repeated key gives the same commit", again == change)?;
    let compared = forges.compare(repository, &taking.base, &change.commit).await;
    let compared = succeed("a change can be looked at", compared)?;
    keep("what was changed is different", !compared.files.is_empty())?;
    let files = forges.files(repository, &change.commit, |_| true).await;
    let files = succeed("a commit has files", files)?;
    let is_there = |path: &String| files.paths.contains(path);
    let told = files.contents.keys().all(is_there) && !files.paths.is_empty();
    keep("contents are of paths that there are", told)?;

    for receipt in [&b"{}"[..], b"{}", b"{\"a\":1}"] {
        let kept = forges.keep_receipt(repository, &change.commit, receipt).await;
        succeed("a receipt is kept, and replaced", kept)?;
    }
    let delivery = Delivery {
        repository: repository.clone(),
        branch,
        base: succeed("a repository has a branch to merge into", forges.base(repository).await)?,
        earlier: None,
        ours: vec![change.commit.clone()],
        commit: change.commit,
        title: "a change".to_owned(),
        body: "why".to_owned(),
    };
    let first = succeed("a change is delivered", forges.deliver(key(2), &delivery).await)?;
    let again = succeed("it is delivered again", forges.deliver(key(2), &delivery).await)?;
    keep("a repeated key opens no second pull request", first == again)?;
    let update = succeed("an update is delivered", forges.deliver(key(3), &delivery).await)?;
    keep("a branch has one pull request", update.number == first.number)
}

/// Plays with the pull request `number`, which was delivered and is neither merged nor closed, of a change that began from `began`.
/// It is merged and taken back afterwards.
pub async fn pull_requests_kept(
    pulls: &impl PullRequests,
    repository: &RepositoryName,
    number: PullRequestNumber,
    began: &CommitId,
) -> Kept {
    let unknown = pulls.pull(repository, PullRequestNumber(u64::MAX)).await;
    keep("an unknown number is refused", matches!(unknown, Err(PullError::NoPull { .. })))?;
    let before = succeed("it is there", pulls.pull(repository, number).await)?;
    let all = succeed("all are listed", pulls.pulls(repository).await)?;
    keep("it is among them", all.contains(&before))?;
    let diff = succeed("it has a difference", pulls.diff(repository, number).await)?;
    keep("the difference is not empty", !diff.text.is_empty())?;

    let comment = Comment {
        name: "promise".to_owned(),
        author: Author::Person("ann".to_owned()),
        at: Timestamp::from_millis(1),
        text: "Why?\nBecause.".to_owned(),
        place: None,
    };
    let check = |state| Check {
        name: "promise".to_owned(),
        commit: before.delivered.clone(),
        state,
        summary: "one failed".to_owned(),
    };
    let failed = check(CheckState::Ended(Outcome::Failed));
    for _ in 0..2 {
        succeed("a comment is kept", pulls.comment(repository, number, &comment).await)?;
        let running = check(CheckState::Running);
        succeed("a check is kept", pulls.check(repository, number, &running).await)?;
        succeed("a check ends", pulls.check(repository, number, &failed).await)?;
    }
    let after = succeed("it is still there", pulls.pull(repository, number).await)?;
    keep("a comment is written once", after.comments == [comment.clone()])?;
    keep("a check has one state", after.checks == [failed.clone()])?;
    let told = news(&before, &after);
    let expected = [News::CheckFailed(failed), News::Commented(comment)];
    keep("what is new is news", told == expected)?;

    let by = Author::Person("ann".to_owned());
    let base = after.base.clone();
    let other = Merge { head: after.delivered.clone(), base, by };
    let strange = "f".repeat(other.head.as_str().len()).parse();
    let strange = Merge { head: succeed("a hash is a hash", strange)?, ..other.clone() };
    let refused = pulls.merge(repository, number, &strange).await;
    keep("only what was looked at is merged", matches!(refused, Err(PullError::Moved { .. })))?;
    let elsewhere = Merge { base: "elsewhere".to_owned(), ..other.clone() };
    let refused = pulls.merge(repository, number, &elsewhere).await;
    let is_refused = matches!(refused, Err(PullError::OtherBase { .. }));
    keep("it is merged only into what it was looked at for", is_refused)?;
    let is_in = pulls.is_in(repository, &other.base, &other.head).await;
    keep("what is not merged is not in its base", is_in == Ok(false))?;
    let (title, body) = ("Revert it".to_owned(), "because".to_owned());
    let known = Some(Known { base: other.base.clone(), delivered: other.head.clone() });
    let revert = Revert { began: began.clone(), known, title, body };
    let early = pulls.revert(repository, number, &revert).await;
    keep("only what was merged is taken back", matches!(early, Err(PullError::NotMerged { .. })))?;
    let first = succeed("it is merged", pulls.merge(repository, number, &other).await)?;
    let again = succeed("it is merged again", pulls.merge(repository, number, &other).await)?;
    keep("it is merged once", first == again)?;
    let is_in = pulls.is_in(repository, &other.base, &other.head).await;
    keep("what is merged is in its base", is_in == Ok(true))?;
    let ended = succeed("it can be looked at", pulls.pull(repository, number).await)?;
    let is_merged = matches!(&ended.state, PullState::Merged { commit, .. } if *commit == first);
    keep("it says so", is_merged)?;
    let closed = pulls.close(repository, number, &Author::Platform).await;
    keep("what was merged is not closed", matches!(closed, Err(PullError::Ended { .. })))?;

    let back = succeed("it is taken back", pulls.revert(repository, number, &revert).await)?;
    let again = succeed("and again", pulls.revert(repository, number, &revert).await)?;
    keep("it has one revert", back == again && back.number != number)?;
    let revert_pull = succeed("the revert is there", pulls.pull(repository, back.number).await)?;
    keep("a revert is open", revert_pull.state == PullState::Draft)?;
    keep("it says why", (revert_pull.title, revert_pull.body) == (revert.title, revert.body))
}
