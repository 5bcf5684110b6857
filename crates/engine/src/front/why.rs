//! Why is this line there? From blame to the commit's note, and from the note to the task, its plan, its approval and what was said.
//!
//! A note is in the repository, where anybody who may push can write one. So it only says where to look: a line is a task's when the
//! task's own events say that it made the commit.

use contracts::forge::{Blamed, ForgeError, Forges as _};
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    id::{PersonId, TaskId},
    plan::{Plan, PlanHash},
    request::Request,
    task::Event,
    time::Timestamp,
    transcript::AgentEvent,
};
use evidence::commit::{Note, title};
use store::{History, Said, Store, StoreError};

use crate::{Engine, Hands, stretches::change_runs};

/// How much of what was said last is looked at, and how many messages are told.
const LOOKED_AT: i64 = 200;
const TOLD: usize = 5;

/// A line of a file, on the default branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub repository: RepositoryName,
    pub path: String,
    /// Counted from 1.
    pub number: u32,
}

/// Where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub commit: CommitId,
    /// The line itself, fit to be shown.
    pub text: String,
    /// The first line of the commit's message, fit to be shown.
    pub subject: String,
    /// None for a line that no task wrote.
    pub origin: Option<Origin>,
}

/// The task that a line is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub task: TaskId,
    pub title: String,
    pub requester: PersonId,
    pub pull_request: Option<PullRequestNumber>,
    pub plan: Option<PlanOfLine>,
    pub approved: Option<Approved>,
    /// What the agent said while it worked, the newest last. Data, never a proof.
    pub reasoning: Vec<String>,
}

