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

impl TriggerKind {
    /// Whether a person comes in here by themselves, without anyone having set
    /// it up. An agent does not have to name these.
    pub const fn is_door(self) -> bool {
        match self {
            Self::Cli | Self::Web | Self::Api => true,
            Self::SlackMention
            | Self::SlackCommand
            | Self::GithubMention
            | Self::GithubLabel
            | Self::GithubAssign
            | Self::LinearMention
            | Self::LinearLabel
            | Self::LinearAssign
            | Self::CheckFailed
            | Self::Cron
            | Self::Webhook => false,
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

/// What one owner says about triggers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TriggersLayer {
    pub kinds: Option<BTreeSet<TriggerKind>>,
    pub bots: Option<BTreeSet<String>>,
}

impl TriggersLayer {
    /// The layer's words, with the parent's where it is silent.
    pub(super) fn over(&self, parent: &Triggers) -> Triggers {
        Triggers {
            kinds: self.kinds.clone().unwrap_or_else(|| parent.kinds.clone()),
            bots: self.bots.clone().unwrap_or_else(|| parent.bots.clone()),
        }
    }
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
