//! Who is waiting? Readers are told that a task has something new, and then read for themselves.
//!
//! Being told is a courtesy, not a promise: a reader that was too slow, or whose connection broke,
//! hears that it missed something ([`Heard::Missed`]), looks again from the last number that it has
//! seen, and misses nothing.

use domain::id::TaskId;
use tokio::sync::broadcast;

/// Task `task` now has `seq` events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub task: TaskId,
    pub seq: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Changes(broadcast::Sender<Heard>);

/// One reader's ear.
#[derive(Debug)]
pub struct Subscription(broadcast::Receiver<Heard>);

/// What a reader hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Change(Change),
    /// Some were missed: look at everything you care about.
    Missed,
    /// Nothing more will come.
    Closed,
}

impl Change {
    pub(crate) fn message(self) -> String {
        format!("{} {}", self.task, self.seq)
    }

    pub(crate) fn parse(message: &str) -> Option<Self> {
        let (task, seq) = message.split_once(' ')?;
        Some(Self { task: task.parse().ok()?, seq: seq.parse().ok()? })
    }
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(1024).0)
    }

    pub(crate) fn tell(&self, change: Change) {
        // No reader is no mistake.
        let _readers = self.0.send(Heard::Change(change));
    }

    /// For a while nothing could be heard.
    pub(crate) fn tell_of_a_gap(&self) {
        let _readers = self.0.send(Heard::Missed);
    }

    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription(self.0.subscribe())
    }
}

impl Subscription {
    pub async fn next(&mut self) -> Heard {
        match self.0.recv().await {
            Ok(heard) => heard,
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Closed,
        }
    }
}
