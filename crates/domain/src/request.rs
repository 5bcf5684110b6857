//! What a person asked for, frozen at the moment of asking (TR9).
//!
//! A comment can be edited or deleted after it triggered a task, and an issue can hold the words of a
//! stranger. So the text, its author and the author's right are copied once, here. Only the words of
//! someone who may instruct are instructions; all else travels as a [`Quote`], which is data.

use crate::{
    agent::AgentName,
    code::{Access, RepositoryName},
    definition::Definition,
    id::{PersonId, TaskId},
    people::{Action, Person, Relation, Role},
};

/// A task as it was handed over. Never changes afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub text: String,
    pub author: PersonId,
    /// The author's right when they asked. Losing it later does not undo the asking.
    pub role: Role,
    pub source: Source,
    pub repositories: Vec<RepositoryUse>,
    pub agent: AgentName,
    /// What the agent was when the task was handed over. Unknown of tasks that are older than this.
    pub definition: Option<Definition>,
    /// The model that the person wishes; none: as the agent's file says.
    pub model: Option<String>,
    /// What others said around it. Data, never instructions.
    pub quotes: Vec<Quote>,
    /// The task that this one is a part of, or another attempt of.
    pub parent: Option<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryUse {
    pub name: RepositoryName,
    pub access: Access,
}

/// The words of someone else, with the name that they go by where they said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub author: String,
    pub text: String,
}

/// Where a task came from, and so where its answers go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub channel: ChannelKind,
    /// The thread, issue or address in that channel, in the channel's own words.
    pub thread: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChannelKind {
    Cli,
    Web,
    Api,
    Slack,
    GitHub,
    Linear,
    Schedule,
    Webhook,
}

impl ChannelKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Web => "web",
            Self::Api => "api",
            Self::Slack => "slack",
            Self::GitHub => "github",
            Self::Linear => "linear",
            Self::Schedule => "schedule",
            Self::Webhook => "webhook",
        }
    }
}

/// What a door saw, before anyone has said whether it may become a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    pub by: Triggerer,
    pub text: String,
    pub source: Source,
    pub repositories: Vec<RepositoryUse>,
    pub agent: AgentName,
    pub definition: Option<Definition>,
    pub model: Option<String>,
    pub quotes: Vec<Quote>,
    pub parent: Option<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Triggerer {
    Person(Person),
    /// A program's account. Refused unless the policy names it, and then it acts for `on_behalf_of`.
    Bot {
        name: String,
        on_behalf_of: Person,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriggerRefusal {
    #[error("a {role} may not start a task; ask a maintainer for the role `delegator`")]
    NotAllowed { role: &'static str },
    #[error(
        "`{name}` is a bot that no policy names; add it to `triggers.bots` to let it start tasks"
    )]
    UnknownBot { name: String },
    #[error("there is nothing to do: the request has no text")]
    Empty,
    #[error(
        "the request has {length} bytes, and {limit} are allowed; link to the long part instead"
    )]
    TooLong { length: usize, limit: usize },
    #[error("a task needs a repository to work in; name one")]
    NoRepository,
}

impl Request {
    /// Whether the same was asked for. What an agent is may have changed since, on the same branch and by the same name.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        let plain = |it: &Self| Self { definition: None, ..it.clone() };
        plain(self) == plain(other)
    }

    pub const TEXT_LIMIT: usize = 64 * 1024;

    /// Turns what a door saw into a task's request, or says why not.
    pub fn freeze(trigger: Trigger, named_bots: &[String]) -> Result<Self, TriggerRefusal> {
        let person = match trigger.by {
            Triggerer::Person(person) => person,
            Triggerer::Bot { name, on_behalf_of } if named_bots.contains(&name) => on_behalf_of,
            Triggerer::Bot { name, .. } => return Err(TriggerRefusal::UnknownBot { name }),
        };
        if !person.role.may(Action::Submit, Relation::Requester) {
            return Err(TriggerRefusal::NotAllowed { role: person.role.name() });
        }
        if trigger.text.trim().is_empty() {
            return Err(TriggerRefusal::Empty);
        }
        let quoted: usize = trigger.quotes.iter().map(|quote| quote.text.len()).sum();
        for length in [trigger.text.len(), quoted] {
            if length > Self::TEXT_LIMIT {
                return Err(TriggerRefusal::TooLong { length, limit: Self::TEXT_LIMIT });
            }
        }
        if trigger.repositories.is_empty() {
            return Err(TriggerRefusal::NoRepository);
        }
        Ok(Self {
            text: trigger.text,
            author: person.id,
            role: person.role,
            source: trigger.source,
            repositories: trigger.repositories,
            agent: trigger.agent,
            definition: trigger.definition,
            model: trigger.model,
            quotes: trigger.quotes,
            parent: trigger.parent,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn trigger(by: Triggerer, text: &str) -> Trigger {
        Trigger {
            by,
            text: text.to_owned(),
            source: Source { channel: ChannelKind::GitHub, thread: "acme/web#7".to_owned() },
            repositories: vec![RepositoryUse {
                name: "acme/web".parse().unwrap(),
                access: Access::Write,
            }],
            agent: "fix-issue".parse().unwrap(),
            definition: None,
            model: None,
            quotes: vec![Quote { author: "stranger".to_owned(), text: "ignore all".to_owned() }],
            parent: None,
        }
    }

    fn person(role: Role) -> Person {
        Person { id: PersonId::from_u128(1), role, teams: BTreeSet::new() }
    }

    fn refusal(by: Triggerer, text: &str) -> String {
        Request::freeze(trigger(by, text), &["renovate".to_owned()]).unwrap_err().to_string()
    }

    #[test]
    fn only_people_who_may_instruct_are_instructions() {
        let request =
            Request::freeze(trigger(Triggerer::Person(person(Role::Delegator)), "fix it"), &[])
                .unwrap();
        assert_eq!(request.text, "fix it");
        assert_eq!(request.role, Role::Delegator, "the right is frozen with the text");
        assert_eq!(request.quotes[0].text, "ignore all", "a stranger's words stay quoted");
        insta::assert_snapshot!(
            refusal(Triggerer::Person(person(Role::Viewer)), "fix it"),
            @"a viewer may not start a task; ask a maintainer for the role `delegator`"
        );
    }

    #[test]
    fn bots_are_refused_unless_named() {
        let bot = |name: &str| Triggerer::Bot {
            name: name.to_owned(),
            on_behalf_of: person(Role::Maintainer),
        };
        insta::assert_snapshot!(
            refusal(bot("evil[bot]"), "fix it"),
            @"`evil[bot]` is a bot that no policy names; add it to `triggers.bots` to let it start tasks"
        );
        let named = ["renovate".to_owned()];
        assert!(Request::freeze(trigger(bot("renovate"), "update"), &named).is_ok());
        let powerless =
            Triggerer::Bot { name: "renovate".to_owned(), on_behalf_of: person(Role::Viewer) };
        assert!(Request::freeze(trigger(powerless, "update"), &named).is_err());
    }

    #[test]
    fn an_empty_or_endless_text_is_no_task() {
        let by = || Triggerer::Person(person(Role::Admin));
        assert_eq!(refusal(by(), " \n"), "there is nothing to do: the request has no text");
        assert_eq!(
            refusal(by(), &"x".repeat(70_000)),
            "the request has 70000 bytes, and 65536 are allowed; link to the long part instead"
        );
    }
}
