//! Pull requests through the API: looked at, commented, checked, merged, closed; and what they do to their task.

use std::sync::{Arc, Mutex};

use contracts::{
    forge::{
        Author, Check, CheckState, Comment, Conflict, Diff, Merge, Opinion, Outcome, Pull,
        PullError, PullRequest, PullRequests, PullState, Revert, Review,
    },
    sandbox::Cut,
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    time::Timestamp,
};
use wire::{
    error::Code,
    pull::{self, MergePull, NewCheck, NewComment, PullAuthor, PullCheckState, PullOpinion},
};

use crate::task_fixture::{TaskFixture, code};

fn commit(letter: char) -> CommitId {
    letter.to_string().repeat(40).parse().unwrap()
}

/// One pull request, in memory.
struct OnePull(Mutex<Pull>);

impl OnePull {
    fn new() -> Self {
        let review = Review {
            name: "r".to_owned(),
            author: Author::Platform,
            at: Timestamp::from_millis(1_000),
            commit: commit('a'),
            opinion: Opinion::WantsChanges,
            text: "look".to_owned(),
        };
        Self(Mutex::new(Pull {
            number: PullRequestNumber(7),
            address: "lamp pr get 7".to_owned(),
            title: "Fix it".to_owned(),
            body: "because".to_owned(),
            state: PullState::Draft,
            branch: "agent/x".parse().unwrap(),
            base: "main".to_owned(),
            head: Some(commit('a')),
            delivered: commit('a'),
            comments: Vec::new(),
            checks: Vec::new(),
            reviews: vec![review],
        }))
    }

    fn open(
        &self,
        number: PullRequestNumber,
    ) -> Result<std::sync::MutexGuard<'_, Pull>, PullError> {
        let pull = self.0.lock().unwrap();
        if pull.number == number {
            return Ok(pull);
        }
        Err(PullError::NoPull { repository: "acme/web".parse().unwrap(), number })
    }
}

