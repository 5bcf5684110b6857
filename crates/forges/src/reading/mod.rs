//! Commits, as they are read on the host: from objects alone. Nothing is checked out, converted or run.
//!
//! A repository is hostile input here, whoever works on it. Names, numbers, sizes, memory and time have limits; what is over the limit
//! of one file is told by its path alone, and what is over the limit of a whole reading is refused with a sentence.

pub(crate) mod blame;
pub mod listing;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path, time::Duration};

use contracts::{
    forge::{
        Comparison, Diff, FileChange, FileVersion, Files, ForgeError, LARGEST_FILE, LARGEST_READING,
    },
    sandbox::Cut,
};
use domain::code::{CommitId, RepositoryName};
use git::{Allowance, Blobs, Git, GitError, Mirror, Patch, Running};
use listing::{Listing, ListingError, ListingReader};
use tokio::{io::AsyncReadExt as _, time::timeout};

use crate::{
    host::{GitHost, HostError},
    inspection::{ObjectName, Side, Touched},
    shown,
};

/// For each thing that git is asked.
const READING: Allowance = Allowance {
    time: Duration::from_mins(1),
    file_bytes: None,
    // Indexes of large repositories; and a small content can be the difference to a very large one.
    memory_bytes: Some(2 << 30),
    // What is said about more paths than anybody compares.
    output_bytes: 32 << 20,
};

/// Git collects all differences before it tells the first, and a hostile tree has differences without end.
const COMPARING: Allowance = Allowance { memory_bytes: Some(1 << 30), ..READING };

/// For all contents of one reading.
const CONTENTS: Duration = Duration::from_mins(5);

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("`{repository}` has no commit {commit} here")]
    NoCommit { repository: RepositoryName, commit: CommitId },
    #[error(transparent)]
    Listing(#[from] ListingError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Host(#[from] HostError),
}

impl From<ReadError> for ForgeError {
    fn from(error: ReadError) -> Self {
        let reason = error.to_string();
        match error {
            ReadError::Host(HostError::NoRepository(repository)) => Self::NoRepository(repository),
            ReadError::Host(HostError::Busy { .. })
            | ReadError::Git(GitError::Io(_) | GitError::OutOfTime | GitError::Killed) => {
                Self::Busy { reason }
            }
            ReadError::Host(HostError::Refused { .. })
            | ReadError::NoCommit { .. }
            | ReadError::Listing(ListingError::Strange | ListingError::TooMany)
            | ReadError::Git(
                GitError::Failed { .. } | GitError::TooMuch { .. } | GitError::Strange { .. },
            ) => Self::Rejected { reason },
        }
    }
}

/// The paths of a commit, and the contents of those that are wanted.
pub(crate) async fn files(
    host: &GitHost,
    repository: &RepositoryName,
    commit: &CommitId,
    wanted: fn(&str) -> bool,
) -> Result<Files, ForgeError> {
    let mirror = find(host, repository, &[commit]).await?;
    let listing = list(host.git(), &mirror.path, commit, wanted, READING).await?;
    let mut contents = Contents::open(host.git(), &mirror.path)?;
    let reading = async {
        let mut read = BTreeMap::new();
        for (path, object) in listing.wanted {
            if let Some(bytes) = contents.read(&object).await? {
                read.insert(path, bytes);
            }
        }
        Ok(read)
    };
    let contents = in_time(reading).await?;
    Ok(Files { paths: listing.paths, contents })
}

/// What is different between two commits, both with their contents.
pub(crate) async fn compare(
    host: &GitHost,
    repository: &RepositoryName,
    base: &CommitId,
    head: &CommitId,
) -> Result<Comparison, ForgeError> {
    let mirror = find(host, repository, &[base, head]).await?;
    Ok(compared(host.git(), &mirror.path, base, head).await?)
}

