//! Which definition of an agent a task works by, written down when the task is handed over.
//!
//! An agent's name alone says little a week later: files change. So a task remembers where its agent was defined, at which commit, and
//! the hash of the very text. **Invariant:** the text of a definition never changes while its task lives; what the server and the
//! organisation say above it may.

use std::{fmt, str::FromStr};

use crate::{
    code::{CommitId, RepositoryName},
    digest::Digest,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Definition {
    /// A program by its own name. No file says more about it.
    BuiltIn,
    /// A file beside the server's `lamp.yaml`.
    Server { file: String, digest: Digest },
    /// A file of the repository that is worked on, on its default branch.
    Repository { repository: RepositoryName, commit: CommitId, file: String, digest: Digest },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not say where an agent is defined")]
pub struct DefinitionError(String);

impl Definition {
    /// Where it comes from, in one word.
    pub const fn origin(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Server { .. } => "server",
            Self::Repository { .. } => "repository",
        }
    }
}

/// `built-in`, `server DIGEST FILE` or `repository NAME COMMIT DIGEST FILE`.
impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.origin();
        match self {
            Self::BuiltIn => f.write_str(origin),
            Self::Server { file, digest } => write!(f, "{origin} {digest} {file}"),
            Self::Repository { repository, commit, file, digest } => {
                write!(f, "{origin} {repository} {commit} {digest} {file}")
            }
        }
    }
}

impl FromStr for Definition {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        read(text).ok_or_else(|| DefinitionError(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Definition> {
    let (origin, rest) = text.split_once(' ').unwrap_or((text, ""));
    let file = |file: &str| (!file.is_empty()).then(|| file.to_owned());
    match origin {
        "built-in" if text == origin => Some(Definition::BuiltIn),
        "server" => {
            let (digest, name) = rest.split_once(' ')?;
            Some(Definition::Server { file: file(name)?, digest: digest.parse().ok()? })
        }
        "repository" => {
            let mut words = rest.splitn(4, ' ');
            let repository = words.next()?.parse().ok()?;
            let (commit, digest) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some(Definition::Repository { repository, commit, digest, file: file(words.next()?)? })
        }
        _other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_an_agent_was_defined_is_read_as_it_was_written() {
        let digest = Digest::of(b"text");
        let all = [
            Definition::BuiltIn,
            Definition::Server { file: "agents/fix.yaml".to_owned(), digest },
            Definition::Repository {
                repository: "acme/web".parse().unwrap(),
                commit: "a".repeat(40).parse().unwrap(),
                file: "agents/with a space.yaml".to_owned(),
                digest,
            },
        ];
        for definition in all {
            assert_eq!(definition.to_string().parse(), Ok(definition));
        }
        for wrong in ["", "built-in x", "server", "server 12 a", "repository a b c d", "elsewhere"]
        {
            assert!(wrong.parse::<Definition>().is_err(), "{wrong}");
        }
    }
}
