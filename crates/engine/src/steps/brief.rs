//! What an agent is told: put together from the history alone, so that a repeat tells the same.
//!
//! **Invariant:** what instructs an agent (`guidance`) was said by people whom the platform knows. What anybody could have written, such as a
//! remark in somebody's name or the name of a check, is quoted.

use std::collections::BTreeSet;

use contracts::agent::{Brief, Mode};
use domain::{
    digest::Digest,
    finding::FindingId,
    request::Request,
    task::{Event, Remark, Speaker, WakeCause},
};
use store::{Blobs, History};

use crate::record::{ChecksRecord, Dismissal, ReviewRecord};

/// How much of what was found is told again. Older findings were answered by newer changes.
const FEEDBACK: usize = 3;

/// In our own words: what the check is called is quoted, as data.
const CHECK_ELSEWHERE: &str = "A check that others run failed on the pull request. What it is called is quoted among what others wrote; look whether \
                               the change breaks something, and mend that.";

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
            // Whoever may push, or report a check, chose its name.
            Event::Woken { cause: WakeCause::FailedCheck { check } } => {
                evidence.push(Found::CheckElsewhere);
                brief.quotes.push(format!(
                    "a check on the pull request, by the name it has there: {check}"
                ));
            }
            Event::Woken { cause: WakeCause::Remarks(remarks) } => {
                for Remark { by, speaker, text, .. } in remarks {
                    match speaker {
                        Speaker::Known => brief.guidance.push(format!("{by}: {text}")),
                        Speaker::Unproven => brief.quotes.push(format!(
                            "on the pull request, somebody who is not known and calls themselves {by}: {text}"
                        )),
                    }
                }
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
            Event::ChecksFailed { evidence: found, .. } => evidence.push(Found::Checks(*found)),
            Event::ReviewFoundFaults { evidence: found, .. } => {
                evidence.push(Found::Review(*found));
            }
            Event::Requested { .. }
            | Event::Admitted
            | Event::Prepared { .. }
            | Event::QuestionAsked { .. }
            | Event::Researched { .. }
            | Event::Implemented { .. }
            | Event::ChecksPassed { .. }
            | Event::ReviewPassed { .. }
            | Event::FindingDismissed { .. }
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
    let dismissals = Dismissal::all(history, blobs);
    brief.dismissed = dismissals.iter().filter_map(Dismissal::advice).collect();
    // A reviewer looks with fresh eyes.
    if mode != Mode::Review {
        let dismissed = Dismissal::ids(&dismissals);
        let told = evidence.iter().rev().filter_map(|found| read(blobs, *found, &dismissed));
        brief.feedback = told.take(FEEDBACK).collect();
    }
    brief
}

/// What a change was sent back for.
#[derive(Clone, Copy)]
enum Found {
    Checks(Digest),
    Review(Digest),
    /// A check that others ran on the pull request.
    CheckElsewhere,
}

/// Nothing, where all that was found then is dismissed by now.
fn read(blobs: &Blobs, found: Found, dismissed: &BTreeSet<FindingId>) -> Option<String> {
    let told = match found {
        Found::CheckElsewhere => return Some(CHECK_ELSEWHERE.to_owned()),
        Found::Checks(digest) => blobs
            .get(digest)
            .map(|bytes| ChecksRecord::read(&bytes).map(|record| Some(record.advice))),
        Found::Review(digest) => blobs
            .get(digest)
            .map(|bytes| ReviewRecord::read(&bytes).map(|record| record.advice(dismissed))),
    };
    // The agent can run the checks itself; a damaged record is no reason to stop.
    match told {
        Ok(Ok(advice)) => advice,
        Ok(Err(error)) => Some(format!("(what was found then cannot be read: {error})")),
        Err(error) => Some(format!("(what was found then cannot be read: {error})")),
    }
}
