//! Who somebody is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A human being.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Person {
    #[schema(example = "u_00000000000000000000000001")]
    pub id: String,
    /// What they are called, where this server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
