//! Why a call did not come back with what was asked for.

use crate::error::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no server answers at `{at}`")]
    NoServer { at: String, source: std::io::Error },
    /// The server said no, in its own words.
    #[error(transparent)]
    Refused(Problem),
    #[error("the connection to the server broke: {reason}")]
    Broken { reason: String },
    #[error("the server's answer cannot be understood: {reason}")]
    Strange { reason: String },
}

impl ClientError {
    pub(super) fn strange(error: &impl std::fmt::Display) -> Self {
        Self::Strange { reason: error.to_string() }
    }

    pub(super) fn broken(error: &impl std::fmt::Display) -> Self {
        Self::Broken { reason: error.to_string() }
    }

    /// What the server refused, if it did.
    pub const fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            Self::NoServer { .. } | Self::Broken { .. } | Self::Strange { .. } => None,
        }
    }
}
