//! One program that was started.

use std::{rc::Rc, time::Instant};

use guest::protocol::Ending;
use rustix::process::Pid;

use crate::{program::ProgramEnds, supervisor::Slot, sweep::Sweep};

/// A program and its supervisor.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) slot: Rc<Slot>,
    pub(crate) supervisor: Pid,
    /// Held until it runs.
    pub(crate) ends: Option<ProgramEnds>,
    pub(crate) program: Option<Pid>,
    pub(crate) early: Vec<i32>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) killing: Option<Killing>,
    pub(crate) terminal: bool,
    /// What it leaves behind goes with it.
    pub(crate) sweeps: bool,
}

#[derive(Debug)]
pub(crate) struct Killing {
    pub(crate) why: Ending,
    pub(crate) sweep: Sweep,
}

impl Running {
    pub(crate) fn has_terminal(&self) -> bool {
        self.terminal
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.killing {
            Some(killing) => Some(killing.sweep.due()),
            None => self.deadline,
        }
    }
}
