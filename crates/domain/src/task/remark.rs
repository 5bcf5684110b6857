//! What somebody says on an open pull request, and what of that a task has heard.
//!
//! Whoever says it chose a name for it, and a forge keeps it as long as the pull request. So a task that remembers names hears each once,
//! however often it looks, and misses none that was written while nobody looked (PL10).

use crate::code::CommitId;

/// A comment or a review, in somebody's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub kind: RemarkKind,
    /// Its own, among those of its kind on the pull request.
    pub name: String,
    /// What they call themselves.
    pub by: String,
    pub speaker: Speaker,
    pub text: String,
}

/// Whether somebody is who they say. Whoever may write where a forge keeps pull requests can write any name there: only what is known to have
/// come through the platform's own doors instructs anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Speaker {
    Known,
    Unproven,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RemarkKind {
    Comment,
    Review,
}

/// Something on the pull request that has woken the task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard {
    Remark {
        kind: RemarkKind,
        name: String,
    },
    /// That a check failed on this commit.
    Check {
        head: CommitId,
        check: String,
    },
}

impl Remark {
    pub fn heard(&self) -> Heard {
        Heard::Remark { kind: self.kind, name: self.name.clone() }
    }
}
