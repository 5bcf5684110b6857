//! Looking commits up in a mirror.

use domain::code::{CommitId, RepositoryName};

use super::{MirrorError, Mirrors};

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
