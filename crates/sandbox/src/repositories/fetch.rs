//! Bringing a mirror up to date.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use domain::code::RepositoryName;
use fs_err as fs;
use tokio::sync::mpsc;

use super::{
    Hash, MirrorError, Mirrors, Source, configure,
    git::{Allowance, OutOfTime, Ran, Succeeded, run},
};

impl Mirrors {
    /// Fetches all branches and tags. Lines of git's progress go to `progress`, as far as someone listens. Of two
    /// fetches of one repository the second waits for the first.
    pub async fn fetch(
        &self,
        name: &RepositoryName,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<(), MirrorError> {
        let (mirror, source) = self.known(name)?;
        let _alone = self.alone_in(name, &mirror).await?;
        remove_torn_packs(&mirror)?;
        let mut ran = self.fetch_once(name, &mirror, &source, progress.clone()).await?;
        // Which hash the other side uses is only known when it answers.
        if ran.complaint.contains("mismatched algorithms") && is_new(&mirror)? {
            configure(&mirror, &source, Hash::Sha256)?;
            ran = self.fetch_once(name, &mirror, &source, progress).await?;
        }
        ran.checked("fetch")?;
        self.follow_head(&mirror, &source).await
    }

    /// Joins small packs into larger ones. No object goes, reachable or not.
    pub async fn tidy(&self, name: &RepositoryName) -> Result<(), MirrorError> {
        let (mirror, _) = self.known(name)?;
        let _alone = self.alone_in(name, &mirror).await?;
        let mut command = self.shared.git.on(&mirror);
        command.args(["repack", "--quiet", "--geometric=2", "-d", "--no-write-bitmap-index"]);
        let allowance = Allowance { time: self.shared.limits.time, file_bytes: None };
        let ran = run(command, allowance, None).await?.map_err(|OutOfTime| self.slow(name))?;
        ran.checked("tidy a mirror").map(drop)
    }

    async fn fetch_once(
        &self,
        name: &RepositoryName,
        mirror: &Path,
        source: &Source,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<Ran, MirrorError> {
        let limits = self.shared.limits;
        let large = || MirrorError::Large { repository: name.clone(), limit_bytes: limits.bytes };
        let left = limits.bytes.saturating_sub(packed_bytes(mirror)?);
        if left == 0 {
            return Err(large());
        }
        let mut command = self.shared.git.on(mirror);
        command.env("GIT_ALLOW_PROTOCOL", source.transport().name());
        command.args(["fetch", "--progress", "--prune", "--no-tags", "--no-recurse-submodules"]);
        command.args(["--no-auto-maintenance", "--no-write-fetch-head"]);
        command.args(self.other_side(source)?).arg("origin");
        let allowance = Allowance { time: limits.time, file_bytes: Some(left) };
        let Ok(mut ran) = run(command, allowance, progress).await? else {
            remove_torn_packs(mirror)?;
            return Err(self.slow(name));
        };
        if ran.succeeded == Succeeded::No {
            let was_cut = torn_packs(mirror)?.iter().any(|pack| bytes(pack) >= left);
            remove_torn_packs(mirror)?;
            if was_cut {
                return Err(large());
            }
        }
        ran.complaint = source.redact(&ran.complaint);
        Ok(ran)
    }

    /// The other side of a fetch from a directory is a program that we start there, and it reads the settings of
    /// that repository. Git lets none of them start a program; beyond that it gets no more rights than the
    /// directory's owner has, so that a repository cannot show what only root may read.
    fn other_side(&self, source: &Source) -> Result<Option<String>, MirrorError> {
        let Some(directory) = source.directory() else { return Ok(None) };
        let failed = |reason| MirrorError::Git { doing: "fetch", reason };
        let owner = fs::metadata(directory).map_err(|error| failed(error.to_string()))?;
        if !owner.is_dir() {
            return Err(failed(format!("`{}` is not a directory", directory.display())));
        }
        let git = quoted(&self.shared.git.program);
        let settings = "-c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*'";
        let serve = format!("{git} {settings} upload-pack");
        let steps_down = rustix::process::geteuid().is_root() && owner.uid() != 0;
        let (uid, gid) = (owner.uid(), owner.gid());
        let less = format!("setpriv --reuid={uid} --regid={gid} --clear-groups --no-new-privs");
        let serve = if steps_down { format!("{less} {serve}") } else { serve };
        Ok(Some(format!("--upload-pack={serve}")))
    }

    /// The mirror's `HEAD` is the other side's default branch.
    async fn follow_head(&self, mirror: &Path, source: &Source) -> Result<(), MirrorError> {
        let mut ask = self.shared.git.on(mirror);
        ask.env("GIT_ALLOW_PROTOCOL", source.transport().name());
        ask.args(["ls-remote", "--quiet", "--symref"]);
        ask.args(self.other_side(source)?).args(["origin", "HEAD"]);
        let Ok(answer) = run(ask, super::git::QUICK, None).await? else { return Ok(()) };
        let told =
            answer.output.lines().find_map(|line| line.strip_prefix("ref: ")?.split('\t').next());
        let Some(branch) = told.filter(|branch| branch.starts_with("refs/heads/")) else {
            return Ok(());
        };
        let mut follow = self.shared.git.on(mirror);
        follow.args(["symbolic-ref", "HEAD", branch]);
        match run(follow, super::git::QUICK, None).await? {
            Ok(ran) => ran.checked("follow the default branch").map(drop),
            Err(OutOfTime) => Ok(()),
        }
    }

    fn slow(&self, name: &RepositoryName) -> MirrorError {
        MirrorError::Slow { repository: name.clone(), limit: self.shared.limits.time }
    }
}

/// For the shell that git starts the other side with.
fn quoted(path: &Path) -> String {
    domain::shell::quoted(&path.display().to_string())
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
