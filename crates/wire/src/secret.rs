//! Secrets: set and described, never read back.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A value, and what it may be used for.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    /// 8 to 65,536 bytes. It is sealed, and nothing gives it back.
    #[schema(min_length = 8, max_length = 65_536)]
    pub value: String,
    /// Where its placeholder is swapped for it: `api.example.com`, or `*.example.com` for all below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Where in a request. Left out: the header `authorization`, and Basic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// The agents whose runs may use it. Left out: every run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Whether the value itself may enter a sandbox. Left out: it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expose: Option<Expose>,
    /// What it is for, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value: _, hosts, places, agents, expose, note } = self;
        f.debug_struct("SetSecret")
            .field("hosts", hosts)
            .field("places", places)
            .field("agents", agents)
            .field("expose", expose)
            .field("note", note)
            .finish_non_exhaustive()
    }
}

/// A place in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "in", rename_all = "snake_case", deny_unknown_fields)]
pub enum Place {
    Header {
        name: String,
        /// What stands before the value when the gateway writes the header itself, as `Bearer `.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
    },
    /// The user or the password of `Authorization: Basic`.
    Basic,
    /// The value of a parameter in the query.
    Query { name: String },
}

/// How a value may enter a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expose {
    /// As a variable of one process, written down each time.
    Env,
}

/// What is known of a secret. Its value is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    pub name: String,
    pub hosts: Vec<String>,
    pub places: Vec<Place>,
    pub agents: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expose: Option<Expose>,
    pub note: String,
    /// How often its value was set.
    pub version: u64,
    pub created_at_millis: i64,
    pub updated_at_millis: i64,
}

/// All of them, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Secrets {
    pub secrets: Vec<Secret>,
    /// Those that are there and cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenSecret>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BrokenSecret {
    pub name: String,
    pub reason: String,
}

/// A master key was turned over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RotatedKey {
    /// How many secrets have the new one.
    pub secrets: usize,
    /// Why the old one is kept, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_key_kept: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_sent_and_not_printed() {
        let wish = SetSecret { value: "a value".to_owned(), ..SetSecret::default() };
        assert!(!format!("{wish:?}").contains("a value"));
        assert_eq!(serde_json::to_string(&wish).unwrap(), r#"{"value":"a value"}"#);
    }
}
