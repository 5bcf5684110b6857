//! What is to be done, and who is doing it.
//!
//! A row is claimed for a while ([`Lease`]). Whoever holds the lease renews it while working, and
//! settles it with the outcome. A driver that died stops renewing; the row is then anybody's. The
//! number of the attempt is part of the lease, so that one who lost it cannot settle it.

use domain::{id::TaskId, task::Step};

/// The right to do one step, for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub task: TaskId,
    /// The event that asked for the step. `(task, seq)` is the key that makes a repeat harmless.
    pub seq: u64,
    pub step: Step,
    pub holder: String,
    /// From 1.
    pub attempt: u32,
}

/// What has become of a lease when it was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    Held,
    /// The task has moved on: stop, then let go.
    Superseded,
    /// Somebody else has it now, or it is done.
    Lost,
}
