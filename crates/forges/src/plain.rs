//! Plain git as a forge: no software but git on either side.

use contracts::{
    Key,
    forge::{Change, Taking},
};

use crate::{
    house::House,
    taking::{self, TakeError},
};

/// A forge on any repository that git reaches.
#[derive(Debug, Clone)]
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

    /// Takes the work out of a sandbox, and tells exactly why when it may not leave.
    pub async fn take(&self, key: Key, taking: &Taking) -> Result<Change, TakeError> {
        taking::take(&self.house, key, taking).await
    }
}
