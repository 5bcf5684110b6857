//! A history as stretches of time: how a task stood before each event, and for how long.

use std::time::Duration;

use domain::task::Task;
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
