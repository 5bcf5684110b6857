//! The repository on the other side: what its refs are at, and changing them only from what they were.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt as _, time::Duration};

use domain::code::CommitId;

use crate::{
    mirror::Mirror,
    program::{Git, HARMLESS, MEMORY_SETTINGS},
    ref_name::RefName,
    run::{Allowance, GitError, Succeeded, run},
    source::Source,
};

/// As the mirror's own settings name the other side. Its address may hold a secret, and is not among arguments, which everyone can list.
pub(crate) const ORIGIN: &str = "origin";

/// As many as an ordinary computer has, and not as many as there are: each takes memory.
pub(crate) const THREADS: &str = "pack.threads=4";

/// What the other side's refs were at, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Far {
    /// The default branch, if it has a name that means one thing.
    pub default: Option<RefName>,
    /// The same as it was said: `refs/heads/` and anything.
    pub(crate) head: Option<String>,
    refs: BTreeMap<RefName, CommitId>,
}

impl Far {
    pub fn at(&self, name: &RefName) -> Option<&CommitId> {
        self.refs.get(name)
    }

    /// All of them, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (&RefName, &CommitId)> {
        self.refs.iter()
    }

    /// Lines of a hash and a name, and one that says what `HEAD` points to. Lines of other kinds mean nothing to us.
    pub fn read(said: &str) -> Self {
        let mut far = Self::default();
        for line in said.lines() {
            let Some((what, name)) = line.split_once('\t') else { continue };
            match (what.strip_prefix("ref: "), name) {
                (Some(branch), "HEAD") => {
                    let short = branch.strip_prefix("refs/heads/");
                    far.default = short.and_then(RefName::base);
                    far.head = short.map(|_| branch.to_owned());
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
pub struct Update {
    pub name: RefName,
    pub old: Option<CommitId>,
    pub new: CommitId,
}

#[derive(Debug, thiserror::Error)]
pub enum PushError {
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

/// Refs of the other side, with what is new in them. Git looks through its own history to find out what is new.
const FAR: Allowance = Allowance {
    time: Duration::from_mins(5),
    file_bytes: None,
    memory_bytes: Some(4 << 30),
    output_bytes: 16 << 20,
};

impl Git {
    /// What the refs of these patterns are at, on the other side.
    pub async fn look(&self, mirror: &Mirror, patterns: &[&str]) -> Result<Far, PushError> {
        let mut command = self.on(&mirror.path);
        command.env("GIT_ALLOW_PROTOCOL", mirror.source.transport().name());
        command.args(["ls-remote", "--quiet", "--symref"]);
        command.args(self.other_side(&mirror.source, Door::Out)?).arg("--").arg(ORIGIN);
        command.arg("HEAD").args(patterns);
        let ran = run(command, &[], FAR).await?;
        match ran.succeeded {
            Succeeded::Yes => Ok(Far::read(&String::from_utf8_lossy(&ran.output))),
            Succeeded::No => {
                Err(PushError::Unreachable { reason: mirror.source.redact(&ran.complaint) })
            }
        }
    }

    /// Brings refs of the other side here, under the same names.
    pub async fn bring(&self, mirror: &Mirror, names: &[&str]) -> Result<(), PushError> {
        if names.is_empty() {
            return Ok(());
        }
        let mut command = self.on(&mirror.path);
        command.env("GIT_ALLOW_PROTOCOL", mirror.source.transport().name());
        command.args(["fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules"]);
        command.args(["--no-auto-maintenance", "--no-write-fetch-head", "--refmap="]);
        command.args(self.other_side(&mirror.source, Door::Out)?).arg("--").arg(ORIGIN);
        command.args(names.iter().map(|name| format!("+{name}:{name}")));
        let ran = run(command, &[], FAR).await?;
        match ran.succeeded {
            Succeeded::Yes => Ok(()),
            Succeeded::No => {
                Err(PushError::Unreachable { reason: mirror.source.redact(&ran.complaint) })
            }
        }
    }

    /// Changes all of the refs, each only if it still is at `old`, or none of them. Where the other side cannot change several
    /// at once, they are changed in their order, so that whoever repeats it can go on.
    pub async fn push(&self, mirror: &Mirror, updates: &[Update]) -> Result<(), PushError> {
        match self.push_once(mirror, updates).await? {
            None => Ok(()),
            Some(complaint) if complaint.contains("does not support --atomic") => {
                for update in updates {
                    let alone = std::slice::from_ref(update);
                    if let Some(complaint) = self.push_once(mirror, alone).await? {
                        return self.why(mirror, alone, complaint).await;
                    }
                }
                Ok(())
            }
            Some(complaint) => self.why(mirror, updates, complaint).await,
        }
    }

    /// Its complaint, if it has one.
    async fn push_once(
        &self,
        mirror: &Mirror,
        updates: &[Update],
    ) -> Result<Option<String>, PushError> {
        let mut command = self.on(&mirror.path);
        command.env("GIT_ALLOW_PROTOCOL", mirror.source.transport().name());
        command.args(["push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags"]);
        command.arg("--recurse-submodules=no");
        if updates.len() > 1 {
            command.arg("--atomic");
        }
        for Update { name, old, .. } in updates {
            let old = old.as_ref().map_or("", CommitId::as_str);
            command.arg(format!("--force-with-lease={name}:{old}"));
        }
        let door = Door::In { files: self.files_of(&mirror.source).await? };
        command.args(self.other_side(&mirror.source, door)?).arg("--").arg(ORIGIN);
        command.args(updates.iter().map(|update| format!("{}:{}", update.new, update.name)));
        let ran = run(command, &[], FAR).await?;
        Ok((ran.succeeded == Succeeded::No).then(|| mirror.source.redact(&ran.complaint)))
    }

    /// A push that failed: what the other side says now tells more than words. It may even have worked, and only its answer was
    /// lost.
    async fn why(
        &self,
        mirror: &Mirror,
        updates: &[Update],
        complaint: String,
    ) -> Result<(), PushError> {
        let names: Vec<&str> = updates.iter().map(|update| update.name.as_str()).collect();
        let far = self.look(mirror, &names).await?;
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
    async fn files_of(&self, source: &Source) -> Result<Files, GitError> {
        let Some(directory) = source.directory() else { return Ok(Files::MoveAlong) };
        let inner = directory.join(".git");
        let git_dir = if inner.exists() { &inner } else { directory };
        let arguments = ["config", "--list", "--includes", "--name-only"];
        let names = self.ask("read the settings", git_dir, &arguments).await?;
        let is_filter = |name: &str| name.to_ascii_lowercase().starts_with("filter.");
        Ok(if names.lines().any(is_filter) { Files::Stay } else { Files::MoveAlong })
    }

    /// The other side of a directory is a program that we start there, and it reads the settings of that repository. Git lets none of
    /// them start a program; beyond that it gets no more rights than the directory's owner has, so that a repository cannot show what
    /// only root may read. It runs no hook, and brings a checked-out branch up to date only where nothing would be lost.
    pub(crate) fn other_side(
        &self,
        source: &Source,
        door: Door,
    ) -> Result<Option<String>, GitError> {
        let Some(directory) = source.directory() else { return Ok(None) };
        let failed = |reason| GitError::Failed { doing: "find the repository", reason };
        let owner = fs_err::metadata(directory).map_err(|error| failed(error.to_string()))?;
        if !owner.is_dir() {
            return Err(failed(format!("`{}` is not a directory", directory.display())));
        }
        let mut words = Vec::new();
        if rustix::process::geteuid().is_root() && owner.uid() != 0 {
            let (uid, gid) = (owner.uid(), owner.gid());
            words
                .push(format!("setpriv --reuid={uid} --regid={gid} --clear-groups --no-new-privs"));
        }
        words.push(self.quoted());
        let closed = SERVING.into_iter().chain(MEMORY_SETTINGS).chain([THREADS]);
        words.extend(closed.map(|setting| format!("-c {setting}")));
        let option = match door {
            Door::Out => {
                words.push("upload-pack".to_owned());
                "--upload-pack"
            }
            Door::In { files } => {
                let files = match files {
                    Files::MoveAlong => "updateInstead",
                    Files::Stay => "refuse",
                };
                words.push(format!("-c receive.denyCurrentBranch={files}"));
                words.push("-c receive.autogc=false -c transfer.fsckObjects=true".to_owned());
                words.extend(HARMLESS.map(|finding| format!("-c receive.fsck.{finding}=ignore")));
                words.push("receive-pack".to_owned());
                "--receive-pack"
            }
        };
        Ok(Some(format!("{option}={}", words.join(" "))))
    }
}

/// How git serves a directory of this host. For a shell.
const SERVING: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "gc.auto=0",
    "safe.directory='*'",
];

/// Which way objects go, seen from the other side.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Door {
    Out,
    In { files: Files },
}

/// What becomes of the files of a branch that somebody has checked out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Files {
    /// They are brought up to date.
    MoveAlong,
    /// They stay, and so does the branch: to check them out would run programs.
    Stay,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_side_says_is_read() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let said = format!(
            "ref: refs/heads/main\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/main\n{b}\trefs/lamp/notes\nnonsense\n\
             short\trefs/heads/x\n"
        );
        let far = Far::read(&said);
        assert_eq!(far.default, RefName::base("main"));
        assert_eq!(far.at(&RefName::base("main").unwrap()).unwrap().as_str(), a);
        assert_eq!(far.at(&RefName::ours("notes")).unwrap().as_str(), b);
        assert_eq!(far.all().count(), 2);
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
