//! The ids that were destroyed.

use std::{
    collections::HashSet,
    io::{self, Write as _},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use domain::id::SandboxId;
use fs_err as fs;

const LENGTH: usize = 16;

#[derive(Debug)]
pub(crate) struct Gone {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: fs::File,
    ids: HashSet<SandboxId>,
}

impl Gone {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let (whole, torn) = bytes.as_chunks::<LENGTH>();
        let ids = whole.iter().map(|id| SandboxId::from_u128(u128::from_be_bytes(*id))).collect();
        let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        // The last one was being written when the server died, so nobody was told that it is gone.
        file.set_len((bytes.len() - torn.len()) as u64)?;
        Ok(Self { state: Mutex::new(State { file, ids }) })
    }

    pub(crate) fn contains(&self, id: SandboxId) -> bool {
        self.lock().ids.contains(&id)
    }

    pub(crate) fn add(&self, id: SandboxId) -> io::Result<()> {
        let mut state = self.lock();
        if state.ids.contains(&id) {
            return Ok(());
        }
        let before = state.file.metadata()?.len();
        if let Err(error) = state.file.write_all(&id.as_u128().to_be_bytes()) {
            // Half an id would shift all that come after it.
            state.file.set_len(before)?;
            return Err(error);
        }
        state.ids.insert(id);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_stays_gone_over_a_torn_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        let (first, second) = (SandboxId::from_u128(1), SandboxId::from_u128(2));
        Gone::open(&path).unwrap().add(first).unwrap();
        let mut torn = fs::read(&path).unwrap();
        torn.extend([1, 2, 3]);
        fs::write(&path, torn).unwrap();
        let gone = Gone::open(&path).unwrap();
        gone.add(second).unwrap();
        let gone = Gone::open(&path).unwrap();
        assert!(gone.contains(first) && gone.contains(second));
        assert!(!gone.contains(SandboxId::from_u128(3)));
    }
}
