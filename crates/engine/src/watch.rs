//! Looks at open pull requests, for what was done to them: merged, closed or taken over; comments, reviews and failed checks (PL10).
//!
//! It does not matter who did it, nor how: through our doors, with plain git, or by writing into the record. What a task knows is in its own
//! events, and what is true now is on the forge; the difference is news. So a look may be repeated as often as anybody likes, and one that was
//! cut off, or a server that was killed right after it wrote a comment, loses nothing: the next look finds it.

use contracts::{
    clock::Clock as _,
    forge::{self, Author, Check, News, Opinion, Pull, PullError, PullRequests as _, PullState},
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::TaskId,
    task::{ForgeNews, Heard, Remark, RemarkKind, Stage, Task},
};
use store::{Filter, Page};
use tokio_util::sync::CancellationToken;

use crate::{Engine, Hands, SubmitError};

/// What our own checks are called on a pull request, where they are no news to us.
pub(crate) const OWN_CHECKS: &str = "lamp/";

/// Remarks that one follow-up is about. What is more waits for the next one.
const MOST_REMARKS: usize = 20;

pub(crate) async fn watch_regularly<H: Hands>(engine: &Engine<H>, stop: &CancellationToken) {
    loop {
        let next = engine.now() + engine.settings.watch_every;
        tokio::select! {
            () = stop.cancelled() => return,
            () = engine.hands.clock().sleep_until(next) => {}
        }
        let looked = tokio::select! {
            () = stop.cancelled() => return,
            looked = look(engine) => looked,
        };
        if let Err(reason) = looked {
            tracing::warn!(reason, "cannot look at open pull requests");
        }
    }
}

/// Looks at every open pull request once.
async fn look<H: Hands>(engine: &Engine<H>) -> Result<(), String> {
    let filter = Filter { stage: Some("pull request open".to_owned()), ..Filter::default() };
    let mut page = Page { before: None, size: Page::LONGEST };
    loop {
        let views = engine.store.tasks(&filter, page).await.map_err(|error| error.to_string())?;
        for view in &views {
            let Some(number) = view.pull_request else { continue };
            look_at(engine, view.task, &view.repository, PullRequestNumber(number)).await?;
        }
        match views.last() {
            Some(last) if views.len() >= Page::LONGEST as usize => page.before = Some(last.task),
            Some(_) | None => return Ok(()),
        }
    }
}

pub(crate) async fn look_at<H: Hands>(
    engine: &Engine<H>,
    task: TaskId,
    repository: &RepositoryName,
    number: PullRequestNumber,
) -> Result<(), String> {
    let pull = match engine.hands.pulls().pull(repository, number).await {
        Ok(pull) => pull,
        // One that cannot be seen now does not keep the others.
        Err(error @ (PullError::Busy { .. } | PullError::NoRepository(_))) => {
            tracing::info!(%task, %error, "cannot look at its pull request");
            return Ok(());
        }
        Err(error) => {
            tracing::warn!(%task, %error, "its pull request cannot be read");
            return Ok(());
        }
    };
    let history = engine.store.history(task).await.map_err(|error| error.to_string())?;
    let Some(news) = history.task().and_then(|task| news(&task, &pull)) else { return Ok(()) };
    match Box::pin(engine.forge_says(task, news)).await {
        Ok(_) => Ok(()),
        // The task may have gone on since we looked, or has had its share of follow-ups.
        Err(SubmitError::Refused(refusal)) => {
            tracing::debug!(%task, %refusal, "it does not take news of its pull request");
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// What is true of the pull request that its task does not know, the most important alone: the rest is found by the next look.
fn news(task: &Task, pull: &Pull) -> Option<ForgeNews> {
    let Stage::PullRequestOpen { head, .. } = &task.stage else { return None };
    // What was delivered after we looked is ours, whatever the branch was at then.
    let is_newest = pull.delivered == *head;
    let mut remarks = Vec::new();
    for one in forge::news(&known(task, head, pull), pull) {
        match one {
            News::Merged { .. } => return Some(ForgeNews::Merged),
            News::Closed => return Some(ForgeNews::Closed),
            News::Taken { .. } if is_newest => return Some(ForgeNews::TakenOver),
            News::CheckFailed(check) if is_newest => {
                return Some(ForgeNews::CheckFailed { head: check.commit, check: check.name });
            }
            News::Taken { .. } | News::CheckFailed(_) => {}
            News::Reviewed(review) => {
                let opinion = match review.opinion {
                    Opinion::Approves => "approves",
                    Opinion::WantsChanges => "wants changes",
                    Opinion::Remarks => "remarks",
                };
                let text = format!("({opinion}) {}", review.text);
                remarks.push(remark(RemarkKind::Review, review.name, review.author, text));
            }
            News::Commented(comment) => {
                let text = match comment.place {
                    Some((path, line)) => format!("{path}:{line}: {}", comment.text),
                    None => comment.text,
                };
                remarks.push(remark(RemarkKind::Comment, comment.name, comment.author, text));
            }
        }
    }
    remarks.truncate(MOST_REMARKS);
    (!remarks.is_empty()).then_some(ForgeNews::Remarked(remarks))
}

/// The pull request as the task's events tell it.
fn known(task: &Task, head: &CommitId, pull: &Pull) -> Pull {
    let has_heard =
        |kind, name: &String| task.heard.contains(&Heard::Remark { kind, name: name.clone() });
    let has_seen = |check: &Check| {
        let (head, name) = (check.commit.clone(), check.name.clone());
        check.name.starts_with(OWN_CHECKS)
            || task.heard.contains(&Heard::Check { head, check: name })
    };
    let mut known = pull.clone();
    known.state = PullState::Open;
    known.head = Some(head.clone());
    known.delivered = head.clone();
    known.comments.retain(|comment| has_heard(RemarkKind::Comment, &comment.name));
    known.reviews.retain(|review| has_heard(RemarkKind::Review, &review.name));
    known.checks.retain(has_seen);
    known
}

fn remark(kind: RemarkKind, name: String, author: Author, text: String) -> Remark {
    let by = match author {
        Author::Platform => "the platform".to_owned(),
        Author::Person(by) => by,
    };
    Remark { kind, name, by, text }
}
