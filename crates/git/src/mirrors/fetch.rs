//! Bringing a mirror up to date.

use std::path::{Path, PathBuf};

use domain::code::RepositoryName;
use fs_err as fs;
use tokio::sync::mpsc;

use super::{MirrorError, Mirrors, configure};
use crate::{
    mirror::Mirror,
    program::Hash,
    remote::{Door, ORIGIN, THREADS},
    run::{Allowance, GitError, QUICK, Ran, Succeeded, Told, run, run_telling},
};

impl Mirrors {
    /// Fetches all branches and tags. Lines of git's progress go to `progress`, as far as someone listens. Of two
    /// fetches of one repository the second waits for the first.
    pub async fn fetch(
        &self,
        name: &RepositoryName,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<(), MirrorError> {
        let mirror = self.known(name)?;
        let _alone = self.alone_in(name, &mirror.path).await?;
        remove_torn_packs(&mirror.path)?;
        let mut ran = self.fetch_once(name, &mirror, progress.clone()).await?;
        // Which hash the other side uses is only known when it answers.
        if ran.complaint.contains("mismatched algorithms") && is_new(&mirror.path)? {
            configure(&mirror.path, &mirror.source, Hash::Sha256)?;
            ran = self.fetch_once(name, &mirror, progress).await?;
        }
        ran.checked("fetch")?;
        self.follow_head(&mirror).await
    }

    /// Joins small packs into larger ones. No object goes, reachable or not.
    pub async fn tidy(&self, name: &RepositoryName) -> Result<(), MirrorError> {
        let mirror = self.known(name)?;
        let _alone = self.alone_in(name, &mirror.path).await?;
        let mut command = self.shared.git.on(&mirror.path);
        command.args(["repack", "--quiet", "--geometric=2", "-d", "--no-write-bitmap-index"]);
        let ran = run(command, &[], self.allowance(None)).await;
        ran.map_err(|error| self.trouble(name, error))?.checked("tidy a mirror")?;
        Ok(())
    }

    async fn fetch_once(
        &self,
        name: &RepositoryName,
        mirror: &Mirror,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<Ran, MirrorError> {
        let Mirror { path, source } = mirror;
        let limit_bytes = self.shared.limits.bytes;
        let large = || MirrorError::Large { repository: name.clone(), limit_bytes };
        let left = limit_bytes.saturating_sub(packed_bytes(path)?);
        if left == 0 {
            return Err(large());
        }
        let git = &self.shared.git;
        let mut command = git.on(path);
        command.env("GIT_ALLOW_PROTOCOL", source.transport().name());
        command.args(["-c", THREADS, "-c", "fetch.writeCommitGraph=true"]);
        command.args(["fetch", "--progress", "--prune", "--no-tags", "--no-recurse-submodules"]);
        command.args(["--no-auto-maintenance", "--no-write-fetch-head"]);
        command.args(git.other_side(source, Door::Out)?).arg(ORIGIN);
        let told = progress.map(|to| Told { to, secret: source.secret().map(str::to_owned) });
        let ran = run_telling(command, &[], self.allowance(Some(left)), told).await;
        let was_cut = torn_packs(path)?.iter().any(|pack| bytes(pack) >= left);
        if !matches!(&ran, Ok(Ran { succeeded: Succeeded::Yes, .. })) {
            remove_torn_packs(path)?;
            if was_cut {
                return Err(large());
            }
        }
        let mut ran = ran.map_err(|error| self.trouble(name, error))?;
        ran.complaint = source.redact(&ran.complaint);
        Ok(ran)
    }

    /// The mirror's `HEAD` is the other side's default branch.
    async fn follow_head(&self, mirror: &Mirror) -> Result<(), MirrorError> {
        let git = &self.shared.git;
        let Ok(far) = git.look(mirror, &[]).await else { return Ok(()) };
        let Some(branch) = far.head.as_deref() else { return Ok(()) };
        let mut follow = git.on(&mirror.path);
        follow.args(["symbolic-ref", "HEAD", branch]);
        run(follow, &[], QUICK).await?.checked("follow the default branch")?;
        Ok(())
    }

    fn allowance(&self, file_bytes: Option<u64>) -> Allowance {
        let limits = self.shared.limits;
        Allowance {
            time: limits.time,
            file_bytes,
            memory_bytes: Some(limits.memory_bytes),
            ..QUICK
        }
    }

    fn trouble(&self, name: &RepositoryName, error: GitError) -> MirrorError {
        match error {
            GitError::OutOfTime => {
                MirrorError::Slow { repository: name.clone(), limit: self.shared.limits.time }
            }
            error @ (GitError::Io(_)
            | GitError::Failed { .. }
            | GitError::Killed
            | GitError::TooMuch { .. }
            | GitError::Strange { .. }) => error.into(),
        }
    }
}

fn packs(mirror: &Path) -> Result<Vec<PathBuf>, MirrorError> {
    let entries = fs::read_dir(mirror.join("objects/pack"))?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

fn packed_bytes(mirror: &Path) -> Result<u64, MirrorError> {
    Ok(packs(mirror)?.iter().map(|pack| bytes(pack)).sum())
}

fn bytes(pack: &Path) -> u64 {
    fs::metadata(pack).map_or(0, |pack| pack.len())
}

/// Whether anything was ever fetched into it, in packs or in files of their own.
pub(super) fn holds_objects(mirror: &Path) -> Result<bool, MirrorError> {
    let is_loose = |name: &std::ffi::OsStr| name.len() == 2;
    for entry in fs::read_dir(mirror.join("objects"))? {
        if is_loose(&entry?.file_name()) {
            return Ok(true);
        }
    }
    Ok(!is_new(mirror)?)
}

fn is_new(mirror: &Path) -> Result<bool, MirrorError> {
    Ok(packs(mirror)?.is_empty())
}

/// What a fetch that was ended left.
fn torn_packs(mirror: &Path) -> Result<Vec<PathBuf>, MirrorError> {
    let is_torn = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("tmp_"))
    };
    Ok(packs(mirror)?.into_iter().filter(is_torn).collect())
}

/// Only with the lock held: nobody else writes.
fn remove_torn_packs(mirror: &Path) -> Result<(), MirrorError> {
    for torn in torn_packs(mirror)? {
        fs::remove_file(torn)?;
    }
    Ok(())
}
