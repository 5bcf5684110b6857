//! Looking commits up in a mirror.

use domain::code::{CommitId, RepositoryName};

use super::{MirrorError, Mirrors};
use crate::run::{QUICK, run};

impl Mirrors {
    /// Where a repository comes from, without anything secret.
    pub fn address(&self, name: &RepositoryName) -> Result<String, MirrorError> {
        self.known(name).map(|mirror| format!("{:?}", mirror.source))
    }

    /// The commit that a branch, a tag, `HEAD` or a hash names, with `~` and `^`. Git's searches by text are no names.
    pub async fn resolve(
        &self,
        name: &RepositoryName,
        revision: &str,
    ) -> Result<CommitId, MirrorError> {
        let mirror = self.known(name)?;
        let unknown =
            || MirrorError::Revision { repository: name.clone(), revision: revision.to_owned() };
        if !is_plain(revision) {
            return Err(unknown());
        }
        let commit = self.shared.git.commit(&mirror.path, revision).await?;
        let commit = commit.ok_or_else(unknown)?;
        self.saw(name, &commit);
        Ok(commit)
    }

    /// The branch that `HEAD` of the source is on, as the last fetch found it; none where it is on a commit alone.
    pub async fn default_branch(
        &self,
        name: &RepositoryName,
    ) -> Result<Option<String>, MirrorError> {
        let mirror = self.known(name)?;
        let mut command = self.shared.git.on(&mirror.path);
        command.args(["symbolic-ref", "--quiet", "HEAD"]);
        let ran = run(command, &[], QUICK).await?;
        let said = String::from_utf8_lossy(&ran.output);
        Ok(said.trim().strip_prefix("refs/heads/").map(str::to_owned))
    }

    /// Whether the mirror has the commit.
    pub async fn has(&self, name: &RepositoryName, commit: &CommitId) -> Result<bool, MirrorError> {
        if self.has_seen(name, commit) {
            return Ok(true);
        }
        let mirror = self.known(name)?;
        let is_there = self.shared.git.has(&mirror.path, &format!("{commit}^{{commit}}")).await?;
        if is_there {
            self.saw(name, commit);
        }
        Ok(is_there)
    }
}

/// No option, no search, no reflog, no path.
fn is_plain(revision: &str) -> bool {
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"{}:*?[\\".contains(c);
    !revision.is_empty()
        && revision.len() <= 256
        && !revision.starts_with('-')
        && !revision.contains("..")
        && revision.chars().all(plain)
}
