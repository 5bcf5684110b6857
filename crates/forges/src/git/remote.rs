//! The repository on the other side: what its refs are at, and changing them only from what they were.

use std::{
    collections::BTreeMap,
    fmt,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use domain::code::{BranchName, CommitId, PullRequestNumber};

use super::{Allowance, Git, GitError, Succeeded, run};

/// Where a mirror comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// As the mirror's own settings name it; an address may hold a secret, and is not among arguments.
    pub name: String,
    pub transport: Transport,
    /// Struck out of what git says.
    pub secrets: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A directory of this host.
    Directory(PathBuf),
    Http,
    Https,
    Ssh,
}

impl Transport {
    /// As git calls it in its list of allowed protocols.
    const fn name(&self) -> &'static str {
        match self {
            Self::Directory(_) => "file",
            Self::Http => "http",
            Self::Https => "https",
            Self::Ssh => "ssh",
        }
    }
}

/// A ref of those that we name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RefName(String);

impl RefName {
    pub(crate) fn branch(branch: &BranchName) -> Self {
        Self(format!("refs/heads/{branch}"))
    }

    pub(crate) fn pull(number: PullRequestNumber) -> Self {
        Self(format!("refs/lamp/pulls/{}", number.0))
    }

    pub(crate) fn notes() -> Self {
        Self("refs/lamp/notes".to_owned())
    }

    pub(crate) fn receipts() -> Self {
        Self("refs/lamp/receipts".to_owned())
    }

