//! How much a run may use. Every limit is a ceiling; narrowing takes the lower one.

use std::{fmt, time::Duration};

use crate::money::Money;

/// The ceilings of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceilings {
    pub cpu_millis: u64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
    pub processes: u64,
    pub time: Duration,
    pub attempts: u64,
    pub budget: Money,
}

/// The ceilings that one layer speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CeilingsLayer {
    pub cpu_millis: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
    pub processes: Option<u64>,
    pub time: Option<Duration>,
    pub attempts: Option<u64>,
    pub budget: Option<Money>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    Cpu,
    Memory,
    Disk,
    Processes,
    Time,
    Attempts,
    Budget,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Processes => "processes",
            Self::Time => "timeout",
            Self::Attempts => "attempts",
            Self::Budget => "budget",
        })
    }
}

const GIB: u64 = 1 << 30;

impl Ceilings {
    /// The most that the product offers to anyone.
    pub const WIDEST: Self = Self {
        cpu_millis: 16_000,
        memory_bytes: 64 * GIB,
        disk_bytes: 1024 * GIB,
        processes: 65_536,
        time: Duration::from_hours(24),
        attempts: 20,
        budget: Money::from_micros(u64::MAX),
    };

    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            cpu_millis: self.cpu_millis.min(other.cpu_millis),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
            disk_bytes: self.disk_bytes.min(other.disk_bytes),
            processes: self.processes.min(other.processes),
            time: self.time.min(other.time),
            attempts: self.attempts.min(other.attempts),
            budget: self.budget.min(other.budget),
        }
    }
}

impl CeilingsLayer {
    /// The layer's ceilings, with the parent's where it is silent.
    pub(super) fn over(&self, parent: &Ceilings) -> Ceilings {
        Ceilings {
            cpu_millis: self.cpu_millis.unwrap_or(parent.cpu_millis),
            memory_bytes: self.memory_bytes.unwrap_or(parent.memory_bytes),
            disk_bytes: self.disk_bytes.unwrap_or(parent.disk_bytes),
            processes: self.processes.unwrap_or(parent.processes),
            time: self.time.unwrap_or(parent.time),
            attempts: self.attempts.unwrap_or(parent.attempts),
            budget: self.budget.unwrap_or(parent.budget),
        }
    }

    /// The ceilings that lie above the parent's.
    pub(super) fn beyond(&self, parent: &Ceilings) -> Vec<LimitKind> {
        let asked = self.over(parent);
        let pairs = [
            (LimitKind::Cpu, asked.cpu_millis > parent.cpu_millis),
            (LimitKind::Memory, asked.memory_bytes > parent.memory_bytes),
            (LimitKind::Disk, asked.disk_bytes > parent.disk_bytes),
            (LimitKind::Processes, asked.processes > parent.processes),
            (LimitKind::Time, asked.time > parent.time),
            (LimitKind::Attempts, asked.attempts > parent.attempts),
            (LimitKind::Budget, asked.budget > parent.budget),
        ];
        pairs.into_iter().filter(|(_, is_beyond)| *is_beyond).map(|(kind, _)| kind).collect()
    }
}
