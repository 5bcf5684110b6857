//! Why a base cannot be used.

use std::{io, path::Path};

#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// What is asked for is wrong, or hostile. Asking again changes nothing.
    #[error("{0}")]
    Refused(String),
    /// This host failed: a full disk, a missing right.
    #[error("{doing}")]
    Host {
        doing: String,
        #[source]
        source: io::Error,
    },
    /// The registry did not answer as it should. Asking again may help.
    #[error("the registry did not give `{asked}`: {reason}")]
    Registry { asked: String, reason: String },
}

impl BaseError {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }

    /// For `map_err`: the host failed while doing this to a path.
    pub(crate) fn host(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let doing = format!("cannot {doing} `{}`", path.display());
        move |source| Self::Host { doing, source }
    }

    /// A stranger's text, so that it can stand in a sentence: without control characters, and not too long.
    pub(crate) fn shown(text: impl std::fmt::Display) -> String {
        const LONGEST: usize = 200;
        let text = text.to_string();
        let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push('…');
        }
        shown
    }

    /// The whole chain in one line, for a person.
    pub fn sentence(&self) -> String {
        match self {
            Self::Host { doing, source } => format!("{doing}: {source}"),
            Self::Refused(_) | Self::Registry { .. } => self.to_string(),
        }
    }
}