    /// A branch by its short name, if that is a name that git allows and that means one thing.
    pub(crate) fn base(short: &str) -> Option<Self> {
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

    pub(crate) fn task(part: &str) -> Self {
        Self(format!("refs/lamp/tasks/{part}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn pull_number(&self) -> Option<PullRequestNumber> {
        let number = self.0.strip_prefix("refs/lamp/pulls/")?;
        let is_plain = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| number.parse().ok())?.map(PullRequestNumber)
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the other side's refs were at, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Far {
    /// The default branch.
    pub(crate) default: Option<RefName>,
    refs: BTreeMap<RefName, CommitId>,
}

impl Far {
    pub(crate) fn at(&self, name: &RefName) -> Option<&CommitId> {
        self.refs.get(name)
    }

    /// The records of pull requests, by number.
    pub(crate) fn pulls(&self) -> BTreeMap<PullRequestNumber, &CommitId> {
        let numbered = |(name, at): (&RefName, _)| Some((name.pull_number()?, at));
        self.refs.iter().filter_map(|(name, at)| numbered((name, at))).collect()
    }

    /// Lines of a hash and a name, and one that says what `HEAD` points to. Lines of other kinds mean nothing to us.
    fn read(said: &str) -> Self {
        let mut far = Self::default();
        for line in said.lines() {
            let Some((what, name)) = line.split_once('\t') else { continue };
            match (what.strip_prefix("ref: "), name) {
                (Some(branch), "HEAD") => {
                    far.default = branch.strip_prefix("refs/heads/").and_then(RefName::base);
                }
                (Some(_), _) | (None, "HEAD") => {}
                (None, name) => {
                    if let Ok(at) = what.parse() {
                        far.refs.insert(RefName(name.to_owned()), at);
                    }
                }
            }
        }
        far
    }
}

/// One ref from what it was to what it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) name: RefName,
    pub(crate) old: Option<CommitId>,
    pub(crate) new: CommitId,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PushError {
    /// Somebody else was faster. Look again.
    #[error("somebody else changed it meanwhile")]
    Stale,
    #[error("{reason}")]
    Rejected { reason: String },
    #[error("{reason}")]
    Unreachable { reason: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

const FAR: Allowance = Allowance {
    time: Duration::from_mins(5),
    file_bytes: None,
    memory_bytes: None,
    output_bytes: 16 << 20,
};

impl Git {
    /// What the refs of these patterns are at, on the other side.
    pub(crate) async fn look(
        &self,
        mirror: &Path,
        remote: &Remote,
        patterns: &[&str],
    ) -> Result<Far, PushError> {
        let mut command = self.on(mirror);
        command.env("GIT_ALLOW_PROTOCOL", remote.transport.name());
        command.args(["ls-remote", "--quiet", "--symref"]);
        command.args(self.other_side(remote, Door::Out)?).arg("--").arg(&remote.name);
        command.arg("HEAD").args(patterns);
        let ran = run(command, &[], FAR).await?;
        match ran.succeeded {
            Succeeded::Yes => Ok(Far::read(&String::from_utf8_lossy(&ran.output))),
            Succeeded::No => Err(PushError::Unreachable { reason: remote.struck(&ran.complaint) }),
        }
    }

    /// Brings refs of the other side here, under the same names.
    pub(crate) async fn bring(
        &self,
        mirror: &Path,
        remote: &Remote,
        names: &[&str],
    ) -> Result<(), PushError> {
        if names.is_empty() {
            return Ok(());
        }
        let mut command = self.on(mirror);
        command.env("GIT_ALLOW_PROTOCOL", remote.transport.name());
        command.args(["fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules"]);
        command.args(["--no-auto-maintenance", "--no-write-fetch-head", "--refmap="]);
        command.args(self.other_side(remote, Door::Out)?).arg("--").arg(&remote.name);
        command.args(names.iter().map(|name| format!("+{name}:{name}")));
        let ran = run(command, &[], FAR).await?;
        match ran.succeeded {
            Succeeded::Yes => Ok(()),
            Succeeded::No => Err(PushError::Unreachable { reason: remote.struck(&ran.complaint) }),
        }
    }

    /// Changes all of the refs, each only if it still is at `old`, or none of them. Where the other side cannot change several
    /// at once, they are changed in their order, so that whoever repeats it can go on.
    pub(crate) async fn push(
        &self,
        mirror: &Path,
        remote: &Remote,
        updates: &[Update],
    ) -> Result<(), PushError> {
        match self.push_once(mirror, remote, updates).await? {
            None => Ok(()),
            Some(complaint) if complaint.contains("does not support --atomic") => {
                for update in updates {
                    let alone = std::slice::from_ref(update);
                    if let Some(complaint) = self.push_once(mirror, remote, alone).await? {
                        return self.why(mirror, remote, alone, complaint).await;
                    }
                }
                Ok(())
            }
            Some(complaint) => self.why(mirror, remote, updates, complaint).await,
        }
    }

    /// Its complaint, if it has one.
    async fn push_once(
        &self,
        mirror: &Path,
        remote: &Remote,
        updates: &[Update],
    ) -> Result<Option<String>, PushError> {
        let mut command = self.on(mirror);
        command.env("GIT_ALLOW_PROTOCOL", remote.transport.name());
        command.args(["push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags"]);
        command.arg("--recurse-submodules=no");
        if updates.len() > 1 {
            command.arg("--atomic");
        }
        for Update { name, old, .. } in updates {
            let old = old.as_ref().map_or("", CommitId::as_str);
            command.arg(format!("--force-with-lease={name}:{old}"));
        }
        let door = Door::In { files: self.files_of(remote).await? };
        command.args(self.other_side(remote, door)?).arg("--").arg(&remote.name);
        command.args(updates.iter().map(|update| format!("{}:{}", update.new, update.name)));
        let ran = run(command, &[], FAR).await?;
        Ok((ran.succeeded == Succeeded::No).then(|| remote.struck(&ran.complaint)))
    }

    /// A push that failed: what the other side says now tells more than words. It may even have worked, and only its answer was
    /// lost.
    async fn why(
        &self,
        mirror: &Path,
        remote: &Remote,
        updates: &[Update],
        complaint: String,
    ) -> Result<(), PushError> {
        let names: Vec<&str> = updates.iter().map(|update| update.name.as_str()).collect();
        let far = self.look(mirror, remote, &names).await?;
        if updates.iter().all(|update| far.at(&update.name) == Some(&update.new)) {
            return Ok(());
        }
        if updates.iter().any(|update| far.at(&update.name) != update.old.as_ref()) {
            return Err(PushError::Stale);
        }
        let reason = complaint;
        let is_no = ["rejected", "denied", "permission", "error: 401", "error: 403"]
            .iter()
            .any(|word| reason.contains(word));
        if is_no {
            return Err(PushError::Rejected { reason });
        }
        Err(PushError::Unreachable { reason })
    }

    /// Whether files of the other side may be brought up to date. Its owner may have filters for them (`filter.*` in the settings), and a
    /// change can bring the attributes that name one, and the very program that it runs. Who merges by hand runs it by their own choice.
    async fn files_of(&self, remote: &Remote) -> Result<Files, GitError> {
        let Transport::Directory(directory) = &remote.transport else {
            return Ok(Files::MoveAlong);
        };
        let inner = directory.join(".git");
        let git_dir = if inner.exists() { &inner } else { directory };
        let arguments = ["config", "--list", "--includes", "--name-only"];
        let names = self.ask("read the settings", git_dir, &arguments).await?;
        let is_filter = |name: &str| name.to_ascii_lowercase().starts_with("filter.");
        Ok(if names.lines().any(is_filter) { Files::Stay } else { Files::MoveAlong })
    }

    /// The other side of a directory is a program that we start there, and it reads the settings of that repository. It gets no
    /// more rights than the directory's owner has, runs no hook, and brings a checked-out branch up to date only where nothing
    /// would be lost.
    fn other_side(&self, remote: &Remote, door: Door) -> Result<Option<String>, GitError> {
        let Transport::Directory(directory) = &remote.transport else { return Ok(None) };
        let owner = std::fs::metadata(directory).map_err(|error| GitError::Failed {
            doing: "find the repository",
            reason: format!("`{}`: {error}", directory.display()),
        })?;
        let git = self.quoted();
        let closed = "-c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 \
                      -c core.alternateRefsCommand=true";
        let serve = match door {
            Door::Out => format!("{git} {closed} upload-pack"),
            Door::In { files } => format!(
                "{git} {closed} -c receive.denyCurrentBranch={} -c receive.autogc=false \
                 -c transfer.fsckObjects=true receive-pack",
                match files {
                    Files::MoveAlong => "updateInstead",
                    Files::Stay => "refuse",
                }
            ),
        };
        let steps_down = rustix::process::geteuid().is_root() && owner.uid() != 0;
        let (uid, gid) = (owner.uid(), owner.gid());
        let less = format!("setpriv --reuid={uid} --regid={gid} --clear-groups --no-new-privs");
        let serve = if steps_down { format!("{less} {serve}") } else { serve };
        Ok(Some(match door {
            Door::Out => format!("--upload-pack={serve}"),
            Door::In { files: _ } => format!("--receive-pack={serve}"),
        }))
    }
}

/// Which way objects go, seen from the other side.
#[derive(Debug, Clone, Copy)]
enum Door {
    Out,
    In { files: Files },
}

/// What becomes of the files of a branch that somebody has checked out.
#[derive(Debug, Clone, Copy)]
enum Files {
    /// They are brought up to date.
    MoveAlong,
    /// They stay, and so does the branch: to check them out would run programs.
    Stay,
}

impl Remote {
    fn struck(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_side_says_is_read() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let said = format!(
            "ref: refs/heads/main\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/main\n{b}\trefs/lamp/pulls/12\n\
             {b}\trefs/lamp/pulls/012\n{b}\trefs/lamp/pulls/x\nnonsense\nshort\trefs/heads/x\n"
        );
        let far = Far::read(&said);
        assert_eq!(far.default, RefName::base("main"));
        assert_eq!(far.at(&RefName::base("main").unwrap()).unwrap().as_str(), a);
        assert_eq!(far.pulls().into_keys().collect::<Vec<_>>(), [PullRequestNumber(12)]);
    }

    #[test]
    fn a_base_is_a_plain_name() {
        for fine in ["main", "release/1.0", "dev-2", "übung"] {
            assert!(RefName::base(fine).is_some(), "{fine}");
        }
        for wrong in [
            "", "-x", "a..b", "a b", "a:b", "a/", "/a", "a.lock", "@", "a@{1}", "a\n", "a^", ".x",
            "*",
        ] {
            assert!(RefName::base(wrong).is_none(), "{wrong}");
        }
    }
}
