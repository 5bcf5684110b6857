//! What is kept about commits: notes, which `lamp why` reads long after the task is gone, and signed receipts, which `lamp verify` reads where no
//! server is.
//!
//! They are kept as git's own notes are (a tree of contents named by commits), below `refs/lamp/notes` and `refs/lamp/receipts`, so that
//! they travel with the repository and change no commit.

use contracts::forge::{LARGEST_RECEIPT, PullError};
use domain::code::CommitId;
use git::{GitError, PushError, QUICK, RefName, Update, run};

use super::ledger::{ATTEMPTS, Ledger, crowded, far_trouble, git_trouble};
use crate::{host::Identity, refs, taking::write_commit};

/// Of one note.
pub const LARGEST_NOTE: usize = 256 << 10;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shelf {
    Notes,
    Receipts,
}

impl Shelf {
    fn name(self) -> RefName {
        match self {
            Self::Notes => refs::notes(),
            Self::Receipts => refs::receipts(),
        }
    }

    const fn largest(self) -> usize {
        match self {
            Self::Notes => LARGEST_NOTE,
            Self::Receipts => LARGEST_RECEIPT,
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Notes => "note",
            Self::Receipts => "receipt",
        }
    }
}

impl Ledger<'_> {
    /// What is kept about a commit.
    pub(super) async fn kept(
        &self,
        kind: Shelf,
        commit: &CommitId,
    ) -> Result<Option<Vec<u8>>, PullError> {
        let name = kind.name();
        let far = self.look(&[name.as_str()]).await?;
        let Some(at) = far.at(&name) else { return Ok(None) };
        self.have(at, &name).await?;
        let mut blobs = self.host.git().blobs(&self.mirror.path, QUICK).map_err(git_trouble)?;
        let read = blobs.file(at, &place(commit), kind.largest() as u64).await;
        read.map_err(git_trouble)
    }

    /// Keeps something about a commit, in place of what is there.
    pub(super) async fn keep(
        &self,
        kind: Shelf,
        commit: &CommitId,
        content: &[u8],
    ) -> Result<(), PullError> {
        let (noun, most) = (kind.noun(), kind.largest());
        if content.len() > most {
            return Err(PullError::Refused {
                reason: format!("a {noun} has at most {most} bytes"),
            });
        }
        let name = kind.name();
        for _ in 0..ATTEMPTS {
            let far = self.look(&[name.as_str()]).await?;
            let old = far.at(&name).cloned();
            if let Some(at) = &old {
                self.have(at, &name).await?;
            }
            let Some(new) = self.with_one(old.as_ref(), kind, commit, content).await? else {
                return Ok(());
            };
            match self.push(&[Update { name: name.clone(), old, new }]).await {
                Err(PushError::Stale) => {}
                pushed => return pushed.map_err(far_trouble),
            }
        }
        Err(crowded())
    }

    async fn have(&self, at: &CommitId, name: &RefName) -> Result<(), PullError> {
        let is_here = self.host.git().has(&self.mirror.path, &format!("{at}^{{tree}}")).await;
        if is_here.map_err(git_trouble)? { Ok(()) } else { self.bring(&[name.as_str()]).await }
    }

    /// The tree with one more; nothing when it is there already.
    async fn with_one(
        &self,
        old: Option<&CommitId>,
        kind: Shelf,
        commit: &CommitId,
        content: &[u8],
    ) -> Result<Option<CommitId>, PullError> {
        let (git, path) = (self.host.git(), &self.mirror.path);
        let blob = git.write_blob(path, content).await.map_err(git_trouble)?;
        let scratch = tempfile::Builder::new().prefix("notes-").tempdir_in(self.host.scratch());
        let scratch = scratch.map_err(|error| git_trouble(GitError::Io(error)))?;
        let index = scratch.path().join("index");
        let staged = async |arguments: &[&str]| -> Result<String, GitError> {
            let mut command = git.on(path);
            command.env("GIT_INDEX_FILE", &index).args(arguments);
            let said = run(command, &[], QUICK).await?.checked("write a note")?;
            Ok(String::from_utf8_lossy(&said).trim().to_owned())
        };
        if let Some(old) = old {
            staged(&["read-tree", old.as_str()]).await.map_err(git_trouble)?;
        }
        let entry = format!("100644,{blob},{}", place(commit));
        // Whoever may push may have put a file where a directory has to be, or the other way round. Ours takes its place.
        let put = ["update-index", "--add", "--replace", "--cacheinfo", &entry];
        staged(&put).await.map_err(git_trouble)?;
        let tree = staged(&["write-tree"]).await.map_err(git_trouble)?;
        if let Some(old) = old {
            let before = ["rev-parse", &format!("{old}^{{tree}}")];
            if git.ask("read notes", path, &before).await.map_err(git_trouble)? == tree {
                return Ok(None);
            }
        }
        let (who, seconds) = (Identity::platform(), self.seconds());
        let people = [("AUTHOR", &who), ("COMMITTER", &who)];
        let message = match kind {
            Shelf::Notes => format!("Note on {commit}\n"),
            Shelf::Receipts => format!("Receipt of {commit}\n"),
        };
        let parents: Vec<&CommitId> = old.into_iter().collect();
        let written = write_commit(git, path, &tree, &parents, people, seconds, &message).await;
        written.map(Some).map_err(git_trouble)
    }
}

/// As git's notes are named once there are many.
fn place(commit: &CommitId) -> String {
    let (first, rest) = commit.as_str().split_at(2);
    format!("{first}/{rest}")
}
