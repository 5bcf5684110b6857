//! What a person asked for.

use domain::{
    agent::AgentName,
    code::{Access, RepositoryName},
    id::{PersonId, TaskId},
    people::Role,
    request::ChannelKind,
};

use crate::stored::{shape::Shape, text::Text};

macro_rules! request {
    ($($field:ident: $shape:ty),+ $(,)?) => {
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::stored) struct Request {
            $(
                #[serde(deserialize_with = "serde::Deserialize::deserialize")]
                $field: $shape,
            )+
        }

        impl Shape for Request {
            type Of = domain::request::Request;

            fn of(value: &Self::Of) -> Self {
                // The second version has the definition beside this.
                let domain::request::Request { $($field,)+ definition: _ } = value;
                Self { $($field: Shape::of($field)),+ }
            }

            fn value(self) -> Self::Of {
                domain::request::Request { definition: None, $($field: self.$field.value()),+ }
            }
        }
    };
}
request! {
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
