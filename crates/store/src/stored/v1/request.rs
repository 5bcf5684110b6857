//! What a person asked for.

use domain::{
    agent::AgentName,
    code::{Access, RepositoryName},
    id::{PersonId, TaskId},
    people::Role,
    request::ChannelKind,
};

use crate::stored::text::Text;

record! {
    Request of domain::request::Request {
        text: String,
        author: Text<PersonId>,
        role: Text<Role>,
        source: Source,
        repositories: Vec<RepositoryUse>,
        agent: Text<AgentName>,
        model: Option<String>,
        quotes: Vec<Quote>,
        parent: Option<Text<TaskId>>,
    }
}

record! {
    Source of domain::request::Source { channel: Text<ChannelKind>, thread: String }
}

record! {
    RepositoryUse of domain::request::RepositoryUse {
        name: Text<RepositoryName>,
        access: Text<Access>,
    }
}

record! {
    Quote of domain::request::Quote { author: String, text: String }
}
