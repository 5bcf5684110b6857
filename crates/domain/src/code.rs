//! Where code is: repositories, branches, commits, pull requests.

use std::{fmt, str::FromStr};

/// A repository as people write it: `owner/name`, or only `name` within one organisation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepositoryName(String);

/// The branch that an agent's work goes to. Always under `agent/`, and never able to name another
/// ref.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchName(String);

/// A full commit hash, SHA-1 or SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(String);

/// A pull request's number in its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PullRequestNumber(pub u64);

/// What a task may do to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeNameError {
    #[error(
        "`{0}` is not a repository's name: write `owner/name` with letters, digits, `.`, `-` or `_`"
    )]
    Repository(String),
    #[error("branch `{0}` must start with `agent/`")]
    OutsidePrefix(String),
    #[error("branch `{0}` is not a name that git allows")]
    Branch(String),
    #[error("`{0}` is not a full commit hash")]
    Commit(String),
}

impl RepositoryName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RepositoryName {
    type Err = CodeNameError;

    fn from_str(name: &str) -> Result<Self, CodeNameError> {
        let mut parts = name.split('/');
        let well_formed = parts.by_ref().take(2).all(is_plain_word) && parts.next().is_none();
        if well_formed && name.len() <= 200 {
            return Ok(Self(name.to_owned()));
        }
        Err(CodeNameError::Repository(name.to_owned()))
    }
}

/// Letters, digits, `.`, `-`, `_`; not hidden, not an option, not a way up.
fn is_plain_word(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !word.is_empty() && !word.starts_with(['.', '-']) && word.chars().all(plain)
}

impl BranchName {
    pub const PREFIX: &str = "agent/";

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BranchName {
    type Err = CodeNameError;

    fn from_str(name: &str) -> Result<Self, CodeNameError> {
        let Some(rest) = name.strip_prefix(Self::PREFIX) else {
            return Err(CodeNameError::OutsidePrefix(name.to_owned()));
        };
        let ends_as_a_lock =
            |word: &str| word.ends_with('.') || word.to_ascii_lowercase().ends_with(".lock");
        let allowed = rest.split('/').all(|word| is_plain_word(word) && !ends_as_a_lock(word));
        if allowed && !rest.contains("..") && name.len() <= 200 {
            return Ok(Self(name.to_owned()));
        }
        Err(CodeNameError::Branch(name.to_owned()))
    }
}

impl CommitId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CommitId {
    type Err = CodeNameError;

    fn from_str(text: &str) -> Result<Self, CodeNameError> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 40 | 64) {
            return Ok(Self(text.to_owned()));
        }
        Err(CodeNameError::Commit(text.to_owned()))
    }
}

macro_rules! prints_as_written {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}
prints_as_written!(RepositoryName, BranchName, CommitId);

impl fmt::Display for PullRequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_cannot_name_another_ref() {
        assert!("agent/fix-login".parse::<BranchName>().is_ok());
        for wrong in [
            "main",
            "agent/",
            "agent",
            "agent/../main",
            "agent/a..b",
            "agent/a//b",
            "agent/a.lock",
            "agent/-x",
            "agent/x y",
            "agent/x~1",
            "agent/x:y",
            "refs/heads/agent/x",
            "agent/x\n",
        ] {
            assert!(wrong.parse::<BranchName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_repository_is_two_plain_words_at_most() {
        assert!("splitshift-web".parse::<RepositoryName>().is_ok());
        assert!("acme/web.api".parse::<RepositoryName>().is_ok());
        for wrong in ["", "/", "a/", "a/b/c", "../etc", "a/..", "-x/y", "a b", "https://x/y"] {
            assert!(wrong.parse::<RepositoryName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_commit_is_a_full_hash() {
        assert!("a".repeat(40).parse::<CommitId>().is_ok());
        assert!("a".repeat(39).parse::<CommitId>().is_err());
        assert!("HEAD".parse::<CommitId>().is_err());
    }
}
