//! The life of one task, from request to pull request.
//!
//! ```text
//!            admit           prepared              researched           plan written
//!  Queued ──────────▶ Preparing ──▶ Researching ──────────────▶ Planning ──────────▶ AwaitingApproval
//!    ▲ ▲                            │    ▲                                             │    │
//!    │ │                     asked  ▼    │ answer (by way of Queued)                   │    │ approve:
//!    │ │                      AwaitingAnswer                                           │    │ a person,
//!    │ └──────────────────────────── reject (a person, with a comment) ────────────────┘    │ the hash
//!    │                                                                                      ▼
//!    │                  fail checks, up to the limit                          Queued ▶ Preparing
//!    │                ┌──────────────────────────────┐                                      │
//!    │                ▼                              │                                      ▼
//!    │           Implementing ──────────────▶ Verifying ─────▶ Reviewing ─────▶ Delivering ─▶ PullRequestOpen
//!    │                ▲                                            │                          │      │
//!    │                └──────── review finds faults, at most twice ┘      merged, closed, or  │      │ comment,
//!    │                                                                    taken over by hand  ▼      │ red check
//!    └─────────────────────────── Waking ◀───────────────────────────────────────────── Done  │      │
//!                                    ▲                                                        │      │
//!                                    └────────────────────────────────────────────────────────┼──────┘
//!  any live stage ── pause, or a failure that a person can mend ──▶ Paused ── resume ──▶ where it was
//!  any live stage ── cancel ──▶ Cancelled          any stage of work ── other failures ──▶ Failed ── retry ──▶ Queued
//! ```
//!
//! Three functions hold all the rules. [`decide`] says what a command means for a task, and may refuse.
//! [`Task::after`] says what is true once something has happened, and may not refuse. [`due`] says
//! what has to be done about it. None does IO, reads a clock or makes an id, so a task can be
//! replayed from its events and every rule can be tested in memory.
//!
//! Commands come in two kinds that share nothing: what a person asks ([`Ask`]) and what our own steps
//! report ([`Report`]). What an agent says can only ever become a `Report`.
//!
//! **Invariant:** every stage after the gate holds a [`Mandate`], and a mandate is made in one place:
//! where [`Event::Approved`] is applied, which [`decide`] gives only to an [`Ask::Approve`] of the
//! waiting plan's hash, by someone who may.

mod after;
mod ask;
mod command;
mod due;
mod event;
mod hear;
mod leftovers;
mod refusal;
mod remark;
mod report;
mod stage;
mod stopped;

#[cfg(test)]
mod tests;

pub use command::{Ask, Command, ForgeNews, Report, TimeUp};
pub use due::{Due, Lane, Span, Step, due};
pub use event::{DoneBecause, Event, PauseReason, Verdict, WakeCause};
pub use leftovers::Leftovers;
pub use refusal::Refusal;
pub use remark::{Heard, Remark, RemarkKind, Speaker};
pub use stage::{Mandate, Resting, Stage, Standing, Work};

use std::collections::BTreeSet;

use crate::{
    code::{CommitId, PullRequestNumber},
    cost::Cost,
    finding::FindingId,
    id::{PersonId, SandboxId},
    limits::Limits,
    money::Money,
    people::Relation,
    request::Request,
};

/// What the rules need to know about a task. Rebuilt from its events, never stored as the truth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub requester: PersonId,
    pub limits: Limits,
    pub stage: Stage,
    pub spent: Cost,
    /// The sandbox that the agent works in, while there is one.
    pub workspace: Option<Workspace>,
    /// The agent's own name for its memory, so that it can be woken with it.
    pub session: Option<String>,
    /// Its pull request, once there is one, whatever happens to the plan afterwards.
    pub pull_request: Option<PullRequestNumber>,
    /// How often the newest head has woken the task.
    pub follow_ups: Option<FollowUps>,
    /// What on its pull request has woken it. Never less.
    pub heard: BTreeSet<Heard>,
    /// All that its reviews have found.
    pub found: BTreeSet<FindingId>,
    /// What of it a person dismissed. Never less.
    pub dismissed: BTreeSet<FindingId>,
    /// The change that its last review sent back, until there is another.
    pub held_back: Option<HeldBack>,
}

/// A sandbox, and what it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub sandbox: SandboxId,
    pub purpose: Purpose,
    /// What was checked out in it when it was made.
    pub commit: CommitId,
}

/// What a sandbox is for. It never changes: a research sandbox does not become an implementing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    Research,
    Implement,
    Verify,
    Review,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUps {
    pub head: CommitId,
    pub count: u8,
}

/// A change that a review sent back. Its agent may be mending it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    pub commit: CommitId,
    pub findings: BTreeSet<FindingId>,
    pub words: Words,
}

/// Whether a person wants more of the agent than to mend what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// They said something, and it was not at work since.
    Waiting,
    Heard,
}

impl Task {
    /// A task as its first event leaves it.
    pub fn begin(request: &Request, limits: &Limits) -> Self {
        Self {
            requester: request.author,
            limits: limits.clone(),
            stage: Stage::Queued { next: Work::Research },
            spent: Cost::ZERO,
            workspace: None,
            session: None,
            pull_request: None,
            follow_ups: None,
            heard: BTreeSet::new(),
            found: BTreeSet::new(),
            dismissed: BTreeSet::new(),
            held_back: None,
        }
    }

    /// The task that `events` tell of. The first must be [`Event::Requested`].
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let Event::Requested { request, limits } = events.next()? else { return None };
        Some(events.fold(Self::begin(request, limits), Self::after))
    }
}

impl Task {
    /// The money that the task may spend: the smaller of its own budget and its approval's.
    pub fn budget(&self) -> Money {
        let condition = self.stage.mandate().and_then(|it| it.approval().conditions.budget);
        condition.map_or(self.limits.budget, |budget| budget.min(self.limits.budget))
    }

    /// Whether there are findings, and a person has dismissed each of them.
    pub fn has_dismissed(&self, findings: &BTreeSet<FindingId>) -> bool {
        !findings.is_empty() && findings.is_subset(&self.dismissed)
    }

    /// Whether a change was sent back, and nothing is left to mend in it: it is delivered when the task goes on.
    pub fn is_cleared(&self) -> bool {
        let clears = |it: &HeldBack| it.words == Words::Heard && self.has_dismissed(&it.findings);
        self.held_back.as_ref().is_some_and(clears)
    }

    /// What `person` has to do with this task.
    pub fn relation(&self, person: PersonId) -> Relation {
        if person == self.requester { Relation::Requester } else { Relation::Colleague }
    }
}

/// Decide what `command` means for `task`.
pub fn decide(task: &Task, command: Command) -> Result<Event, Refusal> {
    match command {
        Command::Ask { by, ask } => ask::decide(task, &by, ask),
        Command::Report(report) => report::decide(task, report),
    }
}
