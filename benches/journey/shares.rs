//! Whose time a task took: phase by phase, the agent's and ours, as the task's own events tell it.
//!
//! ```text
//!  handed over ─▶ Requested ─▶ Admitted ─▶ Prepared ─▶ Researched ─▶ PlanSubmitted
//!                                                                         │ a person: not counted
//!  PullRequestOpened ◀─ ReviewPassed ◀─ ChecksPassed ◀─ Implemented ◀─ Approved
//! ```
//!
//! **Invariant:** each moment between the first and the last belongs to one phase, or to the person.

use std::{fmt, time::Duration};

use anyhow::Context as _;
use wire::{
    agent::AgentEvent,
    task::{
        event::{RecordedEvent, TaskEvent},
        transcript::TranscriptItem,
    },
    time::Time,
};

/// A part of a task, which ends with an event of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    HandingOver,
    Queue,
    Prepare,
    Research,
    Plan,
    /// A person thinks, which is nobody's overhead.
    Person,
    Implement,
    Verify,
    Review,
    Deliver,
}

/// In their order.
pub const PARTS: [Part; 10] = [
    Part::HandingOver,
    Part::Queue,
    Part::Prepare,
    Part::Research,
    Part::Plan,
    Part::Person,
    Part::Implement,
    Part::Verify,
    Part::Review,
    Part::Deliver,
];

impl Part {
    /// The part that ends with this event.
    fn ended_by(event: &TaskEvent) -> Option<Self> {
        PARTS.into_iter().find(|part| match part {
            Self::HandingOver => matches!(event, TaskEvent::Requested { .. }),
            Self::Queue => matches!(event, TaskEvent::Admitted {}),
            Self::Prepare => matches!(event, TaskEvent::Prepared { .. }),
            Self::Research => matches!(event, TaskEvent::Researched { .. }),
            Self::Plan => matches!(event, TaskEvent::PlanSubmitted { .. }),
            Self::Person => matches!(event, TaskEvent::Approved { .. }),
            Self::Implement => matches!(event, TaskEvent::Implemented { .. }),
            Self::Verify => matches!(
                event,
                TaskEvent::ChecksPassed { .. }
                    | TaskEvent::ChecksNotWorse { .. }
                    | TaskEvent::ChecksUnproven { .. }
            ),
            Self::Review => matches!(event, TaskEvent::ReviewPassed { .. }),
            Self::Deliver => matches!(event, TaskEvent::PullRequestOpened { .. }),
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HandingOver => "handing over",
            Self::Queue => "queue",
            Self::Prepare => "prepare",
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Person => "person",
            Self::Implement => "implement",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Deliver => "deliver",
        })
    }
}

/// How long one part took, and how long an agent worked meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub part: Part,
    pub whole: Duration,
    pub agent: Duration,
}

impl Share {
    pub const fn ours(&self) -> Duration {
        self.whole.saturating_sub(self.agent)
    }
}

/// The shares of one task, from the moment in which somebody handed it over.
pub fn of(
    begun: Time,
    events: &[RecordedEvent],
    transcript: &[TranscriptItem],
) -> anyhow::Result<Vec<Share>> {
    let mark = |it: &RecordedEvent| {
        let part = Part::ended_by(&it.event)?;
        Some(Mark { part, number: it.number, at: it.at })
    };
    let marks: Vec<Mark> = events.iter().filter_map(mark).collect();
    shared_out(begun, &marks, &runs(transcript))
}

/// An event that ends a part.
#[derive(Debug, Clone, Copy)]
struct Mark {
    part: Part,
    number: u64,
    at: Time,
}

fn shared_out(begun: Time, marks: &[Mark], runs: &[Run]) -> anyhow::Result<Vec<Share>> {
    let mut shares = Vec::new();
    let (mut since, mut after) = (begun, 0);
    for part in PARTS {
        let is_end = |it: &&Mark| it.number > after && it.part == part;
        let end = marks.iter().find(is_end).with_context(|| format!("{part} has no end"))?;
        // The event that asked for a run is the last one of the part before, or one that came after it.
        let inside = |run: &&Run| (after..end.number).contains(&run.asked_by);
        let agent = runs.iter().filter(inside).map(|run| between(run.from, run.to)).sum();
        shares.push(Share { part, whole: between(since, end.at), agent });
        (since, after) = (end.at, end.number);
    }
    Ok(shares)
}

/// One time that an agent worked: from when it was told its task, and is started next, until it has ended and its answer is read.
#[derive(Debug, Clone, Copy)]
struct Run {
    asked_by: u64,
    attempt: u64,
    from: Time,
    to: Time,
}

fn runs(transcript: &[TranscriptItem]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for item in transcript {
        let TranscriptItem { run: asked_by, attempt, at, event, .. } = item;
        let known = runs.iter_mut().find(|it| (it.asked_by, it.attempt) == (*asked_by, *attempt));
        match known {
            // What it is told comes in several parts, the last of which is just before it is started.
            Some(run) if matches!(event, AgentEvent::Briefed { .. }) => {
                (run.from, run.to) = (*at, *at);
            }
            Some(run) => run.to = *at,
            None => runs.push(Run { asked_by: *asked_by, attempt: *attempt, from: *at, to: *at }),
        }
    }
    runs
}

fn between(from: Time, to: Time) -> Duration {
    let millis = to.as_millis().saturating_sub(from.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(run: u64, at: i64, event: AgentEvent) -> TranscriptItem {
        TranscriptItem { number: 1, run, attempt: 7, at: Time::from_millis(at), event }
    }

    fn told(at: i64) -> TranscriptItem {
        item(4, at, AgentEvent::Briefed { part: 1, text: String::new() })
    }

    fn said(at: i64) -> TranscriptItem {
        item(4, at, AgentEvent::Message { number: 1, text: "here".to_owned() })
    }

    /// One event each 100 ms: every part takes as long.
    fn marks() -> Vec<Mark> {
        let mark = |(part, number)| Mark { part, number, at: at(number) };
        PARTS.into_iter().zip(1..).map(mark).collect()
    }

    fn at(number: u64) -> Time {
        Time::from_millis(1_000 + 100 * i64::try_from(number).unwrap())
    }

    #[test]
    fn an_agents_work_is_taken_from_its_own_part_only() {
        // The fourth event ends the research, and asks for the plan.
        let runs = runs(&[told(1_410), told(1_420), said(1_450), said(1_490)]);
        let shares = shared_out(at(0), &marks(), &runs).unwrap();
        for share in shares {
            let agent = if share.part == Part::Plan { 70 } else { 0 };
            assert_eq!(share.agent, Duration::from_millis(agent), "{share:?}");
            assert_eq!(share.ours(), Duration::from_millis(100 - agent), "{share:?}");
        }
    }

    #[test]
    fn a_task_that_was_not_delivered_has_no_shares() {
        let mut marks = marks();
        marks.pop();
        let missing = shared_out(at(0), &marks, &[]).unwrap_err();
        assert_eq!(missing.to_string(), "deliver has no end");
    }
}
