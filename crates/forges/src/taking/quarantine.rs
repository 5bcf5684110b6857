//! Where objects from a sandbox are until they were looked at.
//!
//! A bare repository of its own, thrown away afterwards, that sees the mirror's objects as its own. What is in it and is not
//! reached from the commit that we make never gets any further.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use contracts::sandbox::Output;
use domain::code::CommitId;
use git::{Allowance, Blobs, Git, GitError, Hash, Ran, Running, Succeeded, run};
use tokio::{io::AsyncWriteExt as _, sync::mpsc};

use super::{
    TakeError, fault_of_objects,
    heading::{Heading, HeadingError, HeadingReader},
};
use crate::{
    inspection::{Limits, ObjectName, Touched},
    shown,
};

#[derive(Debug)]
pub(super) struct Quarantine {
    directory: tempfile::TempDir,
    git: Git,
    limits: Limits,
}

/// Git needs more than the objects themselves: indexes, windows, programs.
const MEMORY: u64 = 2 << 30;

/// Names of all files of a large repository.
const NAMES: u64 = 128 << 20;

/// What git says about more paths than anybody may touch.
const DIFFERENCE: u64 = 32 << 20;

/// Left to our own inspection, which says it better; everything else that git's own finds is final. Only names that every git of
/// the last years knows: one that it does not know would end it.
const STRICT: &str = "--strict=hasDot=ignore,hasDotdot=ignore,hasDotgit=ignore,gitmodulesSymlink=ignore,\
                      badFilemode=error";

impl Quarantine {
    pub(super) async fn open(
        scratch: &Path,
        git: &Git,
        mirror: &Path,
        like: &CommitId,
        limits: Limits,
    ) -> Result<Self, TakeError> {
        let directory =
            tempfile::Builder::new().prefix("take-").tempdir_in(scratch).map_err(GitError::Io)?;
        let quarantine = Self { directory, git: git.clone(), limits };
        git.init(&quarantine.path(), Hash::of(like)).await?;
        let alternates = quarantine.path().join("objects/info/alternates");
        let objects = format!("{}\n", mirror.join("objects").display());
        tokio::fs::write(alternates, objects).await.map_err(GitError::Io)?;
        Ok(quarantine)
    }

    /// A name that nobody else has.
    pub(super) fn name(&self) -> String {
        self.directory.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("git")
    }

    /// The most that may come out.
    pub(super) const fn pack_bytes(&self) -> u64 {
        self.limits.pack_bytes
    }

    fn allowance(&self) -> Allowance {
        Allowance {
            time: self.limits.time,
            file_bytes: Some(self.limits.pack_bytes.saturating_add(64 << 20)),
            memory_bytes: Some(MEMORY),
            output_bytes: NAMES,
        }
    }

    /// Takes a pack in, as it comes. Gives the tree that was named, and the end of what was complained of inside.
    pub(super) async fn receive(
        &self,
        mut output: mpsc::Receiver<Output>,
    ) -> Result<(Option<Heading>, String), TakeError> {
        let (mut reader, mut complaint) = (HeadingReader::new(self.limits.objects), Vec::new());
        let mut indexing: Option<(Heading, Running)> = None;
        let mut left = self.limits.pack_bytes;
        while let Some(piece) = output.recv().await {
            let bytes = match piece {
                Output::Out(bytes) => bytes,
                Output::Error(bytes) => {
                    keep_end(&mut complaint, &bytes);
                    continue;
                }
            };
            let more = self.limits.pack_bytes;
            left =
                left.checked_sub(bytes.len() as u64).ok_or(TakeError::LargePack { limit: more })?;
            match &mut indexing {
                Some((_, running)) => feed(running, &bytes).await,
                None => {
                    if let Some((heading, pack)) = reader.feed(&bytes)? {
                        let mut running = self.index_pack()?;
                        feed(&mut running, &pack).await;
                        indexing = Some((heading, running));
                    }
                }
            }
        }
        let complaint = shown::line(complaint.trim_ascii(), 600);
        let Some((heading, running)) = indexing else { return Ok((None, complaint)) };
        match running.end(1 << 20).await {
            Ok(Ran { succeeded: Succeeded::Yes, .. }) => Ok((Some(heading), complaint)),
            Ok(ran) => Err(TakeError::Objects { reason: ran.complaint }),
            Err(error) => Err(fault_of_objects(error)),
        }
    }

