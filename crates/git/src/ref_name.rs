//! Names of refs.

use std::fmt;

use domain::code::BranchName;

/// A ref of those that we name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefName(pub(crate) String);

impl RefName {
    pub fn branch(branch: &BranchName) -> Self {
        Self(format!("refs/heads/{branch}"))
    }

    /// One that only we write: `refs/lamp/` and the rest, which is of plain letters.
    pub fn ours(rest: &str) -> Self {
        Self(format!("refs/lamp/{rest}"))
    }

    /// A branch by its short name, if that is a name that git allows and that means one thing.
    pub fn base(short: &str) -> Option<Self> {
        let plain = |c: char| c.is_alphanumeric() || "._-/+@#".contains(c);
        let word = |word: &str| {
            !word.is_empty()
                && !word.starts_with(['.', '-'])
                && !word.ends_with(['.'])
                && word.strip_suffix(".lock").is_none()
        };
        let fine = short.len() <= 200
            && short.chars().all(plain)
            && !short.contains("..")
            && !short.contains("@{")
            && short != "@"
            && short.split('/').all(word);
        fine.then(|| Self(format!("refs/heads/{short}")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
