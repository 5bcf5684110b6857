//! What agents said and did, kept in the order in which it was told (AG3, CX3).
//!
//! ```text
//!  Saying (task, run, speaker, before) ── append ──▶ transcript: 1 2 3 4 5 … ──▶ Said, from any number on
//! ```
//!
//! Everybody who watches a task reads the same list, and goes on after the last number that it has seen. A run that is
//! repeated after a crash adds to what its first attempt said; both stay, told apart by [`Said::attempt`].
//!
//! **Invariants:** numbers have no gaps. What a speaker hands over twice is kept once. A task keeps no more than its limit,
//! and one event says where that was reached.

use domain::{id::TaskId, time::Timestamp, transcript::AgentEvent};

/// Bytes that the transcript of one task may take, where nobody says otherwise.
pub(crate) const LIMIT: u64 = 64 * 1024 * 1024;

/// Bytes beyond the limit that are left for what must not be missed.
pub(crate) const RESERVE: u64 = 16 * 1024 * 1024;

/// What a row takes besides its body, so that many small ones have a limit too.
pub(crate) const ROW: u64 = 128;

/// Events of one attempt at a run, to be added to the task's transcript.
#[derive(Debug, Clone)]
pub struct Saying {
    pub task: TaskId,
    /// The number of the event that asked for the run: the `seq` of its key.
    pub run: u64,
    /// Who tells: one for each attempt, never used before. It makes a repeated call harmless.
    pub speaker: u128,
    /// How many events this speaker has handed over before these.
    pub before: u64,
    pub events: Vec<(Timestamp, AgentEvent)>,
}

/// One event of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// From 1, without gaps, through the whole task.
    pub number: u64,
    pub run: u64,
    /// From 1, through the whole task: another attempt has another number, also at the same run.
    pub attempt: u64,
    pub at: Timestamp,
    pub event: AgentEvent,
}

/// What an agent was told, word for word (CX3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    pub run: u64,
    pub attempt: u64,
    pub at: Timestamp,
    /// Each thing that it was told, whole.
    pub texts: Vec<String>,
}

/// What is kept when a transcript is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// Nothing more.
    Ordinary,
    /// As long as there is some of the [`RESERVE`].
    Dear,
    /// Always. There is one for each attempt.
    Last,
}

impl Worth {
    pub(crate) const fn of(event: &AgentEvent) -> Self {
        match event {
            AgentEvent::Finished { .. } => Self::Last,
            AgentEvent::Question { .. } | AgentEvent::Usage(_) => Self::Dear,
            AgentEvent::Briefed { .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Message { .. }
            | AgentEvent::Thought { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::FileChanged { .. }
            | AgentEvent::Todo { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Trouble { .. } => Self::Ordinary,
        }
    }

    /// How many bytes a transcript may have with something of this worth added to it.
    pub(crate) const fn most(self, limit: u64) -> u64 {
        match self {
            Self::Ordinary => limit,
            Self::Dear => limit.saturating_add(RESERVE),
            Self::Last => u64::MAX,
        }
    }
}

/// The event that says that a transcript is full.
pub(crate) fn full(limit: u64) -> AgentEvent {
    let text = format!(
        "the transcript of this task is full ({} KiB): from here on only questions, usage and endings are kept",
        limit / 1024
    );
    AgentEvent::Trouble { text }
}
