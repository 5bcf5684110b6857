//! A whole small world for tests.
//!
//! ```text
//!  script ──▶ world: sandboxes · agents · forges · channels · secrets ──▶ ledger (files)
//!  people ──▶ approve, answer, merge                                       │
//!  inspect ◀── what must be true in the end ◀── store ◀────────────────────┘
//! ```
//!
//! The outside ([`world`]) is scripted, but it is *outside*: what it did lies in a [`ledger`] of files
//! that outlives the engine's process, so that a test can kill the engine anywhere and then count what
//! really happened. PostgreSQL ([`postgres`]) and the way to a git host ([`ssh`]) are real. So are the coding agents that talk to the scripted [`model`].

pub mod clock;
pub mod ids;
pub mod inspect;
pub mod ledger;
pub mod model;
pub mod nobody;
pub mod people;
pub mod postgres;
pub mod script;
pub mod shell;
pub mod ssh;
pub mod world;

use domain::{
    code::Access,
    id::PersonId,
    people::{Person, Role},
    request::{ChannelKind, RepositoryUse, Request, Source, Trigger, Triggerer},
};

/// The person who asks.
pub fn ann() -> Person {
    Person { id: PersonId::from_u128(1), role: Role::Delegator, teams: [].into() }
}

/// The person who approves.
pub fn bob() -> Person {
    Person { id: PersonId::from_u128(2), role: Role::Maintainer, teams: [].into() }
}

/// What Ann asks for in `repository`, already accepted. Its text is a [`script::Script`].
pub fn request(repository: &str, text: &str) -> anyhow::Result<Request> {
    Ok(Request::freeze(trigger(repository, text)?, &[])?)
}

/// The same, as a door sees it.
pub fn trigger(repository: &str, text: &str) -> anyhow::Result<Trigger> {
    Ok(Trigger {
        by: Triggerer::Person(ann()),
        text: text.to_owned(),
        source: Source { channel: ChannelKind::Cli, thread: "terminal".to_owned() },
        repositories: vec![RepositoryUse { name: repository.parse()?, access: Access::Write }],
        agent: "scripted".parse()?,
        definition: None,
        model: None,
        quotes: Vec::new(),
        parent: None,
    })
}
