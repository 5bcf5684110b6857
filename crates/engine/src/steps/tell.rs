//! Tells the person, where they asked. Never given up, unless there is nobody to be told (CH3).
//!
//! The news is that of the event which asked for telling, even if the task has moved on since: each
//! is told once, in order.

use contracts::channel::{ChannelError, Channels as _, News, Notice};
use domain::{
    id::TaskId,
    question::Question,
    task::{DoneBecause, Event, PauseReason, Stage, Task},
};

use super::{Done, Outcome, Scene, Trouble};
use crate::Hands;

pub(super) async fn run<H: Hands>(scene: &Scene<'_, H>) -> Outcome {
    let until = scene.history.events.iter().take_while(|it| it.seq <= scene.lease.seq);
    let events: Vec<&Event> = until.map(|recorded| &recorded.event).collect();
    let Some((news, text)) = news(scene.lease.task, &events) else { return Ok(Done::Nothing) };
    let notice = Notice { key: scene.key("tell"), to: scene.request.source.clone(), news, text };
    match scene.hands().channels().tell(&notice).await {
        Ok(()) => Ok(Done::Nothing),
        Err(ChannelError::Busy { reason }) => Err(Trouble::Busy(reason)),
        Err(ChannelError::Gone { reason }) => {
            tracing::warn!(task = %scene.lease.task, reason, "nobody can be told");
            Ok(Done::Nothing)
        }
    }
}

/// What there was to tell when these events had happened.
fn news(id: TaskId, events: &[&Event]) -> Option<(News, String)> {
    let task = Task::replay(events.iter().copied())?;
    Some(match &task.stage {
        Stage::Queued { .. } => (News::Accepted, format!("Task {id} is in the queue.")),
        Stage::AwaitingAnswer { .. } => {
            let question = last_question(events)?;
            let text = format!("A question before I go on: {}", question.text);
            (News::Question(question), text)
        }
        Stage::AwaitingApproval { plan } => {
            let text =
                format!("The plan is ready. Approve plan {}, or say what to change.", plan.short());
            (News::PlanReady { plan: *plan }, text)
        }
        Stage::Paused { why, .. } => (News::Paused, paused(why)),
        Stage::PullRequestOpen { number, .. } => {
            let text = format!("Pull request {number} is open. {} spent.", task.spent.money);
            (News::PullRequestOpen { number: number.0 }, text)
        }
        Stage::Done { because } => (News::Done, done(*because)),
        Stage::Failed { failure, .. } => {
            (News::Failed, format!("{failure}.\nNext: {}.", failure.kind.remedy()))
        }
        Stage::Cancelled { .. } => (News::Cancelled, "The task was cancelled.".to_owned()),
        Stage::Preparing { .. } | Stage::Working(_) | Stage::Waking { .. } => return None,
    })
}

fn last_question(events: &[&Event]) -> Option<Question> {
    events.iter().rev().find_map(|event| {
        let Event::QuestionAsked { question, .. } = event else { return None };
        Some(question.clone())
    })
}

fn paused(why: &PauseReason) -> String {
    match why {
        PauseReason::Asked { by } => format!("Paused by {by}."),
        PauseReason::Failure(failure) => {
            format!("Paused: {failure}.\nNext: {}.", failure.kind.remedy())
        }
    }
}

fn done(because: DoneBecause) -> String {
    match because {
        DoneBecause::Merged => "Merged. The task is done.",
        DoneBecause::PullRequestClosed => "The pull request was closed. The task is done.",
        DoneBecause::TakenOver => "Someone pushed to the branch: the task is theirs now.",
    }
    .to_owned()
}
