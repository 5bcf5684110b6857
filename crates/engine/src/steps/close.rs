//! Ends what a task had: its sandboxes are destroyed, its credentials withdrawn, its meters read for the
//! last time. The pull request of a task that was cancelled is closed: nobody goes on with it.
//!
//! Never given up. A repeat finds nothing left to do.
//!
//! The order is what makes the last reading the last. Another engine may have been cut off in the middle of
//! an earlier step and still go on with it. Once the credentials are withdrawn it spends nothing more, and
//! gets no others. What it opens even now, [`crate::sweeper`] finds.

use contracts::{
    forge::{Author, Comment, Pull, PullError, PullRequests as _, PullState},
    sandbox::{Owner, Sandboxes as _},
    secret::SecretSource as _,
};
use domain::{
    id::PersonId,
    task::{Event, Stage},
};

use super::{Done, Outcome, Scene, Trouble};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let busy = |reason: String| Trouble::Busy(reason);
    let revoked = scene.hands().secrets().revoke(scene.key("credentials")).await;
    revoked.map_err(|error| busy(error.to_string()))?;
    let sandboxes = scene.hands().sandboxes();
    let listed = sandboxes.list().await.map_err(|error| busy(error.to_string()))?;
    let ours = Owner::Task(scene.lease.task);
    for one in listed.iter().filter(|one| one.owner == ours) {
        sandboxes.destroy(one.id).await.map_err(|error| busy(error.to_string()))?;
    }
    if let Stage::Cancelled { by } = &scene.task.stage {
        match close_pull(scene, *by).await {
            Ok(()) => {}
            Err(PullError::Busy { reason }) => return Err(Trouble::Busy(reason)),
            // What is gone, spoiled or refused for good must not keep the task from its end.
            Err(error) => {
                let task = scene.lease.task;
                tracing::warn!(%task, %error, "the pull request of a cancelled task stays open");
            }
        }
    }
    Ok(Done::Nothing)
}

/// Says why on it, and closes it. Its branch stays, as it does when a person closes one.
async fn close_pull<H: Hands>(scene: &Scene<'_, H>, by: PersonId) -> Result<(), PullError> {
    let Some(pull) = open_pull(scene).await? else { return Ok(()) };
    let (Ok(repository), pulls) = (scene.repository(), scene.hands().pulls()) else {
        return Ok(());
    };
    let who = scene.engine.settings.name_of(by);
    let comment = Comment {
        name: scene.key("cancelled").to_string(),
        author: Author::Platform,
        at: scene.asked_at(),
        text: format!("{who} cancelled task {}, so nobody goes on with this.", scene.lease.task),
        place: None,
    };
    pulls.comment(repository, pull.number, &comment).await?;
    match pulls.close(repository, pull.number, &Author::Person(who)).await {
        // Merged in this very moment.
        Err(PullError::Ended { .. }) => Ok(()),
        closed => closed,
    }
}

/// The one that is open on the task's branch. A delivery that was cut off may have opened it, and then the task does not know its number.
async fn open_pull<H: Hands>(scene: &Scene<'_, H>) -> Result<Option<Pull>, PullError> {
    let is_change = |event: &Event| matches!(event, Event::Implemented { .. });
    if !scene.history.events.iter().any(|recorded| is_change(&recorded.event)) {
        return Ok(None);
    }
    let (Ok(repository), Ok(branch)) = (scene.repository(), scene.branch()) else {
        return Ok(None);
    };
    let pulls = scene.hands().pulls().pulls(repository).await?;
    let is_open = |pull: &Pull| matches!(pull.state, PullState::Draft | PullState::Open);
    Ok(pulls.into_iter().find(|pull| pull.branch == branch && is_open(pull)))
}
