//! The sockets that the outside plugs into, each with the promises it must keep.
//!
//! | socket | what plugs in | promises |
//! |---|---|---|
//! | [`sandbox`] | namespaces, gVisor, pods | [`promises::sandbox`] |
//! | [`agent`] | Claude Code, Codex, any ACP agent, a command | [`promises::agent`] |
//! | [`forge`] | plain git, GitHub | [`promises::forge`] |
//! | [`channel`] | Slack, Linear, GitHub comments, webhooks | [`promises::channel`] |
//! | [`outfit`] | the server's files: agents, images, networks, checks | its own tests, in `server` |
//! | [`order`] | the server's files and repositories: what a task is given to go by | its own tests, in `server` |
//! | [`secret`] | the sealed store, a file, a vault | [`promises::secret`] |
//! | [`egress`] | the gateway that carries what leaves a sandbox | its own tests, in `egress` |
//! | [`clock`], [`ids`] | the system, or a test's hand | [`promises::clock`], [`promises::ids`] |
//!
//! One rule holds for all: **a call may be repeated**. The engine may have crashed before it heard the
//! answer, so every call that changes something carries a [`Key`], and the second call with a key
//! gets the answer of the first instead of doing it twice.

pub mod agent;
pub mod channel;
pub mod clock;
pub mod compiled;
pub mod egress;
pub mod forge;
pub mod ids;
pub mod order;
pub mod outfit;
mod owner;
pub mod promises;
pub mod sandbox;
pub mod secret;

use std::fmt;

use domain::id::TaskId;

/// Which step of which task asks, and for which part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub task: TaskId,
    /// The event that asked for the step.
    pub seq: u64,
    /// The part of the step, where one step makes several calls.
    pub part: &'static str,
    /// Which one, where it makes the same call several times.
    pub number: u32,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.task, self.seq, self.part, self.number)
    }
}
