//! The files of one directory in a commit, read from its objects: nothing is checked out, and no link is followed.

use domain::code::{CommitId, RepositoryName};

use super::{MirrorError, Mirrors};
use crate::{
    run::{Allowance, GitError, QUICK, run},
    touched::{Mode, ObjectName},
};

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// Without the directory. Whatever is no text was left out.
    pub name: String,
    pub mode: Mode,
    pub object: ObjectName,
    /// None of what has no content.
    pub bytes: Option<u64>,
}

/// What a directory may say about itself; one with more names is nobody's.
const LISTING: Allowance = Allowance { output_bytes: 1 << 20, ..QUICK };

impl Mirrors {
    /// What stands directly in `directory` of `commit`, in git's order; nothing, if there is no such directory.
    pub async fn folder(
        &self,
        name: &RepositoryName,
        commit: &CommitId,
        directory: &str,
    ) -> Result<Vec<Filed>, MirrorError> {
        let mirror = self.known(name)?;
        let mut command = self.shared.git.on(&mirror.path);
        command.args(["ls-tree", "-z", "--long", "--full-tree", commit.as_str(), "--"]);
        command.arg(format!("{directory}/"));
        let listed = run(command, &[], LISTING).await?.checked("list files")?;
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let read = lines.map(|line| one(line, directory)).collect::<Option<Vec<_>>>();
        let read = read.ok_or(GitError::Strange { doing: "list files" })?;
        Ok(read.into_iter().flatten().collect())
    }

    /// Whether any commit that led to `commit` touched something in `directory`.
    pub async fn ever_had(
        &self,
        name: &RepositoryName,
        commit: &CommitId,
        directory: &str,
    ) -> Result<bool, MirrorError> {
        let mirror = self.known(name)?;
        let mut command = self.shared.git.on(&mirror.path);
        command.args(["rev-list", "--max-count=1", commit.as_str(), "--"]);
        command.arg(format!("{directory}/"));
        Ok(!run(command, &[], LISTING).await?.checked("look back")?.is_empty())
    }

    /// The content of a file that was found so, which must not be larger than `limit`.
    pub async fn content(
        &self,
        name: &RepositoryName,
        object: &ObjectName,
        limit: u64,
    ) -> Result<Vec<u8>, MirrorError> {
        let mirror = self.known(name)?;
        let mut blobs = self.shared.git.blobs(&mirror.path, QUICK)?;
        Ok(blobs.read(object, limit).await?)
    }
}

/// `100644 blob <hash>    <size>\t<path>`; nobody, where the name is no text.
fn one(line: &[u8], directory: &str) -> Option<Vec<Filed>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (heading, path) = line.split_at_checked(tab)?;
    let mut words = std::str::from_utf8(heading).ok()?.split_ascii_whitespace();
    let (mode, kind) = (words.next()?, words.next()?);
    let (object, size) = (words.next()?.parse().ok()?, words.next()?);
    // Directories are `040000`, which `Mode` keeps as something else.
    let mode = Mode::read(mode)?;
    let bytes = if kind == "blob" { Some(size.parse().ok()?) } else { None };
    let Ok(path) = std::str::from_utf8(path.get(1..)?) else { return Some(Vec::new()) };
    let name = path.strip_prefix(directory)?.strip_prefix('/')?.to_owned();
    Some(vec![Filed { name, mode, object, bytes }])
}
