//! GitHub's GraphQL interface: one operation, judged by the names of its root fields.
//!
//! A query reads, and what it may read is the token's to say. A mutation is judged by each of its root fields, by the field's own name
//! and not by what the answer calls it, also when it comes out of a fragment. One that is not in the table refuses all.

use proxy::ask::{
    Language, Said,
    said::{Operation, Origin, RootField},
};

use super::{Judgement, OTHER_LANGUAGE, Task, is_own_head};

/// The fields that change something and that a task needs, with what they are called.
const MUTATIONS: [(&str, &str, Condition); 9] = [
    ("createPullRequest", "open a pull request", Condition::OwnHead),
    ("updatePullRequest", "update a pull request", Condition::OwnWork),
    ("markPullRequestReadyForReview", "ask for reviews", Condition::OwnWork),
    ("convertPullRequestToDraft", "make a pull request a draft", Condition::OwnWork),
    ("requestReviews", "ask for reviews", Condition::OwnWork),
    ("addComment", "comment", Condition::OwnWork),
    ("updateIssueComment", "change a comment", Condition::OwnWork),
    ("addPullRequestReviewThreadReply", "answer a review", Condition::OwnWork),
    ("resolveReviewThread", "answer a review", Condition::OwnWork),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// The input opens a pull request from a branch of the task.
    OwnHead,
    /// The task may push something; to what the ids belong cannot be seen.
    OwnWork,
}

/// Judges `POST /graphql`.
pub fn judge(content_type: Option<&str>, body: Option<&Said>, task: &Task) -> Judgement {
    let is_json = |kind: &str| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    };
    if !content_type.is_some_and(is_json) {
        return Judgement::not("a request to GraphQL is `application/json`");
    }
    match body {
        None => Judgement::NeedsBody { language: Language::Graphql },
        Some(Said::Graphql(operation)) => judge_operation(operation, task),
        Some(Said::Unreadable(why)) => Judgement::not(why.clone()),
        Some(Said::PullRequest(_) | Said::Model(_)) => Judgement::not(OTHER_LANGUAGE),
    }
}

/// Judges one operation.
fn judge_operation(operation: &Operation, task: &Task) -> Judgement {
    match operation {
        Operation::Query => Judgement::Belongs { operation: "read" },
        Operation::Subscription => Judgement::not("subscriptions are not carried"),
        Operation::Mutation(fields) => {
            let mut judgement = Judgement::not("the mutation changes nothing");
            for field in fields {
                judgement = judge_field(field, task);
                if matches!(judgement, Judgement::Not { .. }) {
                    return judgement;
                }
            }
            judgement
        }
    }
}

fn judge_field(field: &RootField, task: &Task) -> Judgement {
    if field.name == "__typename" {
        return Judgement::Belongs { operation: "read" };
    }
    let Some((_, operation, condition)) = MUTATIONS.iter().find(|(name, ..)| *name == field.name)
    else {
        return Judgement::not(format!(
            "the mutation `{}` is not one that a task needs",
            field.name
        ));
    };
    if task.pushes.is_empty() {
        return Judgement::not("the task may not push anything yet, so it has no pull request");
    }
    match (condition, &field.from) {
        (Condition::OwnWork, _) => Judgement::Belongs { operation },
        (Condition::OwnHead, Origin::Unclear(why)) => Judgement::not(why.clone()),
        (Condition::OwnHead, Origin::Elsewhere) => {
            Judgement::not("a pull request is opened from the repository itself, not from a fork")
        }
        (Condition::OwnHead, Origin::Branch(head)) if is_own_head(head, task.pushes.iter()) => {
            Judgement::Belongs { operation }
        }
        (Condition::OwnHead, Origin::Branch(_) | Origin::Nothing) => {
            Judgement::not("a pull request is opened from the task's own branch")
        }
    }
}

/// The mutations, for the reference.
pub fn reference() -> impl Iterator<Item = (&'static str, &'static str)> {
    MUTATIONS.iter().map(|(field, name, _)| (*field, *name))
}
