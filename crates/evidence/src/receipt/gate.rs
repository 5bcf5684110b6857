//! Who asked, and who allowed what.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    approval::Conditions,
    digest::Digest,
    money::Money,
    plan::PlanHash,
    request::{ChannelKind, Request},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{Who, spelling};
use crate::visible::line;

/// The request, by the hash of its frozen text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    pub author: Who,
    /// The door that it came through.
    #[serde(with = "door")]
    pub channel: ChannelKind,
    /// SHA-256 of the text, as it was frozen.
    #[serde(with = "spelling::plain")]
    pub text: Digest,
}

impl Asked {
    /// `name` is what the author of `request` goes by.
    pub fn of(request: &Request, name: &str) -> Self {
        Self {
            author: Who::new(request.author, name),
            channel: request.source.channel,
            text: Digest::of(request.text.as_bytes()),
        }
    }
}

/// A door is spelt as [`ChannelKind::name`] says it.
mod door {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::ChannelKind;

    const ALL: [ChannelKind; 8] = [
        ChannelKind::Cli,
        ChannelKind::Web,
        ChannelKind::Api,
        ChannelKind::Slack,
        ChannelKind::GitHub,
        ChannelKind::Linear,
        ChannelKind::Schedule,
        ChannelKind::Webhook,
    ];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
    pub(super) fn serialize<S: Serializer>(
        kind: &ChannelKind,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ChannelKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("there is no door `{name}`")))
    }
}

/// The approval of one exact plan, and what was allowed beyond it later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedBy {
    pub by: Who,
    #[serde(with = "spelling::instant")]
    pub at: Timestamp,
    /// The plan that was read when it was approved.
    #[serde(with = "spelling::plain")]
    pub plan: PlanHash,
    #[serde(with = "conditions")]
    pub conditions: Conditions,
    /// In the order in which they were given.
    pub amendments: Vec<Amended>,
}

/// Other conditions than those of the approval, given while the work went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Amended {
    pub by: Who,
    #[serde(with = "spelling::instant")]
    pub at: Timestamp,
    #[serde(with = "conditions")]
    pub conditions: Conditions,
}

/// What had the task go on after the approval. The words themselves are in the task's events, and on the pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FollowUp {
    pub kind: FollowUpKind,
    /// What they call themselves; of a check, what it is called.
    pub by: String,
    /// Whether the server knows that it was them. Who is not known was quoted to the agent, and instructed nobody.
    pub known: bool,
    #[serde(with = "spelling::instant")]
    pub at: Timestamp,
    /// SHA-256 of what was said; of a check, of its name.
    #[serde(with = "spelling::plain")]
    pub words: Digest,
}

impl FollowUp {
    /// Names come from outside: letters that nobody sees are taken out, and what is too long is cut.
    #[must_use]
    pub fn named(self, by: &str) -> Self {
        Self { by: line(by, Who::NAME_LIMIT), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpKind {
    /// A person told the task itself.
    Message,
    Comment,
    Review,
    FailedCheck,
}

impl FollowUpKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Comment => "comment",
            Self::Review => "review",
            Self::FailedCheck => "failed check",
        }
    }
}

/// How conditions are spelt; `null` is "whatever the policy allows".
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Shape {
    paths: Option<BTreeSet<String>>,
    hosts: Option<BTreeSet<String>>,
    commands: Option<BTreeSet<String>>,
    budget_micros: Option<u64>,
    time_millis: Option<u64>,
}

mod conditions {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{Conditions, Duration, Money, Shape};

    pub(super) fn serialize<S: Serializer>(
        conditions: &Conditions,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Conditions { paths, hosts, commands, budget, time } = conditions.clone();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Shape {
            paths,
            hosts,
            commands,
            budget_micros: budget.map(Money::as_micros),
            time_millis: time.map(millis),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Conditions, D::Error> {
        let Shape { paths, hosts, commands, budget_micros, time_millis } =
            Shape::deserialize(deserializer)?;
        Ok(Conditions {
            paths,
            hosts,
            commands,
            budget: budget_micros.map(Money::from_micros),
            time: time_millis.map(Duration::from_millis),
        })
    }
}