    fn index_pack(&self) -> Result<Running, TakeError> {
        let mut command = self.git.on(&self.path());
        let most = format!("--max-input-size={}", self.limits.pack_bytes);
        command.args(["index-pack", "--stdin", STRICT, "--threads=1", &most]);
        Ok(Running::start(command, self.allowance())?)
    }

    /// Everything that the tree needs is there.
    pub(super) async fn check_whole(
        &self,
        tree: &ObjectName,
        base: &CommitId,
    ) -> Result<(), TakeError> {
        let kind =
            self.git.ask("find the tree", &self.path(), &["cat-file", "-t", tree.as_str()]).await;
        if !matches!(kind.as_deref(), Ok("tree")) {
            return Err(TakeError::Objects { reason: format!("{tree} is no tree that came out") });
        }
        let mut command = self.git.on(&self.path());
        command.args(["rev-list", "--objects", "--quiet", tree.as_str()]);
        command.arg(format!("^{base}^{{tree}}"));
        let ran = run(command, &[], self.allowance()).await.map_err(fault_of_objects)?;
        match ran.succeeded {
            Succeeded::Yes => Ok(()),
            Succeeded::No => Err(TakeError::Objects { reason: ran.complaint }),
        }
    }

    /// What is different from the base.
    pub(super) async fn touched(
        &self,
        base: &CommitId,
        tree: &str,
    ) -> Result<Vec<Touched>, TakeError> {
        let allowance = Allowance { output_bytes: DIFFERENCE, ..self.allowance() };
        let base = base.as_str();
        self.git.touched(&self.path(), base, tree, allowance).await.map_err(fault_of_objects)
    }

    /// The same tree with these entries, as lines of an index.
    pub(super) async fn with_entries(
        &self,
        tree: &ObjectName,
        lines: &[u8],
    ) -> Result<ObjectName, TakeError> {
        let index = self.directory.path().join("index");
        let on_index = |arguments: &[&str]| {
            let mut command = self.git.on(&self.path());
            command.env("GIT_INDEX_FILE", &index).args(arguments);
            command
        };
        let steps: [(&[&str], &[u8]); 3] = [
            (&["read-tree", tree.as_str()], &[]),
            (&["update-index", "-z", "--replace", "--index-info"], lines),
            (&["write-tree"], &[]),
        ];
        let mut said = Vec::new();
        for (arguments, input) in steps {
            let ran = run(on_index(arguments), input, self.allowance()).await;
            said = ran.and_then(|ran| ran.checked("leave out what was there before"))?;
        }
        let name = String::from_utf8_lossy(&said);
        let odd = |_wrong| GitError::Strange { doing: "leave out what was there before" };
        Ok(name.trim().parse().map_err(odd)?)
    }

    /// The names of all files, each with a NUL behind it.
    pub(super) async fn names(&self, tree: &str) -> Result<Vec<u8>, TakeError> {
        let mut command = self.git.on(&self.path());
        command.args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree]);
        let ran = run(command, &[], self.allowance()).await;
        ran.and_then(|ran| ran.checked("list files")).map_err(fault_of_objects)
    }

    pub(super) fn blobs(&self) -> Result<Blobs, TakeError> {
        let allowance = Allowance { time: Duration::from_mins(5), ..self.allowance() };
        Ok(self.git.blobs(&self.path(), allowance)?)
    }
}

/// When git does not want any more it says why with its end, which is heard later.
async fn feed(running: &mut Running, bytes: &[u8]) {
    if let Some(input) = &mut running.input
        && input.write_all(bytes).await.is_err()
    {
        running.input = None;
    }
}

fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    const MOST: usize = 2_000;
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(MOST);
    kept.drain(..surplus);
}

impl From<HeadingError> for TakeError {
    fn from(error: HeadingError) -> Self {
        Self::Objects { reason: error.to_string() }
    }
}
