//! A person, as the server knew them when they acted.

use domain::id::PersonId;
use serde::{Deserialize, Serialize};

use super::spelling;
use crate::visible::line;

/// The id counts; the name is for people who read, and was chosen by whoever has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Who {
    #[serde(with = "spelling::plain")]
    pub id: PersonId,
    pub name: String,
}

impl Who {
    /// Bytes of a name.
    pub const NAME_LIMIT: usize = 200;

    /// A name that is too long is cut, and one without letters becomes the id.
    pub fn new(id: PersonId, name: &str) -> Self {
        let name = line(name, Self::NAME_LIMIT);
        let name = if name.is_empty() { id.to_string() } else { name };
        Self { id, name }
    }
}