async fn compared(
    git: &Git,
    mirror: &Path,
    base: &CommitId,
    head: &CommitId,
) -> Result<Comparison, ReadError> {
    let tree = ["rev-parse", "--verify", "--end-of-options", &format!("{head}^{{tree}}")];
    let tree = git.ask("find a tree", mirror, &tree).await?;
    let touched = git.touched(mirror, base.as_str(), head.as_str(), COMPARING).await?;
    let mut contents = Contents::open(git, mirror)?;
    let reading = async {
        let mut files = Vec::new();
        for one in &touched {
            let old = contents.version(one, one.before.as_ref()).await?;
            let new = contents.version(one, one.after.as_ref()).await?;
            files.push(FileChange { old, new });
        }
        Ok(files)
    };
    let files = in_time(reading).await?;
    let patch = git.patch(mirror, head, &format!("{base}..{head}")).await?;
    Ok(Comparison { tree, files, patch: told(patch) })
}

/// A patch in the words of forges.
pub(crate) fn told(patch: Patch) -> Diff {
    match patch {
        Patch::Whole(text) => Diff { text, cut: Cut::Whole },
        Patch::Cut(text) => Diff { text, cut: Cut::Cut },
    }
}

/// The mirror, if it has all of these commits.
async fn find(
    host: &GitHost,
    repository: &RepositoryName,
    commits: &[&CommitId],
) -> Result<Mirror, ReadError> {
    let mirror = host.mirror(repository)?;
    for commit in commits {
        if !host.git().has(&mirror.path, &format!("{commit}^{{commit}}")).await? {
            let (repository, commit) = (repository.clone(), (*commit).clone());
            return Err(ReadError::NoCommit { repository, commit });
        }
    }
    Ok(mirror)
}

/// Everything that has a name. Read as it comes: a hostile tree has no end.
async fn list(
    git: &Git,
    repository: &Path,
    commit: &CommitId,
    wanted: fn(&str) -> bool,
    allowance: Allowance,
) -> Result<Listing, ReadError> {
    let mut command = git.on(repository);
    command.args(["ls-tree", "-r", "-z", "--full-tree", &format!("{commit}^{{tree}}")]);
    let mut running = Running::start(command, allowance)?;
    let listing = async {
        let mut reader = ListingReader::new(wanted);
        let mut buffer = vec![0; 64 << 10];
        if let Some(mut output) = running.output.take() {
            while let read @ 1.. = output.read(&mut buffer).await.map_err(GitError::Io)? {
                reader.feed(buffer.get(..read).unwrap_or_default())?;
            }
        }
        running.end(0).await?.checked("list files")?;
        Ok(reader.finish()?)
    };
    timeout(allowance.time, listing).await.map_err(|_late| GitError::OutOfTime)?
}

/// Contents, one after the other, until there is no room for more.
struct Contents {
    blobs: Blobs,
    left: usize,
}

impl Contents {
    fn open(git: &Git, repository: &Path) -> Result<Self, ReadError> {
        Ok(Self { blobs: git.blobs(repository, READING)?, left: LARGEST_READING })
    }

    /// Nothing when it is too large, or when too much was read already.
    async fn read(&mut self, object: &ObjectName) -> Result<Option<Vec<u8>>, ReadError> {
        let most = LARGEST_FILE.min(self.left);
        match self.blobs.read(object, most as u64).await {
            Ok(bytes) => {
                self.left = self.left.saturating_sub(bytes.len());
                Ok(Some(bytes))
            }
            Err(GitError::TooMuch { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// One side of a difference. Unlike in a list of files, a name that cannot be written down is told, spelt out and without a
    /// content: what was changed must not be hidden by what it is called.
    async fn version(
        &mut self,
        touched: &Touched,
        side: Option<&Side>,
    ) -> Result<Option<FileVersion>, ReadError> {
        let Some(side) = side else { return Ok(None) };
        let Some(path) = listing::writable(&touched.path) else {
            let path = shown::line(&touched.path, 300);
            return Ok(Some(FileVersion { path, bytes: None }));
        };
        let bytes = if side.mode.is_file() { self.read(&side.object).await? } else { None };
        Ok(Some(FileVersion { path: path.to_owned(), bytes }))
    }
}

async fn in_time<T>(reading: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
    timeout(CONTENTS, reading).await.map_err(|_late| GitError::OutOfTime)?
}
