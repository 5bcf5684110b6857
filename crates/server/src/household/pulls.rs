//! Pull requests for the doors: what a person does to one reaches its task at once.
//!
//! ```text
//!  merge, close ──▶ forge ──▶ the task ends          comment, review, check ──▶ forge ──▶ the engine looks: the task wakes, on the same branch (PL10)
//! ```
//!
//! The forge comes first: what it refused has not happened. A task that does not take the news (it is over, or has had its share of
//! follow-ups) changes nothing about what was done. Whatever is missed here, because the server was killed in between, is found by the
//! engine's own look: what a task has heard is in its events, and nowhere else.

use std::sync::Arc;

use contracts::forge::{
    Author, Check, Comment, Diff, Known, Merge, Pull, PullError, PullRequest, PullState, Revert,
    Review,
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::TaskId,
    task::ForgeNews,
};
use engine::{Engine, SubmitError};
use futures::future::BoxFuture;
use gateway::PullDesk;
use store::{Filter, Page, StoreError};

use super::Household;

/// The forge, and the engine that is told.
pub(super) struct Pulls {
    pub(super) forge: Arc<dyn PullDesk>,
    pub(super) engine: Engine<Household>,
}

impl Pulls {
    /// Tells the task of a pull request, if it is one of ours.
    async fn tell(&self, repository: &RepositoryName, number: PullRequestNumber, news: ForgeNews) {
        let Some(task) = self.known(repository, number).await else { return };
        match self.engine.forge_says(task, news).await {
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
    async fn look(&self, repository: &RepositoryName, number: PullRequestNumber) {
        let Some(task) = self.known(repository, number).await else { return };
        if let Err(reason) = self.engine.look_at_pull_request(task, repository, number).await {
            tracing::warn!(%task, reason, "it hears later of its pull request");
        }
    }

    async fn known(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Option<TaskId> {
        match self.task(repository, number).await {
            Ok(task) => task,
            Err(error) => {
                tracing::warn!(%repository, %error, "cannot find the task of a pull request");
                None
            }
        }
    }

    /// What its task delivered last and into which branch, by the task's own events. The record in the repository can be rewritten by whoever
    /// may push there. `base` is what it says, for tasks from before that was kept.
    async fn delivered(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        base: impl FnOnce() -> String,
    ) -> Option<Known> {
        let task = self.known(repository, number).await?;
        let store = self.engine.store();
        let history = store.history(task).await.ok()?;
        let delivered = engine::delivered_change(&history)?.commit.clone();
        let base = engine::delivered_base(&history, store.blobs()).unwrap_or_else(base);
        Some(Known { base, delivered })
    }

    /// The task that a pull request is of.
    async fn task(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Option<TaskId>, StoreError> {
        let filter = Filter { repository: Some(repository.clone()), ..Filter::default() };
        let mut page = Page { before: None, size: Page::LONGEST };
        loop {
            let views = self.engine.store().tasks(&filter, page).await?;
            if let Some(view) = views.iter().find(|view| view.pull_request == Some(number.0)) {
                return Ok(Some(view.task));
            }
            match views.last() {
                Some(last) => page.before = Some(last.task),
                None => return Ok(None),
            }
        }
    }
}

impl PullDesk for Pulls {
    fn pulls<'a>(
        &'a self,
        repository: &'a RepositoryName,
    ) -> BoxFuture<'a, Result<Vec<Pull>, PullError>> {
        self.forge.pulls(repository)
    }

    fn pull<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
    ) -> BoxFuture<'a, Result<Pull, PullError>> {
        Box::pin(async move {
            let pull = self.forge.pull(repository, number).await?;
            let known = self.delivered(repository, number, || pull.base.clone()).await;
            Ok(match known {
                Some(Known { base, delivered }) => Pull { base, delivered, ..pull },
                None => pull,
            })
        })
    }

    fn diff<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
    ) -> BoxFuture<'a, Result<Diff, PullError>> {
        self.forge.diff(repository, number)
    }

    fn comment<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        comment: &'a Comment,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(async move {
            self.forge.comment(repository, number, comment).await?;
            self.look(repository, number).await;
            Ok(())
        })
    }

    fn check<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        check: &'a Check,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(async move {
            self.forge.check(repository, number, check).await?;
            self.look(repository, number).await;
            Ok(())
        })
    }

    fn review<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        review: &'a Review,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(async move {
            self.forge.review(repository, number, review).await?;
            self.look(repository, number).await;
            Ok(())
        })
    }

    fn merge<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        merge: &'a Merge,
    ) -> BoxFuture<'a, Result<CommitId, PullError>> {
        Box::pin(async move {
            // What was merged before is no news, and its task has heard it.
            let state = self.forge.pull(repository, number).await?.state;
            if let PullState::Merged { commit, .. } = state {
                return Ok(commit);
            }
            let known = self.delivered(repository, number, || merge.base.clone()).await;
            if let Some(known) = known.filter(|known| known.base != merge.base) {
                let (looked, now) = (merge.base.clone(), known.base);
                return Err(PullError::OtherBase { number, looked, now });
            }
            let merged = self.forge.merge(repository, number, merge).await?;
            self.tell(repository, number, ForgeNews::Merged).await;
            Ok(merged)
        })
    }

    fn revert<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        revert: &'a Revert,
    ) -> BoxFuture<'a, Result<PullRequest, PullError>> {
        Box::pin(async move {
            let pull = self.forge.pull(repository, number).await?;
            let known = self.delivered(repository, number, || pull.base).await;
            self.forge.revert(repository, number, &Revert { known, ..revert.clone() }).await
        })
    }

    fn close<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        by: &'a Author,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(async move {
            self.forge.close(repository, number, by).await?;
            self.tell(repository, number, ForgeNews::Closed).await;
            Ok(())
        })
    }
}
