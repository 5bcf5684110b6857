//! Pull requests in the shapes of the API.

use contracts::{
    forge::{Author, Check, CheckState, Comment, Diff, Opinion, Outcome, Pull, PullState, Review},
    sandbox::Cut,
};
use domain::code::RepositoryName;
use wire::{pull as told, task::shown::Patch};

use super::time;

pub(crate) fn pull(pull: Pull, repository: &RepositoryName) -> told::Pull {
    told::Pull {
        number: pull.number.0,
        repository: repository.to_string(),
        address: pull.address,
        title: pull.title,
        body: pull.body,
        state: match pull.state {
            PullState::Draft => told::PullState::Draft {},
            PullState::Open => told::PullState::Open {},
            PullState::Merged { commit, by } => {
                told::PullState::Merged { commit: commit.to_string(), by: author(by) }
            }
            PullState::Closed { by } => told::PullState::Closed { by: author(by) },
        },
        branch: pull.branch.to_string(),
        base: pull.base,
        head: pull.head.map(|head| head.to_string()),
        delivered: pull.delivered.to_string(),
        comments: pull.comments.into_iter().map(comment).collect(),
        checks: pull.checks.into_iter().map(check).collect(),
        reviews: pull.reviews.into_iter().map(review).collect(),
    }
}

pub(crate) fn patch(diff: &Diff) -> Patch {
    Patch { text: String::from_utf8_lossy(&diff.text).into_owned(), cut: diff.cut == Cut::Cut }
}

fn author(author: Author) -> told::PullAuthor {
    match author {
        Author::Platform => told::PullAuthor::Platform {},
        Author::Person(name) => told::PullAuthor::Person { name },
        Author::Unproven(name) => told::PullAuthor::Unproven { name },
    }
}

fn comment(comment: Comment) -> told::PullComment {
    let (path, line) = comment.place.unzip();
    told::PullComment {
        name: comment.name,
        author: author(comment.author),
        at: time(comment.at),
        text: comment.text,
        path,
        line,
    }
}

fn check(check: Check) -> told::PullCheck {
    told::PullCheck {
        name: check.name,
        commit: check.commit.to_string(),
        state: match check.state {
            CheckState::Running => told::PullCheckState::Running,
            CheckState::Ended(Outcome::Passed) => told::PullCheckState::Passed,
            CheckState::Ended(Outcome::Failed) => told::PullCheckState::Failed,
            CheckState::Ended(Outcome::Skipped) => told::PullCheckState::Skipped,
        },
        summary: check.summary,
    }
}

fn review(review: Review) -> told::PullReview {
    told::PullReview {
        name: review.name,
        author: author(review.author),
        at: time(review.at),
        commit: review.commit.to_string(),
        opinion: match review.opinion {
            Opinion::Approves => told::PullOpinion::Approves,
            Opinion::WantsChanges => told::PullOpinion::WantsChanges,
            Opinion::Remarks => told::PullOpinion::Remarks,
        },
        text: review.text,
    }
}
