//! What is different between two trees: as a list, and as a patch.
//!
//! Whatever a repository says about how it wants to be compared is not heard: no driver, no conversion, no attribute.

use std::path::Path;

use domain::code::CommitId;
use tokio::{io::AsyncReadExt as _, time::timeout};

use crate::{
    program::{Git, Hash},
    run::{Allowance, GitError, QUICK, Running, run},
    touched::{self, Touched},
};

/// A patch, or as much of it as there was room and time for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch {
    Whole(Vec<u8>),
    Cut(Vec<u8>),
}

/// More than anybody reads; the rest is in the repository.
const LARGEST_PATCH: u64 = 8 << 20;

/// The tree without anything in it, which every repository has without keeping it.
const EMPTY_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

impl Git {
    /// All paths that are different, in git's order. A file that moved is gone in one place and new in another.
    pub async fn touched(
        &self,
        repository: &Path,
        old: &str,
        new: &str,
        allowance: Allowance,
    ) -> Result<Vec<Touched>, GitError> {
        let mut command = self.on(repository);
        command.args(["diff-tree", "-r", "-z", "--raw", "--no-renames"]);
        command.args(["--full-index", "--no-abbrev"]);
        command.args([format!("{old}^{{tree}}"), format!("{new}^{{tree}}")]);
        let raw = run(command, &[], allowance).await?.checked("compare trees")?;
        touched::read(&raw).map_err(|_wrong| GitError::Strange { doing: "compare trees" })
    }

    /// A patch of a range, as much of it as there is room and time for. `like` is any commit of the repository.
    pub async fn patch(
        &self,
        repository: &Path,
        like: &CommitId,
        range: &str,
    ) -> Result<Patch, GitError> {
        let empty = match Hash::of(like) {
            Hash::Sha1 => EMPTY_SHA1,
            Hash::Sha256 => EMPTY_SHA256,
        };
        let mut command = self.on(repository);
        // Some versions of git take the attributes of the default branch for a bare repository's own, and a file with `-diff` would
        // show nothing of what is in it.
        command.env("GIT_ATTR_SOURCE", empty);
        command.args(["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index"]);
        command.args(["--submodule=short", "--find-renames", "-l200", range, "--"]);
        let mut running = Running::start(command, QUICK)?;
        let mut text = Vec::new();
        if let Some(output) = &mut running.output {
            let mut output = output.take(LARGEST_PATCH);
            match timeout(QUICK.time, output.read_to_end(&mut text)).await {
                Ok(read) => read?,
                Err(_late) => return Ok(Patch::Cut(text)),
            };
        }
        if text.len() as u64 == LARGEST_PATCH {
            return Ok(Patch::Cut(text));
        }
        let ending = timeout(QUICK.time, running.end(1)).await;
        ending.map_err(|_late| GitError::OutOfTime)??.checked("compare")?;
        Ok(Patch::Whole(text))
    }
}
