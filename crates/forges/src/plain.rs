//! Plain git as a forge: no software but git on either side.

use std::{fs, io};

use contracts::{
    Key,
    forge::{Change, Taking},
    sandbox::Sandboxes,
};

use crate::{
    host::GitHost,
    taking::{self, TakeError},
};

/// A forge on any repository that git reaches.
#[derive(Debug, Clone)]
pub struct PlainGit<S> {
    pub(crate) host: GitHost,
    sandboxes: S,
}

impl<S: Sandboxes> PlainGit<S> {
    /// Also removes what takings left that were killed. Only while nothing else works here: at the start.
    pub fn open(host: GitHost, sandboxes: S) -> io::Result<Self> {
        let scratch = host.scratch();
        fs::create_dir_all(&scratch)?;
        for entry in fs::read_dir(&scratch)? {
            fs::remove_dir_all(entry?.path())?;
        }
        Ok(Self { host, sandboxes })
    }

    /// Takes the work out of a sandbox, and tells exactly why when it may not leave.
    pub async fn take(&self, key: Key, taking: &Taking) -> Result<Change, TakeError> {
        taking::take(&self.host, &self.sandboxes, key, taking).await
    }
}
