//! One run of one check on one commit.

use std::fmt;

use crate::{Exit, report::Report, text::Label};

/// How a run ended, as the sandbox saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    /// By a signal that nobody of us sent.
    Killed(i32),
    TimedOut,
    OutOfMemory,
    /// It never began: the sandbox was lost, or the setup failed.
    NotRun(Label),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub ended: Ended,
    pub report: Report,
}

/// What a run is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Passed,
    Failed,
    /// It was ended from outside, so what it did not say is not known.
    Stopped,
    NotRun,
}

impl From<Exit> for Ended {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Code(code) => Self::Exited(code),
            Exit::Signal(signal) => Self::Killed(signal),
            Exit::TimedOut => Self::TimedOut,
        }
    }
}

impl Run {
    pub(super) fn state(&self) -> State {
        match self.ended {
            Ended::Exited(0) => State::Passed,
            // What a shell answers for a command that is not there, or cannot be executed.
            Ended::Exited(126 | 127) if self.report.tests().is_empty() => State::NotRun,
            Ended::Exited(_) => State::Failed,
            Ended::Killed(_) | Ended::TimedOut | Ended::OutOfMemory => State::Stopped,
            Ended::NotRun(_) => State::NotRun,
        }
    }

    /// Whether it began at all. One that did not says something about the machine, and nothing about the code.
    pub fn was_run(&self) -> bool {
        self.state() != State::NotRun
    }

    /// How many tests it ran, skipped ones included.
    pub(super) fn tests(&self) -> u64 {
        let tests = self.report.counts().tests;
        tests.passed.saturating_add(tests.failed).saturating_add(tests.skipped)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(0) => f.write_str("passed"),
            Self::Exited(127) => f.write_str("command not found"),
            Self::Exited(126) => f.write_str("command cannot be executed"),
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "killed by signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::NotRun(why) => write!(f, "not run: {why}"),
        }
    }
}
