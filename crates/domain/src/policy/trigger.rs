//! What may start a task, and which bots may.

use std::{collections::BTreeSet, fmt};

/// The places that a task can start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TriggerKind {
    Cli,
    Web,
    Api,
    SlackMention,
    SlackCommand,
    GithubMention,
    GithubLabel,
    GithubAssign,
    LinearMention,
    LinearLabel,
    LinearAssign,
    CheckFailed,
    Cron,
    Webhook,
}

impl TriggerKind {
    pub const ALL: [Self; 14] = [
        Self::Cli,
        Self::Web,
        Self::Api,
        Self::SlackMention,
        Self::SlackCommand,
        Self::GithubMention,
        Self::GithubLabel,
        Self::GithubAssign,
        Self::LinearMention,
        Self::LinearLabel,
        Self::LinearAssign,
        Self::CheckFailed,
        Self::Cron,
        Self::Webhook,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Web => "web",
            Self::Api => "api",
            Self::SlackMention => "slack.mention",
            Self::SlackCommand => "slack.command",
            Self::GithubMention => "github.mention",
            Self::GithubLabel => "github.label",
            Self::GithubAssign => "github.assign",
            Self::LinearMention => "linear.mention",
            Self::LinearLabel => "linear.label",
            Self::LinearAssign => "linear.assign",
            Self::CheckFailed => "check.failed",
            Self::Cron => "cron",
            Self::Webhook => "webhook",
        }
    }
}

impl fmt::Display for TriggerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The triggers that are listened to. Bots are refused unless named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triggers {
    pub kinds: BTreeSet<TriggerKind>,
    pub bots: BTreeSet<String>,
}

impl Triggers {
    /// Every place, and no bot.
    pub fn people_everywhere() -> Self {
        Self { kinds: BTreeSet::from(TriggerKind::ALL), bots: BTreeSet::new() }
    }

    #[must_use]
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.intersection(&other.kinds).copied().collect(),
            bots: self.bots.intersection(&other.bots).cloned().collect(),
        }
    }
}
