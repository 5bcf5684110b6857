//! What has to be done about something that happened.
//!
//! Each [`Due`] becomes a row of the outbox, written in the transaction that writes the event: a
//! crash between the two is not possible. Rows of one task run one after the other within their
//! [`Lane`], oldest first.

use std::time::Duration;

use super::{Stage, Task, TimeUp, Work};

/// One thing to do, for one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub step: Step,
    pub delay: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Open (or wake) the sandbox.
    Open,
    Research,
    Plan,
    Implement,
    Verify,
    Review,
    Deliver,
    /// Put the sandbox to sleep while a person thinks.
    Rest,
    /// Destroy the sandboxes, revoke the credentials, settle the meters.
    Close,
    /// Tell the person, where they asked.
    Tell,
    TimeUp(TimeUp),
}

/// Steps of one lane and one task never run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    Work,
    Notice,
    Timer,
}

/// Whether a step still matters when the task has moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Dropped, or told to stop, when the task leaves the stage.
    Stage,
    /// Done whatever happens next.
    Always,
}

impl Step {
    pub const fn lane(self) -> Lane {
        match self {
            Self::Open
            | Self::Research
            | Self::Plan
            | Self::Implement
            | Self::Verify
            | Self::Review
            | Self::Deliver
            | Self::Rest
            | Self::Close => Lane::Work,
            Self::Tell => Lane::Notice,
            Self::TimeUp(_) => Lane::Timer,
        }
    }

    pub const fn span(self) -> Span {
        match self {
            Self::Open
            | Self::Research
            | Self::Plan
            | Self::Implement
            | Self::Verify
            | Self::Review
            | Self::Deliver
            | Self::Rest
            | Self::TimeUp(_) => Span::Stage,
            Self::Close | Self::Tell => Span::Always,
        }
    }
}

/// What is to be done once an event has led from `before` to `after`.
pub fn due(before: Option<&Task>, after: &Task) -> Vec<Due> {
    let now = |step| Due { step, delay: Duration::ZERO };
    if before.is_some_and(|before| before.stage == after.stage) {
        return Vec::new();
    }
    let timer = |up, delay| Due { step: Step::TimeUp(up), delay };
    let limits = &after.limits;
    let mut all = match &after.stage {
        Stage::Queued { .. } if before.is_none() => vec![now(Step::Tell)],
        // The queue gives places by itself. Until then the sandbox need not stay awake.
        Stage::Queued { .. } | Stage::Waking { .. } if after.workspace.is_some() => {
            vec![now(Step::Rest)]
        }
        Stage::Queued { .. } | Stage::Waking { .. } => Vec::new(),
        Stage::Preparing { .. } => vec![now(Step::Open)],
        Stage::Working(work) => vec![now(step_of(work))],
        Stage::AwaitingAnswer { .. } => {
            vec![now(Step::Tell), now(Step::Rest), timer(TimeUp::Answer, limits.answer_patience)]
        }
        Stage::AwaitingApproval { .. } => {
            vec![now(Step::Tell), now(Step::Rest), timer(TimeUp::Approval, limits.gate.patience)]
        }
        Stage::Paused { .. } | Stage::PullRequestOpen { .. } => {
            vec![now(Step::Tell), now(Step::Rest)]
        }
        Stage::Done { .. } | Stage::Failed { .. } | Stage::Cancelled { .. } => {
            vec![now(Step::Tell), now(Step::Close)]
        }
    };
    if let Some(phase) = after.stage.phase() {
        all.push(timer(TimeUp::Phase(phase), limits.time.of(phase)));
    }
    all
}

const fn step_of(work: &Work) -> Step {
    match work {
        Work::Research => Step::Research,
        Work::Plan => Step::Plan,
        Work::Implement(_) => Step::Implement,
        Work::Verify { .. } => Step::Verify,
        Work::Review { .. } => Step::Review,
        Work::Deliver { .. } => Step::Deliver,
    }
}
