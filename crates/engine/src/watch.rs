//! Looks at open pull requests, for what was done to them: merged, closed or taken over; comments, reviews and failed checks (PL10).
//!
//! It does not matter who did it, nor how: through our doors, with plain git, or by writing into the record. What a task knows is in its own
//! events, and what is true now is on the forge; the difference is news. A record can say anything: what the task did is believed of its events,
//! that something is merged of the branch, and who said something of the seal that the forge has looked at. So a look may be repeated as often as anybody likes, and one that was
//! cut off, or a server that was killed right after it wrote a comment, loses nothing: the next look finds it.

use contracts::{
    clock::Clock as _,
    forge::{self, Author, Check, News, Pull, PullError, PullRequests as _, PullState},
};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::TaskId,
    task::{ForgeNews, Heard, Remark, RemarkKind, Speaker, Stage, Task},
};
use store::{Blobs, Filter, History, Page};
use tokio_util::sync::CancellationToken;

use crate::{
    Engine, Hands, SubmitError,
    delivered::{delivered_base, own_commits},
};

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
    let Some(known) = Seen::of(&history, engine.store.blobs(), &pull) else { return Ok(()) };
    let merged = match is_merged(engine, repository, &known, &pull).await {
        Ok(merged) => merged,
        Err(error) => {
            tracing::info!(%task, %error, "cannot look whether its pull request is merged");
            return Ok(());
        }
    };
    let Some(news) = news(&known, merged, pull) else { return Ok(()) };
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

/// What a task knows of its pull request, by its own events. Whoever may push can write anything else into the record.
struct Seen {
    task: Task,
    head: CommitId,
    /// All that the task has made.
    ours: Vec<CommitId>,
    /// What it goes into.
    base: String,
}

impl Seen {
    /// Nothing, unless it waits with an open pull request.
    fn of(history: &History, blobs: &Blobs, pull: &Pull) -> Option<Self> {
        let task = history.task()?;
        let Stage::PullRequestOpen { head, .. } = &task.stage else { return None };
        let head = head.clone();
        // Receipts from before that was kept do not say it.
        let base = delivered_base(history, blobs).unwrap_or_else(|| pull.base.clone());
        Some(Self { task, head, ours: own_commits(history), base })
    }
}

/// What is really so, whatever is written about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merged {
    Yes,
    No,
}

/// Asks the base branch where the record says that it is merged, and where it says something else than the task knows.
async fn is_merged<H: Hands>(
    engine: &Engine<H>,
    repository: &RepositoryName,
    known: &Seen,
    pull: &Pull,
) -> Result<Merged, PullError> {
    let says_so = matches!(pull.state, PullState::Merged { .. });
    let is_rewritten = pull.base != known.base || pull.delivered != known.head;
    if !says_so && !is_rewritten {
        return Ok(Merged::No);
    }
    let is_in = engine.hands.pulls().is_in(repository, &known.base, &known.head).await?;
    if says_so && !is_in {
        tracing::warn!(
            %repository, number = %pull.number,
            "the record of this pull request says that it is merged, and its base does not have it"
        );
    }
    Ok(if is_in { Merged::Yes } else { Merged::No })
}

/// What is true of the pull request that its task does not know, the most important alone: the rest is found by the next look.
fn news(seen: &Seen, merged: Merged, pull: Pull) -> Option<ForgeNews> {
    let Seen { task, head, ours, .. } = seen;
    let pull = as_it_is(pull, seen, merged);
    let mut remarks = Vec::new();
    for one in forge::news(&known(task, head, &pull), &pull) {
        match one {
            News::Merged { .. } => return Some(ForgeNews::Merged),
            News::Closed => return Some(ForgeNews::Closed),
            News::Taken { head: theirs } => {
                // What was delivered after we looked is ours, whatever the branch was at then.
                let is_ours = theirs.is_some_and(|theirs| ours.contains(&theirs));
                if !is_ours {
                    return Some(ForgeNews::TakenOver);
                }
            }
            News::CheckFailed(check) => {
                return Some(ForgeNews::CheckFailed { head: check.commit, check: check.name });
            }
            News::Reviewed(review) => {
                let text = format!("({}) {}", review.opinion.verb(), review.text);
                remarks.push(remark(RemarkKind::Review, review.name, &review.author, text));
            }
            News::Commented(comment) => {
                let text = match comment.place {
                    Some((path, line)) => format!("{path}:{line}: {}", comment.text),
                    None => comment.text,
                };
                remarks.push(remark(RemarkKind::Comment, comment.name, &comment.author, text));
            }
        }
    }
    remarks.truncate(MOST_REMARKS);
    (!remarks.is_empty()).then_some(ForgeNews::Remarked(remarks))
}

/// The pull request, with what was asked of the branch and of the task in place of what is written.
fn as_it_is(pull: Pull, seen: &Seen, merged: Merged) -> Pull {
    let state = match (merged, pull.state) {
        (Merged::Yes, state @ PullState::Merged { .. }) => state,
        (Merged::Yes, PullState::Draft | PullState::Open | PullState::Closed { .. }) => {
            let by = Author::Unproven(String::new());
            PullState::Merged { commit: seen.head.clone(), by }
        }
        (Merged::No, PullState::Merged { .. }) => PullState::Open,
        (Merged::No, state @ (PullState::Draft | PullState::Open | PullState::Closed { .. })) => {
            state
        }
    };
    Pull { state, base: seen.base.clone(), delivered: seen.head.clone(), ..pull }
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

fn remark(kind: RemarkKind, name: String, author: &Author, text: String) -> Remark {
    let speaker = match author {
        Author::Platform | Author::Person(_) => Speaker::Known,
        Author::Unproven(_) => Speaker::Unproven,
    };
    Remark { kind, name, by: author.name().to_owned(), speaker, text }
}
