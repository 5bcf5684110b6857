//! Whose a sandbox is, and whose network.

use std::fmt;

use domain::id::TaskId;

/// Who pays for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    Task(TaskId),
    Person(String),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => task.fmt(f),
            Self::Person(name) => f.write_str(name),
        }
    }
}
