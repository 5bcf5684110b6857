//! A remote that somebody works in: the repository on a laptop, with files beside it.
//!
//! Who merges there expects what `git merge` would do: the branch and the files move together. Git does that on a push
//! (`updateInstead`) when nothing that is not committed would be lost, and refuses otherwise. Here are the two things that it leaves
//! to us: to refuse in the midst of a rebase, and to say what to do.

use std::path::Path;

use contracts::forge::PullError;
use git::{PushError, Source};

use super::ledger::far_trouble;

#[derive(Debug, Clone, Copy)]
pub(super) struct Checkout<'r> {
    directory: &'r Path,
}

/// What git leaves in its directory while somebody is between two commits, and the command that ends it. Then `HEAD` is no branch, but
/// git takes the branch for checked out, and would bring files up to date that belong to another commit.
const UNDER_WAY: [(&str, &str); 3] = [
    ("rebase-merge", "git rebase"),
    ("rebase-apply", "git rebase"),
    ("BISECT_START", "git bisect"),
];

/// How git says that it does not touch files that somebody has checked out.
const CHECKED_OUT: &str = "branch is currently checked out";

/// How git says that files stand in the way.
const IN_THE_WAY: [&str; 4] = [
    "Working directory has unstaged changes",
    "Working directory has staged changes",
    "Could not update working tree",
    "Up-to-date check failed",
];

impl<'r> Checkout<'r> {
    /// Nothing for a bare repository, and for one that is elsewhere.
    pub(super) fn of(source: &'r Source) -> Option<Self> {
        let directory = source.directory()?;
        directory.join(".git").exists().then_some(Self { directory })
    }

    /// Refuses in the midst of something that `HEAD` does not tell.
    pub(super) fn check_idle(&self, base: &str) -> Result<(), PullError> {
        let git = self.directory.join(".git");
        // Other work trees of the same repository have directories of their own in it.
        let others = std::fs::read_dir(git.join("worktrees")).into_iter().flatten().take(1_000);
        let others = others.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let under_way = others.chain([git]).find_map(|place| {
            let is_there = |(file, _): &&(&str, _)| place.join(file).exists();
            UNDER_WAY.iter().find(is_there)
        });
        let Some((_, command)) = under_way else { return Ok(()) };
        let reason = format!(
            "`{command}` is under way in `{}`, and `{base}` cannot be moved meanwhile: end it there, and merge again",
            self.directory.display()
        );
        Err(PullError::Rejected { reason })
    }

    /// Why the base could not be moved, and what to do about it.
    pub(super) fn trouble(&self, error: PushError, base: &str, branch: &str) -> PullError {
        let PushError::Rejected { reason: said } = &error else { return far_trouble(error) };
        if said.contains(CHECKED_OUT) {
            let reason = format!(
                "`{base}` is checked out in `{}`, where git has filters (`git config --get-regexp ^filter`): they would run on what the \
                 change brings, so run `git merge {branch}` there yourself",
                self.directory.display()
            );
            return PullError::Rejected { reason };
        }
        if !IN_THE_WAY.iter().any(|words| said.contains(words)) {
            return far_trouble(error);
        }
        let reason = format!(
            "`{base}` is checked out in `{}`, with changes that are not committed: commit or stash them there and merge again, or run \
             `git merge {branch}` there",
            self.directory.display()
        );
        PullError::Rejected { reason }
    }
}