/// The plan that was approved before the line was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOfLine {
    pub hash: PlanHash,
    pub summary: String,
    /// Why this file was to be changed.
    pub of_file: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approved {
    pub by: PersonId,
    pub at: Timestamp,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum WhyError {
    /// A line that there is not is the asker's mistake.
    #[error("{reason}")]
    NoLine { reason: String },
    #[error(transparent)]
    Forge(ForgeError),
    #[error(transparent)]
    Note(ForgeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) async fn why<H: Hands>(engine: &Engine<H>, line: &Line) -> Result<Why, WhyError> {
    let Line { repository, path, number } = line;
    let blamed = engine.hands.forges().blame(repository, path, *number).await;
    let Blamed { commit, text, subject } = blamed.map_err(no_line)?;
    let origin = match noted(engine, repository, &commit).await? {
        Some(task) => origin(&engine.store, task, &commit, path).await?,
        None => None,
    };
    Ok(Why { commit, text, subject, origin })
}

/// In words of its own: nothing was to leave a sandbox here.
fn no_line(error: ForgeError) -> WhyError {
    match error {
        ForgeError::Refused { reason } => WhyError::NoLine { reason },
        ForgeError::NoRepository(_)
        | ForgeError::Busy { .. }
        | ForgeError::NothingChanged
        | ForgeError::Rejected { .. }
        | ForgeError::TakenOver { .. } => WhyError::Forge(error),
    }
}

/// The task that a commit's note names. One that is not ours says nothing.
async fn noted<H: Hands>(
    engine: &Engine<H>,
    repository: &RepositoryName,
    commit: &CommitId,
) -> Result<Option<TaskId>, WhyError> {
    let note = engine.hands.forges().note_on(repository, commit).await;
    let note = note.map_err(WhyError::Note)?;
    Ok(note.and_then(|bytes| Note::read(&bytes).ok()).map(|note| note.task))
}

async fn origin(
    store: &Store,
    task: TaskId,
    commit: &CommitId,
    path: &str,
) -> Result<Option<Origin>, StoreError> {
    let history = store.history(task).await?;
    let Some(told) = of_history(task, &history, commit, path) else { return Ok(None) };
    let said = match maker(&history, commit) {
        Some(run) => store.run_end((task, run), LOOKED_AT).await?,
        None => Vec::new(),
    };
    Ok(Some(Origin { reasoning: reasoning(&said), ..told }))
}

/// The run that made the commit. What reviewers and later rounds said is about something else.
fn maker(history: &History, commit: &CommitId) -> Option<u64> {
    let made = history.events.iter().find(|it| is_made(&it.event, commit))?;
    let mut newest_first = change_runs(history).into_iter().rev();
    newest_first.find(|run| run.seq < made.seq).map(|run| run.seq)
}

fn is_made(event: &Event, commit: &CommitId) -> bool {
    matches!(event, Event::Implemented { commit: made, .. } if made == commit)
}

/// What the events say, if the commit is one of the task's own.
fn of_history(task: TaskId, history: &History, commit: &CommitId, path: &str) -> Option<Origin> {
    let events = &history.events;
    let made = events.iter().position(|it| is_made(&it.event, commit))?;
    // What was approved before it was made, and the newest of that.
    let before = || events.iter().take(made).rev();
    let approved = before().find_map(|it| {
        let Event::Approved { plan, by, .. } = &it.event else { return None };
        Some((*plan, Approved { by: *by, at: it.at }))
    });
    let plan = approved.and_then(|(hash, _)| {
        before().find_map(|it| {
            let Event::PlanSubmitted { plan, .. } = &it.event else { return None };
            (plan.hash() == hash).then_some(plan)
        })
    });
    let request: &Request = events.iter().find_map(|it| {
        let Event::Requested { request, .. } = &it.event else { return None };
        Some(request)
    })?;
    Some(Origin {
        task,
        title: title(&request.text),
        requester: request.author,
        pull_request: history.task().and_then(|task| task.pull_request),
        plan: plan.map(|plan| told(plan, path)),
        approved: approved.map(|(_, approved)| approved),
        reasoning: Vec::new(),
    })
}

fn told(plan: &Plan, path: &str) -> PlanOfLine {
    let of_file = plan.files.iter().find(|file| file.path == path);
    PlanOfLine {
        hash: plan.hash(),
        summary: plan.summary.clone(),
        of_file: of_file.map(|file| file.why.clone()),
    }
}

/// The last messages, whole: parts of one have one number.
fn reasoning(said: &[Said]) -> Vec<String> {
    let mut messages: Vec<((u64, u32), String)> = Vec::new();
    for one in said {
        let AgentEvent::Message { number, text } = &one.event else { continue };
        let of = (one.attempt, *number);
        match messages.last_mut() {
            Some((last, whole)) if *last == of => whole.push_str(text),
            Some(_) | None => messages.push((of, text.clone())),
        }
    }
    let first = messages.len().saturating_sub(TOLD);
    messages.into_iter().skip(first).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use domain::{digest::Digest, limits::Limits};
    use store::Recorded;

    use super::*;

    fn history(events: Vec<Event>) -> History {
        let recorded = |(seq, event)| Recorded { seq, at: Timestamp::from_millis(7), event };
        History { events: (1..).zip(events).map(recorded).collect() }
    }

    fn implemented(commit: &CommitId) -> Event {
        Event::Implemented {
            base: "b".repeat(40).parse().unwrap(),
            commit: commit.clone(),
            difference: Digest::of(b"difference"),
            record: Digest::of(b"record"),
            session: None,
        }
    }

    #[test]
    fn a_line_is_a_tasks_only_when_the_tasks_own_events_say_so() {
        let task = TaskId::from_u128(1);
        let [made, other] = ["a", "c"].map(|it| it.repeat(40).parse::<CommitId>().unwrap());
        let request = testkit::request("web", "fix the sum\nplease").unwrap();
        let events =
            vec![Event::Requested { request, limits: Limits::default() }, implemented(&made)];
        let told = of_history(task, &history(events), &made, "calc.py").unwrap();
        assert_eq!((&*told.title, told.plan, told.approved), ("fix the sum", None, None));
        let forged = of_history(task, &history(vec![implemented(&made)]), &other, "calc.py");
        assert_eq!(forged, None, "a note that anybody wrote is not enough");
        assert_eq!(of_history(task, &history(Vec::new()), &made, "calc.py"), None);
    }

    #[test]
    fn messages_are_told_whole_and_the_last_few() {
        let said = |number: u64, message: u32, text: &str| Said {
            number,
            run: 1,
            attempt: 1,
            at: Timestamp::from_millis(7),
            event: AgentEvent::Message { number: message, text: text.to_owned() },
        };
        let mut all = vec![said(1, 1, "one "), said(2, 1, "whole")];
        assert_eq!(reasoning(&all), ["one whole"]);
        all.extend((2..9).map(|number| said(u64::from(number) + 1, number, "more")));
        assert_eq!(reasoning(&all), ["more"; TOLD]);
    }
}
