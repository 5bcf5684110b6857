//! Pull requests: looked at, commented, reviewed, checked, merged, closed.
#![expect(unused_qualifications, reason = "written by the macro of paths")]

use axum::{
    Json,
    extract::{Path, State},
};
use contracts::forge::{Author, Check, CheckState, Comment, Merge, Opinion, Outcome, Review};
use domain::{
    code::{CommitId, PullRequestNumber},
    people::{Action, Relation},
    time::Timestamp,
};
use engine::PullAt;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{
    error::{Code, Problem},
    pull::{
        MergePull, Merged, NewCheck, NewComment, NewReview, Pull, PullCheckState, PullOpinion,
        PullQuery, Pulls,
    },
    task::shown::Patch,
};

use super::named::repository;
use crate::{
    extract::{Asked, Bare, Words, bad},
    problem::Answer,
    task_door::Behind,
    task_shapes,
};

/// What a body with the longest comment may have: each of its bytes may be written as six.
const LONGEST: usize = 512 * 1024;
const SMALL: usize = 16 * 1024;

/// The most bytes of a comment.
const TEXT: usize = 64 * 1024;

/// Which pull request.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct PullPath {
    /// Its number in the repository.
    #[param(minimum = 1, example = 7)]
    number: u64,
}

/// Lists the pull requests of a repository, the newest first
#[utoipa::path(
    get, path = "/v1/pulls", tag = "pulls", params(PullQuery),
    responses((status = 200, description = "All of them", body = Pulls))
)]
pub(crate) async fn list(
    State(behind): State<Behind>,
    Words(query): Words<PullQuery>,
) -> Answer<Json<Pulls>> {
    let repository = repository(&query.repository)?;
    let pulls = behind.front().pulls(&repository).await?;
    let pulls = pulls.into_iter().map(|it| task_shapes::pull(it, &repository)).collect();
    Ok(Json(Pulls { pulls }))
}

/// Shows a pull request, with its comments, checks and reviews
#[utoipa::path(
    get, path = "/v1/pulls/{number}", tag = "pulls", params(PullPath, PullQuery),
    responses((status = 200, description = "As it is now", body = Pull))
)]
pub(crate) async fn one(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
) -> Answer<Json<Pull>> {
    shown(&behind, &pull_at(&query, &at)?).await
}

/// Shows what a pull request would change, as a patch
#[utoipa::path(
    get, path = "/v1/pulls/{number}/diff", tag = "pulls", params(PullPath, PullQuery),
    responses((status = 200, description = "As git writes it", body = Patch))
)]
pub(crate) async fn diff(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
) -> Answer<Json<Patch>> {
    let diff = behind.front().pull_diff(&pull_at(&query, &at)?).await?;
    Ok(Json(task_shapes::patch(&diff)))
}

/// Writes a comment. One of the same name is written once
#[utoipa::path(
    post, path = "/v1/pulls/{number}/comments", tag = "pulls", params(PullPath, PullQuery), request_body = NewComment,
    responses((status = 200, description = "The pull request, with the comment", body = Pull))
)]
pub(crate) async fn comment(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
    Asked(wish): Asked<NewComment, LONGEST>,
) -> Answer<Json<Pull>> {
    let at = pull_at(&query, &at)?;
    if wish.text.trim().is_empty() {
        return Err(bad("the text is empty"));
    }
    not_too_long(&wish.text)?;
    let place = match (wish.path, wish.line) {
        (Some(path), Some(line)) if line > 0 => Some((path, line)),
        (None, None) => None,
        (Some(_) | None, Some(_) | None) => {
            return Err(bad("`path` and `line` belong together, and lines are counted from 1"));
        }
    };
    let id = behind.new_task();
    let comment = Comment {
        name: wish.name.map_or_else(|| Ok(id.to_string()), plain)?,
        author: Author::Person(behind.door.owner.clone()),
        at: now(id),
        text: wish.text,
        place,
    };
    behind.front().comment(&at, &comment).await?;
    shown(&behind, &at).await
}

/// Reviews a pull request: an approval makes a draft one that is ready
#[utoipa::path(
    post, path = "/v1/pulls/{number}/reviews", tag = "pulls", params(PullPath, PullQuery), request_body = NewReview,
    responses((status = 200, description = "The pull request, with the review", body = Pull))
)]
pub(crate) async fn review(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
    Asked(wish): Asked<NewReview, LONGEST>,
) -> Answer<Json<Pull>> {
    let at = pull_at(&query, &at)?;
    not_too_long(&wish.text)?;
    let opinion = match wish.opinion {
        PullOpinion::Approves => Opinion::Approves,
        PullOpinion::WantsChanges => Opinion::WantsChanges,
        PullOpinion::Remarks => Opinion::Remarks,
    };
    if opinion != Opinion::Approves && wish.text.trim().is_empty() {
        return Err(bad("only an approval goes without words: say what is to be changed"));
    }
    let id = behind.new_task();
    let review = Review {
        name: wish.name.map_or_else(|| Ok(id.to_string()), plain)?,
        author: Author::Person(behind.door.owner.clone()),
        at: now(id),
        commit: commit(&wish.commit)?,
        opinion,
        text: wish.text,
    };
    behind.front().review(&at, &review).await?;
    shown(&behind, &at).await
}

