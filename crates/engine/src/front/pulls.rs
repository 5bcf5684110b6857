//! Pull requests for the doors: what a person does to one reaches its task at once.
//!
//! ```text
//!  merge, close ──▶ forge ──▶ the task ends          comment, review, check ──▶ forge ──▶ the engine looks: the task wakes, on the same branch (PL10)
//! ```
//!
//! The forge comes first: what it refused has not happened. A task that does not take the news (it is over, or has had its share of
//! follow-ups) changes nothing about what was done. Whatever is missed here, because the server was killed in between, is found by the
//! engine's own look: what a task has heard is in its events, and nowhere else.

use contracts::forge::{
    Author, Check, Comment, Diff, Known, Merge, Pull, PullError, PullRequest, PullRequests as _,
    PullState, Revert, Review,
};
use domain::{
    code::{CommitId, RepositoryName},
    id::TaskId,
    task::ForgeNews,
};
use store::{Filter, Page, StoreError};

use super::PullAt;
use crate::{
    Engine, Hands, SubmitError,
    delivered::{delivered_base, delivered_change},
};

pub(super) async fn all<H: Hands>(
    engine: &Engine<H>,
    repository: &RepositoryName,
) -> Result<Vec<Pull>, PullError> {
    engine.hands.pulls().pulls(repository).await
}

pub(super) async fn one<H: Hands>(engine: &Engine<H>, at: &PullAt) -> Result<Pull, PullError> {
    let pull = engine.hands.pulls().pull(&at.repository, at.number).await?;
    let known = delivered(engine, at, || pull.base.clone()).await?;
    Ok(match known {
        Some(Known { base, delivered }) => Pull { base, delivered, ..pull },
        None => pull,
    })
}

pub(super) async fn diff<H: Hands>(engine: &Engine<H>, at: &PullAt) -> Result<Diff, PullError> {
    engine.hands.pulls().diff(&at.repository, at.number).await
}

pub(super) async fn comment<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    comment: &Comment,
) -> Result<(), PullError> {
    engine.hands.pulls().comment(&at.repository, at.number, comment).await?;
    look(engine, at).await;
    Ok(())
}

pub(super) async fn check<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    check: &Check,
) -> Result<(), PullError> {
    engine.hands.pulls().check(&at.repository, at.number, check).await?;
    look(engine, at).await;
    Ok(())
}

pub(super) async fn review<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    review: &Review,
) -> Result<(), PullError> {
    engine.hands.pulls().review(&at.repository, at.number, review).await?;
    look(engine, at).await;
    Ok(())
}

pub(super) async fn merge<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    merge: &Merge,
) -> Result<CommitId, PullError> {
    let (forge, number) = (engine.hands.pulls(), at.number);
    // What was merged before is no news, and its task has heard it.
    let state = forge.pull(&at.repository, number).await?.state;
    if let PullState::Merged { commit, .. } = state {
        return Ok(commit);
    }
    let known = delivered(engine, at, || merge.base.clone()).await?;
    if let Some(known) = known.filter(|known| known.base != merge.base) {
        let (looked, now) = (merge.base.clone(), known.base);
        return Err(PullError::OtherBase { number, looked, now });
    }
    let merged = forge.merge(&at.repository, number, merge).await?;
    tell(engine, at, ForgeNews::Merged).await;
    Ok(merged)
}

pub(super) async fn revert<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    revert: &Revert,
) -> Result<PullRequest, PullError> {
    let forge = engine.hands.pulls();
    let pull = forge.pull(&at.repository, at.number).await?;
    let known = delivered(engine, at, || pull.base).await?;
    forge.revert(&at.repository, at.number, &Revert { known, ..revert.clone() }).await
}

pub(super) async fn close<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    by: &Author,
) -> Result<(), PullError> {
    engine.hands.pulls().close(&at.repository, at.number, by).await?;
    tell(engine, at, ForgeNews::Closed).await;
    Ok(())
}

/// Tells the task of a pull request, if it is one of ours.
async fn tell<H: Hands>(engine: &Engine<H>, at: &PullAt, news: ForgeNews) {
    let Some(task) = known(engine, at).await else { return };
    match engine.forge_says(task, news).await {
        Ok(_) => {}
        Err(error @ (SubmitError::Refused(_) | SubmitError::NotStarted(_))) => {
            tracing::info!(%task, %error, "it does not take news of its pull request");
        }
        Err(error @ SubmitError::Store(_)) => {
            tracing::warn!(%task, %error, "it cannot be told of its pull request");
        }
    }
}

/// Has the engine look at once at what was written, instead of at its next turn.
async fn look<H: Hands>(engine: &Engine<H>, at: &PullAt) {
    let Some(task) = known(engine, at).await else { return };
    if let Err(reason) = engine.look_at_pull_request(task, &at.repository, at.number).await {
        tracing::warn!(%task, reason, "it hears later of its pull request");
    }
}

/// The task that a pull request is of, if it is one of ours and can be found now.
async fn known<H: Hands>(engine: &Engine<H>, at: &PullAt) -> Option<TaskId> {
    match task(engine, at).await {
        Ok(task) => task,
        Err(error) => {
            tracing::warn!(repository = %at.repository, %error, "cannot find the task of a pull request");
            None
        }
    }
}

/// What its task delivered last and into which branch, by the task's own events. The record in the repository can be rewritten by whoever
/// may push there. `base` is what it says, for tasks from before that was kept. While nobody can tell whether it is ours, it is not taken for a
/// stranger's, of which less is asked.
async fn delivered<H: Hands>(
    engine: &Engine<H>,
    at: &PullAt,
    base: impl FnOnce() -> String,
) -> Result<Option<Known>, PullError> {
    let busy = |error: StoreError| PullError::Busy { reason: error.to_string() };
    let Some(task) = task(engine, at).await.map_err(busy)? else { return Ok(None) };
    let history = engine.store.history(task).await.map_err(busy)?;
    let Some(delivered) = delivered_change(&history) else { return Ok(None) };
    let base = delivered_base(&history, engine.store.blobs()).unwrap_or_else(base);
    Ok(Some(Known { base, delivered: delivered.commit.clone() }))
}

async fn task<H: Hands>(engine: &Engine<H>, at: &PullAt) -> Result<Option<TaskId>, StoreError> {
    let filter = Filter { repository: Some(at.repository.clone()), ..Filter::default() };
    let mut page = Page { before: None, size: Page::LONGEST };
    loop {
        let views = engine.store.tasks(&filter, page).await?;
        if let Some(view) = views.iter().find(|view| view.pull_request == Some(at.number.0)) {
            return Ok(Some(view.task));
        }
        match views.last() {
            Some(last) => page.before = Some(last.task),
            None => return Ok(None),
        }
    }
}
