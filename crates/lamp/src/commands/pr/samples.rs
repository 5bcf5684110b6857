//! One pull request, which the texts are tried on.

use wire::pull::{
    Pull, PullAuthor, PullCheck, PullCheckState, PullComment, PullOpinion, PullReview, PullState,
};

use crate::timeline::samples::{COMMIT, HASH, at};

pub(crate) fn pull() -> Pull {
    let person = || PullAuthor::Person { name: "bob\u{1b}[2J".to_owned() };
    Pull {
        number: 7,
        repository: "acme/web".to_owned(),
        address: "file:///srv/git/web.git#7".to_owned(),
        title: "Wait for the session\u{7}".to_owned(),
        body: "## Summary\n\nIt waits.\n\u{1b}]0;evil\u{7}".to_owned(),
        state: PullState::Draft {},
        branch: "lamp/fix-the-flaky-login-test".to_owned(),
        base: "main".to_owned(),
        head: Some(COMMIT.to_owned()),
        delivered: HASH.to_owned(),
        comments: vec![PullComment {
            name: "1".to_owned(),
            author: person(),
            at: at(300),
            text: "please\nrename".to_owned(),
            path: Some("src/login.rs".to_owned()),
            line: Some(3),
        }],
        checks: vec![PullCheck {
            name: "test".to_owned(),
            commit: COMMIT.to_owned(),
            state: PullCheckState::Failed,
            summary: "1 failed".to_owned(),
        }],
        reviews: vec![PullReview {
            name: "2".to_owned(),
            author: person(),
            at: at(400),
            commit: COMMIT.to_owned(),
            opinion: PullOpinion::WantsChanges,
            text: "not yet".to_owned(),
        }],
    }
}
