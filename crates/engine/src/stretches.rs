//! A history as stretches of time: how a task stood before each event, and for how long.

use std::time::Duration;

use domain::{
    approval::Conditions,
    task::{Stage, Task, Work},
};
use store::{History, Recorded};

/// What lies between an event and the one before it.
pub(crate) struct Stretch<'h> {
    /// How the task stood; nothing before the first event.
    pub(crate) before: Option<Task>,
    pub(crate) lasted: Duration,
    /// The event that ended it.
    pub(crate) recorded: &'h Recorded,
    pub(crate) after: Task,
}

impl Stretch<'_> {
    /// Whether something was done in it: not when the task waited for a person or a place.
    pub(crate) fn is_work(&self) -> bool {
        self.before.as_ref().is_some_and(|task| task.stage.phase().is_some())
    }
}

/// A run of the agent behind the gate, in which it changes code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRun {
    /// The number of the event that asked for it, which is what its words go by.
    pub seq: u64,
    /// What it was allowed then. Approvals are amended.
    pub conditions: Conditions,
}

/// The runs in which a task's agent was asked for a change, in order, however they ended.
pub fn change_runs(history: &History) -> Vec<ChangeRun> {
    let asked = |stretch: Stretch<'_>| {
        let is_new = stretch.before.is_none_or(|before| before.stage != stretch.after.stage);
        let Stage::Working(Work::Implement(mandate)) = stretch.after.stage else { return None };
        let conditions = mandate.approval().conditions.clone();
        is_new.then_some(ChangeRun { seq: stretch.recorded.seq, conditions })
    };
    of(history).into_iter().filter_map(asked).collect()
}

/// All of them, in order. None of a history that does not begin with a request.
pub(crate) fn of(history: &History) -> Vec<Stretch<'_>> {
    let mut stretches: Vec<Stretch<'_>> = Vec::with_capacity(history.events.len());
    for recorded in &history.events {
        let (before, lasted) = match stretches.last() {
            Some(last) => (Some(last.after.clone()), recorded.at.since(last.recorded.at)),
            None => (None, Duration::ZERO),
        };
        let after = match &before {
            Some(task) => Some(task.clone().after(&recorded.event)),
            None => Task::replay([&recorded.event]),
        };
        let Some(after) = after else { return Vec::new() };
        stretches.push(Stretch { before, lasted, recorded, after });
    }
    stretches
}
