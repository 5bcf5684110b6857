//! What requests to GitHub say in their bodies. Which of it a task may do is for the broker to know.
//!
//! | module | what it is for |
//! |---|---|
//! | [`document`] | the language of GraphQL, read strictly |
//! | [`graphql`] | one operation, as the names of its root fields |
//! | [`pull_request`] | from where REST opens a pull request |

pub mod document;
pub mod graphql;
pub mod pull_request;

#[cfg(test)]
mod document_tests;

use serde_json::Value;

use crate::ask::said::{BRANCH_LIMIT, Origin};

/// The branch that a head names. One that is longer than any, or on two lines, is none.
fn branch(head: &str) -> Origin {
    if head.len() > BRANCH_LIMIT || head.chars().any(char::is_control) {
        return Origin::Nothing;
    }
    Origin::Branch(head.to_owned())
}

fn branch_in(head: Option<&Value>) -> Origin {
    head.and_then(Value::as_str).map_or(Origin::Nothing, branch)
}
