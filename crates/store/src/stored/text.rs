//! Ids, hashes, names and words: values that are stored as the text people know them by.

use domain::{
    agent::AgentName,
    approval::FourEyes,
    code::{Access, CommitId, RepositoryName},
    definition::Definition,
    digest::Digest,
    failure::FailureKind,
    finding::FindingId,
    id::{PersonId, QuestionId, SandboxId, TaskId},
    people::{Role, TeamName},
    phase::Phase,
    plan::PlanHash,
    request::ChannelKind,
    task::{DoneBecause, Speaker},
    transcript::{TodoState, ToolKind, ToolStatus, Verdict},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::shape::Shape;

/// The stored shape of a `T` that prints as text and parses from it.
#[derive(Debug)]
pub(super) struct Text<T>(T);

/// A value and its one spelling. Whatever `print` gives, `parse` takes.
pub(super) trait Printed: Clone {
    fn print(&self) -> String;
    fn parse(text: &str) -> Result<Self, String>;
}

/// A value out of a few, each with its own word.
pub(super) trait Word: Sized {
    fn word(&self) -> &'static str;
    fn from_word(word: &str) -> Option<Self>;
}

/// One table for both directions: a new variant does not compile until it has a word, and a word
/// that is written can be read.
macro_rules! words {
    ($($name:ident { $($word:literal = ($($value:tt)+),)+ })+) => {$(
        impl $crate::stored::text::Word for $name {
            fn word(&self) -> &'static str {
                match self { $($($value)+ => $word,)+ }
            }

            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($($value)+),)+
                    _unknown => None,
                }
            }
        }
    )+};
}
pub(super) use words;

words! {
    Access { "read" = (Self::Read), "write" = (Self::Write), }
    FourEyes { "required" = (Self::Required), "not_required" = (Self::NotRequired), }
    ChannelKind {
        "cli" = (Self::Cli),
        "web" = (Self::Web),
        "api" = (Self::Api),
        "slack" = (Self::Slack),
        "github" = (Self::GitHub),
        "linear" = (Self::Linear),
        "schedule" = (Self::Schedule),
        "webhook" = (Self::Webhook),
    }
    DoneBecause {
        "merged" = (Self::Merged),
        "pull_request_closed" = (Self::PullRequestClosed),
        "taken_over" = (Self::TakenOver),
    }
    Speaker { "known" = (Self::Known), "unproven" = (Self::Unproven), }
    ToolKind {
        "read" = (Self::Read),
        "edit" = (Self::Edit),
        "search" = (Self::Search),
        "execute" = (Self::Execute),
        "fetch" = (Self::Fetch),
        "think" = (Self::Think),
        "other" = (Self::Other),
    }
    ToolStatus {
        "running" = (Self::Running),
        "done" = (Self::Done),
        "failed" = (Self::Failed),
    }
    TodoState {
        "waiting" = (Self::Waiting),
        "doing" = (Self::Doing),
        "done" = (Self::Done),
    }
    Verdict { "allowed" = (Self::Allowed), "denied" = (Self::Denied), }
}

macro_rules! printed_as_shown {
    ($($name:ty),+ $(,)?) => {$(
        impl Printed for $name {
            fn print(&self) -> String {
                self.to_string()
            }

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error| format!("{error}"))
            }
        }
    )+};
}
printed_as_shown!(
    AgentName,
    CommitId,
    Definition,
    Digest,
    FindingId,
    PersonId,
    Phase,
    PlanHash,
    QuestionId,
    RepositoryName,
    SandboxId,
    TaskId,
    Role,
);

macro_rules! printed_as_a_word {
    ($($name:ty),+) => {$(
        impl Printed for $name {
            fn print(&self) -> String {
                self.word().to_owned()
            }

            fn parse(text: &str) -> Result<Self, String> {
                Self::from_word(text).ok_or_else(|| format!("unknown word `{text}`"))
            }
        }
    )+};
}
printed_as_a_word!(
    Access,
    FourEyes,
    ChannelKind,
    DoneBecause,
    Speaker,
    ToolKind,
    ToolStatus,
    TodoState,
    Verdict
);

impl Printed for FailureKind {
    fn print(&self) -> String {
        self.name().to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().copied().find(|kind| kind.name() == text);
        named.ok_or_else(|| format!("there is no failure `{text}`"))
    }
}

impl Printed for TeamName {
    fn print(&self) -> String {
        self.as_str().to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error| format!("{error}"))
    }
}

impl<T: Printed> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.print())
    }
}

impl<'de, T: Printed> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::parse(&text).map(Self).map_err(D::Error::custom)
    }
}

impl<T: Printed> Shape for Text<T> {
    type Of = T;

    fn of(value: &T) -> Self {
        Self(value.clone())
    }

    fn value(self) -> T {
        self.0
    }
}
