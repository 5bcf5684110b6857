//! What a task has used, and what of it is not written down yet.
//!
//! Meters never decrease, so the bill and the events can be compared at any time, by anyone, after any
//! crash. **Invariant:** a charge is the difference to the very events that it is appended to. So two who
//! read the same bill cannot both write it down.

use contracts::{
    agent::Agents as _,
    sandbox::{Owner, Sandboxes as _},
};
use domain::{
    cost::Cost,
    id::TaskId,
    phase::Phase,
    task::{Report, Stage, Task, Work},
};

use crate::Hands;

/// Everything that a task has used so far, and the phase that the newest of it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bill {
    pub(crate) phase: Phase,
    pub(crate) used: Cost,
}

impl Bill {
    /// What is to be written down beyond what `task` has been charged already.
    pub(crate) fn beyond(self, task: &Task) -> Option<Report> {
        let cost = self.used.since(task.spent);
        (cost != Cost::ZERO).then_some(Report::Charged { phase: self.phase, cost })
    }
}

/// Everything that `task` has used so far, as the meters outside say.
pub(crate) async fn read<H: Hands>(hands: &H, task: TaskId) -> Result<Cost, String> {
    let asked = hands.agents().bill(task).await;
    let used = hands.sandboxes().bill(&Owner::Task(task)).await;
    Ok(asked.map_err(|error| error.to_string())? + used.map_err(|error| error.to_string())?)
}

/// The phase that a stage belongs to, or that it follows.
pub(crate) fn phase(stage: &Stage) -> Phase {
    let at_the_gate = || match stage.mandate() {
        None => Phase::Plan,
        Some(_) => Phase::Deliver,
    };
    stage.phase().or_else(|| stage.work().map(Work::phase)).unwrap_or_else(at_the_gate)
}
