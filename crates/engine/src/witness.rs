//! Someone who watches the engine work: metrics, traces, and tests that end it at the worst moment.

use std::fmt;

use domain::{id::TaskId, task::Step};

/// A moment in the life of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Claimed {
        task: TaskId,
        seq: u64,
        step: Step,
    },
    /// The outside has done it; the outcome is not written yet.
    Done {
        task: TaskId,
        seq: u64,
        step: Step,
    },
    /// The task now has `seq` events.
    Appended {
        task: TaskId,
        seq: u64,
    },
    PutBack {
        task: TaskId,
        seq: u64,
        step: Step,
        attempt: u32,
    },
}

pub trait Witness: fmt::Debug + Send + Sync {
    fn sees(&self, moment: Moment);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Witness for Unwatched {
    fn sees(&self, _moment: Moment) {}
}
