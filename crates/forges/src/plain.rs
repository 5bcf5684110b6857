//! Plain git as a forge: no software but git on either side.

use contracts::Key;
use domain::{code::RepositoryName, id::SandboxId};

use crate::{
    house::House,
    taking::{self, TakeError, Taken},
};

/// A forge on any repository that git reaches.
#[derive(Debug)]
pub struct PlainGit<H> {
    pub(crate) house: H,
}

impl<H: House> PlainGit<H> {
    pub const fn new(house: H) -> Self {
        Self { house }
    }

    pub const fn house(&self) -> &H {
        &self.house
    }

    /// Removes what takings left that were killed. Only while nothing else works here: at the start.
    pub fn clear_scratch(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(self.house.scratch())? {
            std::fs::remove_dir_all(entry?.path())?;
        }
        Ok(())
    }

    /// Takes the work out of a sandbox, with what a person should look at twice.
    pub async fn take(
        &self,
        key: Key,
        sandbox: SandboxId,
        repository: &RepositoryName,
    ) -> Result<Taken, TakeError> {
        taking::take(&self.house, key, sandbox, repository).await
    }
}