/// Says how a check of a commit stands
#[utoipa::path(
    post, path = "/v1/pulls/{number}/checks", tag = "pulls", params(PullPath, PullQuery), request_body = NewCheck,
    responses((status = 200, description = "The pull request, with the check", body = Pull))
)]
pub(crate) async fn check(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
    Asked(wish): Asked<NewCheck, SMALL>,
) -> Answer<Json<Pull>> {
    let at = pull_at(&query, &at)?;
    if wish.name.trim().is_empty() || wish.name.len() > 200 || wish.summary.len() > 1000 {
        return Err(bad("a check has a name of 1 to 200 bytes and a summary of at most 1000"));
    }
    let check = Check {
        name: wish.name,
        commit: commit(&wish.commit)?,
        state: match wish.state {
            PullCheckState::Running => CheckState::Running,
            PullCheckState::Passed => CheckState::Ended(Outcome::Passed),
            PullCheckState::Failed => CheckState::Ended(Outcome::Failed),
            PullCheckState::Skipped => CheckState::Ended(Outcome::Skipped),
        },
        summary: wish.summary,
    };
    behind.front().check(&at, &check).await?;
    shown(&behind, &at).await
}

/// Merges the commit that was looked at, and no other
#[utoipa::path(
    post, path = "/v1/pulls/{number}/merge", tag = "pulls", params(PullPath, PullQuery), request_body = MergePull,
    responses((status = 200, description = "What the base branch is at now", body = Merged))
)]
pub(crate) async fn merge(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
    Asked(wish): Asked<MergePull, SMALL>,
) -> Answer<Json<Merged>> {
    may_merge(&behind)?;
    let at = pull_at(&query, &at)?;
    let by = Author::Person(behind.door.owner.clone());
    let merge = Merge { head: commit(&wish.head)?, base: wish.base, by };
    let commit = behind.front().merge(&at, &merge).await?;
    Ok(Json(Merged { commit: commit.to_string() }))
}

/// Closes a pull request without merging it. Its branch stays
#[utoipa::path(
    post, path = "/v1/pulls/{number}/close", tag = "pulls", params(PullPath, PullQuery),
    responses((status = 200, description = "The pull request, closed", body = Pull))
)]
pub(crate) async fn close(
    State(behind): State<Behind>,
    Path(at): Path<PullPath>,
    Words(query): Words<PullQuery>,
    Asked(_): Bare,
) -> Answer<Json<Pull>> {
    may_merge(&behind)?;
    let at = pull_at(&query, &at)?;
    let by = Author::Person(behind.door.owner.clone());
    behind.front().close(&at, &by).await?;
    shown(&behind, &at).await
}

async fn shown(behind: &Behind, at: &PullAt) -> Answer<Json<Pull>> {
    let pull = behind.front().pull(at).await?;
    Ok(Json(task_shapes::pull(pull, &at.repository)))
}

pub(super) fn may_merge(behind: &Behind) -> Answer<()> {
    let role = behind.door.person.role;
    if role.may(Action::Merge, Relation::Colleague) {
        return Ok(());
    }
    let message = format!("a {role} may not merge or close pull requests; ask a maintainer");
    Err(Problem::new(Code::Forbidden, message).into())
}

fn pull_at(query: &PullQuery, path: &PullPath) -> Answer<PullAt> {
    let repository = repository(&query.repository)?;
    Ok(PullAt { repository, number: PullRequestNumber(path.number) })
}

fn commit(text: &str) -> Answer<CommitId> {
    text.parse().map_err(|error: domain::code::CodeNameError| bad(error.to_string()))
}

/// When a new id was made: now.
pub(super) fn now(id: domain::id::TaskId) -> Timestamp {
    Timestamp::from_millis(i64::try_from(id.as_u128() >> 80).unwrap_or(i64::MAX))
}

fn not_too_long(text: &str) -> Answer<()> {
    if text.len() <= TEXT {
        return Ok(());
    }
    let message = format!("the text has {} bytes, and {TEXT} are allowed", text.len());
    Err(Problem::new(Code::TooLarge, message).into())
}

fn plain(name: String) -> Answer<String> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if letters && (1..=100).contains(&name.len()) {
        return Ok(name);
    }
    Err(bad("a name has 1 to 100 letters, digits, `.`, `_` or `-`"))
}
