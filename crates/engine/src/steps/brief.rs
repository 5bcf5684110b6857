//! What an agent is told: put together from the history alone, so that a repeat tells the same.

use contracts::agent::{Brief, Mode};
use domain::{
    digest::Digest,
    request::Request,
    task::{Event, WakeCause},
};
use store::{Blobs, History};

/// How much of what was found is told again. Older findings were answered by newer changes.
const FEEDBACK: usize = 3;

pub(super) fn brief(request: &Request, history: &History, blobs: &Blobs, mode: Mode) -> Brief {
    let mut brief = Brief {
        request: request.text.clone(),
        author: request.author.to_string(),
        quotes: request.quotes.iter().map(|it| format!("{}: {}", it.author, it.text)).collect(),
        ..Brief::default()
    };
    let mut waiting = None;
    let mut evidence = Vec::new();
    for recorded in &history.events {
        match &recorded.event {
            Event::Answered { text, .. }
            | Event::Messaged { text, .. }
            | Event::Rejected { comment: text, .. }
            | Event::Woken { cause: WakeCause::Comment { text, .. } } => {
                brief.guidance.push(text.clone());
            }
            Event::Woken { cause: WakeCause::FailedCheck { check } } => {
                brief.guidance.push(format!("the check `{check}` failed on the pull request"));
            }
            Event::PlanSubmitted { plan, .. } => waiting = Some(plan.clone()),
            Event::Approved { conditions, .. } => {
                brief.approved = waiting.take().map(|plan| (plan, conditions.clone()));
            }
            Event::Amended { conditions, .. } => {
                if let Some((_, allowed)) = &mut brief.approved {
                    allowed.clone_from(conditions);
                }
            }
            Event::ChecksFailed { evidence: found, .. }
            | Event::ReviewFoundFaults { evidence: found, .. } => evidence.push(*found),
            Event::Requested { .. }
            | Event::Admitted
            | Event::Prepared { .. }
            | Event::QuestionAsked { .. }
            | Event::Researched { .. }
            | Event::Implemented { .. }
            | Event::ChecksPassed { .. }
            | Event::ReviewPassed { .. }
            | Event::PullRequestOpened { .. }
            | Event::BudgetRaised { .. }
            | Event::Charged { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::Retried { .. }
            | Event::Done { .. }
            | Event::Failed { .. }
            | Event::Cancelled { .. } => {}
        }
    }
    // A reviewer looks with fresh eyes.
    if mode != Mode::Review {
        brief.feedback =
            evidence.iter().rev().take(FEEDBACK).map(|found| read(blobs, *found)).collect();
    }
    brief
}

fn read(blobs: &Blobs, digest: Digest) -> String {
    match blobs.get(digest) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // The agent can run the checks itself; a damaged log is no reason to stop.
        Err(error) => format!("(what was found then cannot be read: {error})"),
    }
}
