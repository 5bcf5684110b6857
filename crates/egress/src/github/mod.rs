//! What a task may do at GitHub besides git: its own pull request, and nothing that another person would have to undo.
//!
//! Both of GitHub's interfaces are judged by the same idea: an operation is in the table or it is refused. The tables are data; what
//! an operation may touch is in [`Task`]. Bodies are read by the proxy; what is judged here is what it says of them.
//!
//! | module | what it is for |
//! |---|---|
//! | [`rest`] | methods and paths |
//! | [`graphql`] | operations by the names of their root fields |
//!
//! What cannot be seen: in GraphQL, a pull request or a repository is an opaque id, and which repository it belongs to is known to
//! GitHub alone. There the token's own reach is the limit, so tokens are for the task's repositories only.

pub mod graphql;
pub mod rest;

#[cfg(test)]
mod github_tests;

use proxy::ask::Language;

/// What a task may touch at one GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// Branches that it may push to, and so open a pull request from. Empty before the gate.
    pub pushes: Vec<TaskBranch>,
}

/// One branch of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskBranch {
    /// `owner/name`.
    pub repository: String,
    pub branch: String,
}

/// Whether a request belongs to what a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It is this operation.
    Belongs { operation: &'static str },
    /// That can be told from its body alone, which is in this language.
    NeedsBody { language: Language },
    /// It does not, for this reason: a sentence without its full stop.
    Not { why: String },
}

impl Judgement {
    fn not(why: impl Into<String>) -> Self {
        Self::Not { why: why.into() }
    }
}

/// What is said of a body in another language than it was asked for.
const OTHER_LANGUAGE: &str = "the body was not read in the language that it is in";

impl Task {
    fn works_on(&self, owner: &str, name: &str) -> bool {
        self.of(owner, name).next().is_some()
    }

    /// GitHub does not care about the case of owners and repositories.
    fn of<'a>(&'a self, owner: &'a str, name: &'a str) -> impl Iterator<Item = &'a TaskBranch> {
        self.pushes.iter().filter(move |push| {
            push.repository
                .split_once('/')
                .is_some_and(|(o, n)| o.eq_ignore_ascii_case(owner) && n.eq_ignore_ascii_case(name))
        })
    }
}

/// Whether `head`, as a new pull request names it, is one of these branches: `branch`, or `owner:branch` of the same owner.
fn is_own_head<'a>(head: &str, mut branches: impl Iterator<Item = &'a TaskBranch>) -> bool {
    let (owner, branch) = match head.split_once(':') {
        Some((owner, branch)) => (Some(owner), branch),
        None => (None, head),
    };
    branches.any(|push| {
        let of = push.repository.split('/').next().unwrap_or_default();
        push.branch == branch && owner.is_none_or(|owner| owner.eq_ignore_ascii_case(of))
    })
}
