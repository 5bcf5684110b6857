//! The program git on the host: on bare repositories of ours only, without settings but ours, without hooks, questions or
//! programs of anybody's choice, and with limits.
//!
//! Nothing is checked out here, ever. What git says about hostile objects is read by strict readers.

mod blobs;
mod difference;
mod remote;
mod run;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use domain::code::CommitId;
use tokio::process::Command;

pub(crate) use blobs::Blobs;
pub(crate) use remote::{Far, PushError, RefName, Update};
pub use remote::{Remote, Transport};
pub(crate) use run::{Allowance, GitError, Ran, Running, Succeeded, run};

use crate::inspection::ObjectName;

/// Where the program is, and a home without anything in it.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    home: PathBuf,
}

/// Nothing of a repository runs, nothing is fetched by the way, and nothing takes more memory than it must.
const SETTINGS: [&str; 25] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.logAllRefUpdates=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "fetch.unpackLimit=1",
    "pack.threads=1",
    "pack.windowMemory=64m",
    "core.bigFileThreshold=16m",
    "core.deltaBaseCacheLimit=32m",
    "core.packedGitLimit=256m",
    "core.packedGitWindowSize=16m",
    "diff.external=",
    "push.recurseSubmodules=no",
];

const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Looking something up, or writing something small.
pub(crate) const QUICK: Allowance = Allowance {
    time: Duration::from_mins(1),
    file_bytes: None,
    memory_bytes: None,
    output_bytes: 16 << 20,
};

impl Git {
    /// `home` is a directory of ours that stays empty.
    pub fn new(program: &Path, home: &Path) -> Self {
        Self { program: program.to_owned(), home: home.to_owned() }
    }

    /// A command on a bare repository.
    pub(crate) fn on(&self, repository: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs([
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
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                ("GIT_LITERAL_PATHSPECS", "1"),
            ])
            .env("HOME", &self.home)
            .current_dir(&self.home)
            .arg("--git-dir")
            .arg(repository)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
    }

    /// The program, quoted for the shell that git starts the other side with.
    fn quoted(&self) -> String {
        domain::shell::quoted(&self.program.display().to_string())
    }

    /// Something small that must succeed; its answer without the line's end.
    pub(crate) async fn ask(
        &self,
        doing: &'static str,
        repository: &Path,
        arguments: &[&str],
    ) -> Result<String, GitError> {
        self.tell(doing, repository, arguments, &[]).await
    }

    /// The same, with something on its standard input.
    pub(crate) async fn tell(
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
    pub(crate) async fn resolve(
        &self,
        repository: &Path,
        name: &RefName,
    ) -> Result<Option<CommitId>, GitError> {
        let mut command = self.on(repository);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        command.arg(format!("{}^{{commit}}", name.as_str()));
        let ran = run(command, &[], QUICK).await?;
        Ok(String::from_utf8_lossy(&ran.output).trim().parse().ok())
    }

    /// Whether the commit `old` is `new` or one of its ancestors. Both must be there.
    pub(crate) async fn is_ancestor(
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
    pub(crate) async fn has(&self, repository: &Path, object: &str) -> Result<bool, GitError> {
        let mut command = self.on(repository);
        command.args(["cat-file", "-e", object]);
        Ok(run(command, &[], QUICK).await?.succeeded == Succeeded::Yes)
    }

    /// A new bare repository without hooks and examples, that names objects as the commit is named.
    pub(crate) async fn init(&self, path: &Path, like: &CommitId) -> Result<(), GitError> {
        let format = if like.as_str().len() == 64 {
            "--object-format=sha256"
        } else {
            "--object-format=sha1"
        };
        let arguments =
            ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", format];
        self.ask("make a quarantine", path, &arguments).await.map(drop)
    }

    /// Writes a content.
    pub(crate) async fn write_blob(
        &self,
        repository: &Path,
        content: &[u8],
    ) -> Result<ObjectName, GitError> {
        let name =
            self.tell("write", repository, &["hash-object", "-w", "--stdin"], content).await?;
        name.parse().map_err(|_wrong| GitError::Strange { doing: "write" })
    }
}
