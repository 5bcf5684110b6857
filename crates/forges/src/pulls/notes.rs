//! Notes on commits: what `lamp why` reads, long after the task is gone.
//!
//! They are kept as git's own notes are (a tree of contents named by commits), below `refs/lamp/notes`, so that they travel with
//! the repository and change no commit.

use contracts::forge::PullError;
use domain::code::CommitId;

use super::ledger::{ATTEMPTS, Ledger, crowded, far_trouble, git_trouble, platform};
use crate::{
    git::{GitError, PushError, QUICK, RefName, Update, run},
    house::House,
    taking::write_commit,
};

/// Of one note.
pub const LARGEST_NOTE: usize = 256 << 10;

impl<H: House> Ledger<'_, H> {
    /// The note on a commit.
    pub(super) async fn note_on(&self, commit: &CommitId) -> Result<Option<Vec<u8>>, PullError> {
        let name = RefName::notes();
        let far = self.look(&[name.as_str()]).await?;
        let Some(at) = far.at(&name) else { return Ok(None) };
        self.have(at, &name).await?;
        let mut blobs = self.house.git().blobs(&self.mirror.path, QUICK).map_err(git_trouble)?;
        let read = blobs.file(at, &place(commit), LARGEST_NOTE as u64).await;
        read.map_err(git_trouble)
    }

    /// Puts a note on a commit, in place of the one that is there.
    pub(super) async fn put_note(&self, commit: &CommitId, note: &[u8]) -> Result<(), PullError> {
        if note.len() > LARGEST_NOTE {
            let reason = format!("a note has at most {LARGEST_NOTE} bytes");
            return Err(PullError::Refused { reason });
        }
        let name = RefName::notes();
        for _ in 0..ATTEMPTS {
            let far = self.look(&[name.as_str()]).await?;
            let old = far.at(&name).cloned();
            if let Some(at) = &old {
                self.have(at, &name).await?;
            }
            let Some(new) = self.with_note(old.as_ref(), commit, note).await? else {
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
        let is_here = self.house.git().has(&self.mirror.path, &format!("{at}^{{tree}}")).await;
        if is_here.map_err(git_trouble)? { Ok(()) } else { self.bring(&[name.as_str()]).await }
    }

    /// The notes with one more; nothing when it is there already.
    async fn with_note(
        &self,
        old: Option<&CommitId>,
        commit: &CommitId,
        note: &[u8],
    ) -> Result<Option<CommitId>, PullError> {
        let (git, path) = (self.house.git(), &self.mirror.path);
        let blob = git.write_blob(path, note).await.map_err(git_trouble)?;
        let scratch = tempfile::Builder::new().prefix("notes-").tempdir_in(self.house.scratch());
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
        staged(&["update-index", "--add", "--cacheinfo", &entry]).await.map_err(git_trouble)?;
        let tree = staged(&["write-tree"]).await.map_err(git_trouble)?;
        if let Some(old) = old {
            let before = ["rev-parse", &format!("{old}^{{tree}}")];
            if git.ask("read notes", path, &before).await.map_err(git_trouble)? == tree {
                return Ok(None);
            }
        }
        let (who, seconds) = (platform(), self.seconds());
        let people = [("AUTHOR", &who), ("COMMITTER", &who)];
        let message = format!("Note on {commit}\n");
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
