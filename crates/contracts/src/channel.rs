//! Where people ask and answer.

use std::future::Future;

use domain::{plan::PlanHash, question::Question, request::Source};

use crate::Key;

pub trait Channels: Send + Sync + 'static {
    /// Tells the person, in the thread that the task came from.
    ///
    /// A repeated key tells once. A notice that is older than one already told in the same thread
    /// does not replace it.
    fn tell(&self, notice: &Notice) -> impl Future<Output = Result<(), ChannelError>> + Send;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub key: Key,
    pub to: Source,
    pub news: News,
    /// One or a few sentences, ready to be shown.
    pub text: String,
}

/// What kind of news it is, for channels that have buttons, colours or webhooks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Accepted,
    Question(Question),
    PlanReady { plan: PlanHash },
    Paused,
    PullRequestOpen { number: u64 },
    Done,
    Failed,
    Cancelled,
}

impl News {
    /// The name of the outgoing webhook: `task.plan_ready`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "task.accepted",
            Self::Question(_) => "task.question",
            Self::PlanReady { .. } => "task.plan_ready",
            Self::Paused => "task.paused",
            Self::PullRequestOpen { .. } => "task.pull_request_open",
            Self::Done => "task.completed",
            Self::Failed => "task.failed",
            Self::Cancelled => "task.cancelled",
        }
    }

    /// After these, nothing more comes (unless someone retries).
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Done | Self::Failed | Self::Cancelled => true,
            Self::Accepted
            | Self::Question(_)
            | Self::PlanReady { .. }
            | Self::Paused
            | Self::PullRequestOpen { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("the channel cannot be reached now: {reason}")]
    Busy { reason: String },
    /// The thread is gone, or the right to write there. Trying again is of no use.
    #[error("nobody can be told there: {reason}")]
    Gone { reason: String },
}
