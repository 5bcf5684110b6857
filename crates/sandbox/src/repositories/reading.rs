//! Looking commits up in a mirror.

use domain::code::{CommitId, RepositoryName};

use super::{
    MirrorError, Mirrors,
    git::{OutOfTime, QUICK, Succeeded, run},
};

impl Mirrors {
    /// Where a repository comes from, without anything secret.
    pub fn address(&self, name: &RepositoryName) -> Result<String, MirrorError> {
        self.known(name).map(|(_, source)| format!("{source:?}"))
    }

    /// The commit that a branch, a tag, `HEAD` or a hash names, with `~` and `^`. Git's searches by text are no names.
    pub async fn resolve(
        &self,
        name: &RepositoryName,
        revision: &str,
    ) -> Result<CommitId, MirrorError> {
        let (mirror, _) = self.known(name)?;
        let unknown =
            || MirrorError::Revision { repository: name.clone(), revision: revision.to_owned() };
        if !is_plain(revision) {
            return Err(unknown());
        }
        let mut command = self.shared.git.on(&mirror);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        command.arg(format!("{revision}^{{commit}}"));
        let Ok(ran) = run(command, QUICK, None).await? else { return Err(too_long()) };
        let commit: CommitId = ran.output.trim().parse().map_err(|_unreadable| unknown())?;
        self.saw(name, &commit);
        Ok(commit)
    }

    /// Whether the mirror has the commit.
    pub async fn has(&self, name: &RepositoryName, commit: &CommitId) -> Result<bool, MirrorError> {
        if self.has_seen(name, commit) {
            return Ok(true);
        }
        let (mirror, _) = self.known(name)?;
        let mut command = self.shared.git.on(&mirror);
        command.args(["cat-file", "-e", &format!("{commit}^{{commit}}")]);
        match run(command, QUICK, None).await? {
            Ok(ran) if ran.succeeded == Succeeded::Yes => {
                self.saw(name, commit);
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(OutOfTime) => Err(too_long()),
        }
    }
}

fn too_long() -> MirrorError {
    MirrorError::Git { doing: "look a commit up", reason: "it took too long".to_owned() }
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