impl PullRequests for OnePull {
    async fn pull(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Pull, PullError> {
        Ok(self.open(number)?.clone())
    }

    async fn pulls(&self, repository: &RepositoryName) -> Result<Vec<Pull>, PullError> {
        if repository.as_str() == "acme/web" {
            return Ok(vec![self.0.lock().unwrap().clone()]);
        }
        Err(PullError::NoRepository(repository.clone()))
    }

    async fn diff(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Diff, PullError> {
        drop(self.open(number)?);
        Ok(Diff { text: b"+caf\xe9\n".to_vec(), cut: Cut::Cut })
    }

    async fn comment(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        comment: &Comment,
    ) -> Result<(), PullError> {
        let mut pull = self.open(number)?;
        if pull.comments.iter().all(|seen| seen.name != comment.name) {
            pull.comments.push(comment.clone());
        }
        Ok(())
    }

    async fn check(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        check: &Check,
    ) -> Result<(), PullError> {
        let mut pull = self.open(number)?;
        pull.checks.retain(|seen| seen.name != check.name || seen.commit != check.commit);
        pull.checks.push(check.clone());
        Ok(())
    }

    async fn review(
        &self,
        _repository: &RepositoryName,
        _number: PullRequestNumber,
        _review: &Review,
    ) -> Result<(), PullError> {
        Err(PullError::Busy { reason: "nobody reviews here".to_owned() })
    }

    async fn is_in(
        &self,
        _repository: &RepositoryName,
        _base: &str,
        _commit: &CommitId,
    ) -> Result<bool, PullError> {
        Ok(false)
    }

    async fn merge(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<CommitId, PullError> {
        let mut pull = self.open(number)?;
        if merge.head == commit('c') {
            let paths = vec![Conflict { path: "src/a.rs".to_owned() }];
            return Err(PullError::Conflicts { number, paths });
        }
        if pull.head.as_ref() != Some(&merge.head) {
            let ours = Some(merge.head.clone());
            let branch = pull.branch.to_string();
            return Err(PullError::Moved { branch, theirs: commit('a'), ours });
        }
        pull.state = PullState::Merged { commit: commit('b'), by: merge.by.clone() };
        Ok(commit('b'))
    }

    async fn revert(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        _revert: &Revert,
    ) -> Result<PullRequest, PullError> {
        Err(PullError::NotMerged { number })
    }

    async fn close(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        by: &Author,
    ) -> Result<(), PullError> {
        let mut pull = self.open(number)?;
        if matches!(pull.state, PullState::Merged { .. }) {
            return Err(PullError::Ended { number, how: "merged" });
        }
        pull.state = PullState::Closed { by: by.clone() };
        Ok(())
    }
}

#[tokio::test]
async fn a_pull_request_is_shown_with_all_that_was_done_to_it() {
    let kept = Arc::new(OnePull::new());
    let fixture = TaskFixture::with_pulls(kept.clone()).await;
    let client = fixture.client();
    let shown = client.pull("acme/web", 7).await.unwrap();
    assert_eq!((shown.repository.as_str(), shown.base.as_str()), ("acme/web", "main"));
    assert_eq!(shown.state, pull::PullState::Draft {});
    let review = &shown.reviews[0];
    assert_eq!(
        (review.opinion, &review.author),
        (PullOpinion::WantsChanges, &PullAuthor::Platform {})
    );
    assert_eq!(review.at.to_string(), "1970-01-01T00:00:01.000Z");
    assert_eq!(client.pulls("acme/web").await.unwrap(), [shown]);
    let diff = client.pull_diff("acme/web", 7).await.unwrap();
    assert_eq!((diff.text.as_str(), diff.cut), ("+caf\u{fffd}\n", true));
    assert_eq!(code(client.pulls("acme/api").await), Code::NotFound);
    assert_eq!(code(client.pull("acme/web", 8).await), Code::NotFound);
    assert_eq!(code(client.pull_diff("acme/web", 8).await), Code::NotFound);
}

#[tokio::test]
async fn a_comment_is_written_once_for_each_name() {
    let fixture = TaskFixture::with_pulls(Arc::new(OnePull::new())).await;
    let client = fixture.client();
    let named = NewComment {
        name: Some("mine".to_owned()),
        text: "why?".to_owned(),
        path: Some("src/a.rs".to_owned()),
        line: Some(3),
    };
    client.comment_on_pull("acme/web", 7, &named).await.unwrap();
    let shown = client.comment_on_pull("acme/web", 7, &named).await.unwrap();
    assert_eq!(shown.comments.len(), 1);
    let comment = &shown.comments[0];
    assert_eq!(comment.author, PullAuthor::Person { name: "bob".to_owned() });
    assert_eq!((comment.path.as_deref(), comment.line), (Some("src/a.rs"), Some(3)));
    assert!(comment.at.as_millis() > 1_700_000_000_000, "{}", comment.at);
    let plain = NewComment { text: "and why?".to_owned(), ..NewComment::default() };
    let shown = client.comment_on_pull("acme/web", 7, &plain).await.unwrap();
    assert_eq!(shown.comments.len(), 2);
    let wrong = [
        NewComment { text: " ".to_owned(), ..plain.clone() },
        NewComment { name: Some("a/b".to_owned()), ..plain.clone() },
        NewComment { name: Some(String::new()), ..plain.clone() },
        NewComment { line: Some(1), ..plain.clone() },
        NewComment { path: Some("a".to_owned()), ..plain.clone() },
        NewComment { path: Some("a".to_owned()), line: Some(0), ..plain.clone() },
    ];
    for wrong in wrong {
        let answer = client.comment_on_pull("acme/web", 7, &wrong).await;
        assert_eq!(code(answer), Code::BadRequest, "{wrong:?}");
    }
    let long = NewComment { text: "x".repeat(70_000), ..plain };
    assert_eq!(code(client.comment_on_pull("acme/web", 7, &long).await), Code::TooLarge);
}

#[tokio::test]
async fn a_check_says_how_it_stands_and_ends() {
    let kept = Arc::new(OnePull::new());
    let fixture = TaskFixture::with_pulls(kept.clone()).await;
    let check = |state| NewCheck {
        name: "ci".to_owned(),
        commit: commit('a').to_string(),
        state,
        summary: "3 of 4".to_owned(),
    };
    for (state, expected) in [
        (PullCheckState::Running, CheckState::Running),
        (PullCheckState::Failed, CheckState::Ended(Outcome::Failed)),
        (PullCheckState::Skipped, CheckState::Ended(Outcome::Skipped)),
        (PullCheckState::Passed, CheckState::Ended(Outcome::Passed)),
    ] {
        let shown = fixture.client().check_pull("acme/web", 7, &check(state)).await.unwrap();
        assert_eq!((shown.checks.len(), shown.checks[0].state), (1, state));
        assert_eq!(kept.0.lock().unwrap().checks[0].state, expected);
    }
    let odd = NewCheck { commit: "HEAD".to_owned(), ..check(PullCheckState::Passed) };
    assert_eq!(code(fixture.client().check_pull("acme/web", 7, &odd).await), Code::BadRequest);
}

#[tokio::test]
async fn only_what_was_looked_at_is_merged() {
    let fixture = TaskFixture::with_pulls(Arc::new(OnePull::new())).await;
    let client = fixture.client();
    let head = |head: &str| MergePull { head: head.to_owned(), base: "main".to_owned() };
    for (wish, expected) in [
        (head("HEAD"), Code::BadRequest),
        (head(commit('d').as_str()), Code::Stale),
        (head(commit('c').as_str()), Code::NotNow),
    ] {
        assert_eq!(code(client.merge_pull("acme/web", 7, &wish).await), expected);
    }
    let merged = client.merge_pull("acme/web", 7, &head(commit('a').as_str())).await.unwrap();
    assert_eq!(merged.commit, commit('b').to_string());
    let shown = client.pull("acme/web", 7).await.unwrap();
    let by = PullAuthor::Person { name: "bob".to_owned() };
    assert_eq!(shown.state, pull::PullState::Merged { commit: merged.commit, by });
    assert_eq!(code(client.close_pull("acme/web", 7).await), Code::NotNow);
}

#[tokio::test]
async fn merging_and_closing_ends_the_task() {
    let fixture = TaskFixture::new().await;
    fixture.run();
    let client = fixture.client();
    for (ending, because) in [("merge", "merged"), ("close", "pull_request_closed")] {
        let task = fixture.begin("fix it").await.id;
        let plan = fixture.wait(&task, "awaiting approval").await.plan_waiting.unwrap();
        let approve = wire::task::ask::Approve { plan, ..Default::default() };
        client.approve(&task, &approve).await.unwrap();
        let open = fixture.wait(&task, "pull request open").await;
        let number = open.pull_request.unwrap();
        if ending == "merge" {
            let head = MergePull { head: open.commit.unwrap(), base: "main".to_owned() };
            client.merge_pull("acme/web", number, &head).await.unwrap();
        } else {
            client.close_pull("acme/web", number).await.unwrap();
        }
        let done = fixture.wait(&task, "done").await;
        assert_eq!(done.done_because.as_deref(), Some(because));
    }
}
