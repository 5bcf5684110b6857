//! One file operation that is under way.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// How long a child has to tidy up when it is killed.
const TIDYING: Duration = Duration::from_millis(500);

/// A child, and where it says why it failed.
#[derive(Debug)]
pub(crate) struct FileJob {
    pub(crate) child: Pid,
    /// Where the child says why it failed.
    pub(crate) failure: OwnedFd,
    /// Killed without asking again at this time.
    pub(crate) deadline: Option<Instant>,
}

impl FileJob {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn kill(&mut self) {
        let _gone = kill_process(self.child, Signal::TERM);
        self.deadline = Instant::now().checked_add(TIDYING);
    }

    pub(crate) fn kill_hard(&mut self) {
        let _gone = kill_process(self.child, Signal::KILL);
        self.deadline = Instant::now().checked_add(TIDYING);
    }
}
