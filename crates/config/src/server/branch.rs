//! How branches of tasks are called: `agent/{task}-{slug}`.
//!
//! **Invariant:** whatever a task is about, its branch is one that [`BranchName`] takes, and no other task has the same.

use std::{fmt, str::FromStr};

use domain::code::BranchName;

use crate::{problem::quoted, shape::text};

/// The longest that an id and the words of a request become.
const TASK: &str = "t_7zzzzzzzzzzzzzzzzzzzzzzzzz";
const SLUG: &str = "a-slug-that-is-as-long-as-one-can-ever-be";

/// A template for names of branches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchPattern(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BranchPatternError {
    #[error("{0} does not begin with `agent/`, which is where branches of tasks are")]
    Elsewhere(String),
    #[error("{0} has no `{{task}}`; without it two tasks could share a branch")]
    NoTask(String),
    #[error("{0} gives names that git does not allow, such as `{1}`")]
    NotAllowed(String, String),
}

impl BranchPattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for BranchPattern {
    fn default() -> Self {
        Self(format!("{}{{task}}-{{slug}}", BranchName::PREFIX))
    }
}

impl FromStr for BranchPattern {
    type Err = BranchPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.starts_with(BranchName::PREFIX) {
            return Err(BranchPatternError::Elsewhere(quoted(text)));
        }
        if !text.contains("{task}") {
            return Err(BranchPatternError::NoTask(quoted(text)));
        }
        for slug in [SLUG, "7"] {
            // A brace that is left over is no letter of a branch's name.
            let name = text.replace("{task}", TASK).replace("{slug}", slug);
            if name.parse::<BranchName>().is_err() {
                return Err(BranchPatternError::NotAllowed(quoted(text), name));
            }
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for BranchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text!(
    BranchPattern,
    "a template for branches",
    help = "write it as `agent/{task}-{slug}`, or `agent/web/{slug}-{task}`; there are `{task}` and `{slug}`",
    pattern = "^agent/.*\\{task\\}"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_gives_branches_of_tasks_and_no_others() {
        for right in ["agent/{task}-{slug}", "agent/web/{slug}/{task}", "agent/{task}"] {
            assert_eq!(right.parse::<BranchPattern>().unwrap().to_string(), right);
        }
        assert_eq!("agent/{task}-{slug}".parse(), Ok(BranchPattern::default()));
        for wrong in [
            "main",
            "lamp/{task}",
            "agent/{slug}",
            "agent/{task}{user}",
            "agent/{task",
            "agent/{task}.lock",
            "agent/../{task}",
            "agent/ {task}",
            "agent//{task}",
        ] {
            assert!(wrong.parse::<BranchPattern>().is_err(), "{wrong}");
        }
        let long = format!("agent/{}{{task}}", "x".repeat(180));
        assert!(long.parse::<BranchPattern>().is_err(), "too long");
    }
}
