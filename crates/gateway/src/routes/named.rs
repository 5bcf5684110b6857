//! Names that are written into addresses and queries.

use domain::code::RepositoryName;

use crate::{extract::bad, problem::Answer};

/// A repository's.
pub(crate) fn repository(name: &str) -> Answer<RepositoryName> {
    name.parse().map_err(|error: domain::code::CodeNameError| bad(error.to_string()))
}
