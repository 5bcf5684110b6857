//! From where a request to GitHub's REST interface opens a pull request.

use crate::{
    ask::said::{Origin, Said},
    strict_json,
};

use super::branch_in;

/// Reads the body of `POST …/pulls`.
pub fn read(body: &[u8]) -> Said {
    let value = match strict_json::read(body) {
        Ok(value) => value,
        Err(error) => return Said::unreadable(&format!("the body is not plain JSON: {error}")),
    };
    // `head_repo` would take the branch from somewhere else, `issue` would turn another person's issue into a pull request.
    let elsewhere = value.get("head_repo").is_some() || value.get("issue").is_some();
    Said::PullRequest(if elsewhere { Origin::Elsewhere } else { branch_in(value.get("head")) })
}
