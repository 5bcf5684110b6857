//! One at a time writes into a mirror: in this process, and on this host.

use std::{
    fs::File,
    path::Path,
    sync::{Arc, PoisonError},
};

use domain::code::RepositoryName;
use tokio::sync::OwnedMutexGuard;

use super::{MirrorError, Mirrors};

/// Nobody else changes this mirror while this is held.
#[derive(Debug)]
pub struct Alone {
    _here: OwnedMutexGuard<()>,
    _anywhere: File,
}

impl Mirrors {
    /// Waits until nobody else fetches into the mirror or tidies it up.
    pub async fn alone(&self, name: &RepositoryName) -> Result<Alone, MirrorError> {
        let mirror = self.known(name)?;
        self.alone_in(name, &mirror.path).await
    }

    pub(crate) async fn alone_in(
        &self,
        name: &RepositoryName,
        mirror: &Path,
    ) -> Result<Alone, MirrorError> {
        let turn = {
            let mut all = self.shared.fetching.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(name.clone()).or_default())
        };
        let here = turn.lock_owned().await;
        let path = mirror.join("lamp-lock");
        let anywhere = tokio::task::spawn_blocking(move || lock(&path)).await;
        let anywhere = anywhere.map_err(std::io::Error::other)??;
        Ok(Alone { _here: here, _anywhere: anywhere })
    }
}

fn lock(path: &Path) -> std::io::Result<File> {
    let file = File::options().create(true).append(true).open(path)?;
    file.lock()?;
    Ok(file)
}
