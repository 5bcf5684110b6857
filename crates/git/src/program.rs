//! The program itself: its environment, its settings, and what is asked often.
//!
//! Invariant: every git of this host is started by [`Git::on`]. What another setting, limit or fix needs is written here, once.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use domain::code::CommitId;
use tokio::process::Command;

use crate::{
    ref_name::RefName,
    run::{GitError, QUICK, Succeeded, run},
    touched::ObjectName,
};

/// Where the program is, and a home without anything in it.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    home: PathBuf,
}

/// Nothing of a repository runs, nothing is fetched by the way, and what comes is checked.
const SETTINGS: [&str; 19] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.logAllRefUpdates=false",
    "credential.helper=",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "push.recurseSubmodules=no",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    // A pack stays a pack: thousands of loose objects would slow every sandbox down.
    "fetch.unpackLimit=1",
];

/// How much memory git takes for what it could do with less. Also for the other side, when that is a directory of this host.
pub(crate) const MEMORY_SETTINGS: [&str; 6] = [
    // Not as many as there are processors.
    "pack.threads=1",
    "pack.windowMemory=64m",
    "core.bigFileThreshold=16m",
    "core.deltaBaseCacheLimit=32m",
    "core.packedGitLimit=256m",
    "core.packedGitWindowSize=16m",
];

/// What git's check of objects says about honest histories: they were converted from elsewhere, or written by an old git. None of it leads
/// anywhere or means anything to a checkout. What comes out of a sandbox is checked without these exceptions.
pub(crate) const HARMLESS: [&str; 3] =
    ["zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate"];

const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// All that git finds in its environment, but for its home.
const ENVIRONMENT: [(&str, &str); 14] = [
    ("PATH", SEARCH),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    // A repository that pretends to be partial would have missing objects fetched, by a program of its choice.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // A path is a path, also when it looks like `:(exclude)x`.
    ("GIT_LITERAL_PATHSPECS", "1"),
];

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    /// As the commit is named.
    pub fn of(commit: &CommitId) -> Self {
        if commit.as_str().len() == 64 { Self::Sha256 } else { Self::Sha1 }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Sha1 => "--object-format=sha1",
            Self::Sha256 => "--object-format=sha256",
        }
    }
}

impl Git {
    /// `home` is a directory of ours that stays empty.
    pub fn new(program: &Path, home: &Path) -> Self {
        Self { program: program.to_owned(), home: home.to_owned() }
    }

    /// A command on a bare repository.
    pub fn on(&self, repository: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(ENVIRONMENT)
            .env("HOME", &self.home)
            .current_dir(&self.home)
            .arg("--git-dir")
            .arg(repository)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        for setting in SETTINGS.into_iter().chain(MEMORY_SETTINGS) {
            command.args(["-c", setting]);
        }
        for finding in HARMLESS {
            command.arg("-c").arg(format!("fetch.fsck.{finding}=ignore"));
        }
        command
    }

    /// The program, quoted for the shell that git starts the other side with.
    pub(crate) fn quoted(&self) -> String {
        domain::shell::quoted(&self.program.display().to_string())
    }

    /// Something small that must succeed; its answer without the line's end.
    pub async fn ask(
        &self,
        doing: &'static str,
        repository: &Path,
        arguments: &[&str],
    ) -> Result<String, GitError> {
        self.tell(doing, repository, arguments, &[]).await
    }

    /// The same, with something on its standard input.
    pub async fn tell(
        &self,
        doing: &'static str,
        repository: &Path,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<String, GitError> {
        let mut command = self.on(repository);
        command.args(arguments);
        let ran = run(command, input, QUICK).await?;
        let output = ran.checked(doing)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// What a ref is at, if it is there.
    pub async fn resolve(
        &self,
        repository: &Path,
        name: &RefName,
    ) -> Result<Option<CommitId>, GitError> {
        self.commit(repository, name.as_str()).await
    }

    /// The commit that a revision names, if there is one. It may be anything but hostile: look before you ask.
    pub(crate) async fn commit(
        &self,
        repository: &Path,
        revision: &str,
    ) -> Result<Option<CommitId>, GitError> {
        let mut command = self.on(repository);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        command.arg(format!("{revision}^{{commit}}"));
        let ran = run(command, &[], QUICK).await?;
        Ok(String::from_utf8_lossy(&ran.output).trim().parse().ok())
    }

    /// Whether the commit `old` is `new` or one of its ancestors. Both must be there.
    pub async fn is_ancestor(
        &self,
        repository: &Path,
        old: &CommitId,
        new: &CommitId,
    ) -> Result<bool, GitError> {
        let mut command = self.on(repository);
        command.args(["merge-base", "--is-ancestor", old.as_str(), new.as_str()]);
        let ran = run(command, &[], QUICK).await?;
        match (ran.succeeded, ran.complaint.is_empty()) {
            (Succeeded::Yes, _) => Ok(true),
            (Succeeded::No, true) => Ok(false),
            (Succeeded::No, false) => {
                Err(GitError::Failed { doing: "compare commits", reason: ran.complaint })
            }
        }
    }

    /// Whether an object is there.
    pub async fn has(&self, repository: &Path, object: &str) -> Result<bool, GitError> {
        let mut command = self.on(repository);
        command.args(["cat-file", "-e", object]);
        Ok(run(command, &[], QUICK).await?.succeeded == Succeeded::Yes)
    }

    /// A new bare repository without hooks and examples.
    pub async fn init(&self, path: &Path, hash: Hash) -> Result<(), GitError> {
        self.make(path, &[hash.option()]).await
    }

    /// The same, with objects that others can read, whatever the server's umask is.
    pub(crate) async fn init_readable(&self, path: &Path) -> Result<(), GitError> {
        self.make(path, &["--shared=0644"]).await
    }

    async fn make(&self, path: &Path, more: &[&str]) -> Result<(), GitError> {
        let plain = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main"];
        let arguments: Vec<&str> = plain.iter().chain(more).copied().collect();
        self.ask("make a repository", path, &arguments).await.map(drop)
    }

    /// Writes a content.
    pub async fn write_blob(
        &self,
        repository: &Path,
        content: &[u8],
    ) -> Result<ObjectName, GitError> {
        let name =
            self.tell("write", repository, &["hash-object", "-w", "--stdin"], content).await?;
        name.parse().map_err(|_wrong| GitError::Strange { doing: "write" })
    }
}
