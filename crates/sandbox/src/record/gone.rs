//! The ids that were destroyed.
//!
//! They are kept in two files, `gone` and `gone.old`, and only added to the first. When it is full, it takes the place of the
//! second, but not before every id in that is [`KEPT`] old. So what is remembered is bounded by what was destroyed in two such
//! times, and an id is remembered for at least one: the file's own time of change is when its last id was added, and tells its
//! age after any restart.
//!
//! Why that is enough: an id is asked for again only by whoever repeats a call that was interrupted. An engine repeats a step within
//! its lease and its retries, which are hours; a task that waits for a person longest waits for months. Ids are not ordered by time
//! (the engine's are hashes), so their numbers cannot tell who is old.

use std::{
    collections::HashSet,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{id::SandboxId, time::Timestamp};
use fs_err as fs;

const LENGTH: usize = 16;

/// How long an id is remembered at least.
const KEPT: Duration = Duration::from_hours(24 * 400);

/// How many ids make a file full: one mebibyte of them.
const FULL: u64 = (1 << 20) / LENGTH as u64;

#[derive(Debug)]
pub(crate) struct Gone {
    path: PathBuf,
    full: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: fs::File,
    ids: HashSet<SandboxId>,
    /// Those of the older file.
    old: HashSet<SandboxId>,
}

impl Gone {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, FULL)
    }

    fn open_with(path: &Path, full: u64) -> io::Result<Self> {
        let (ids, whole_bytes) = read(path)?;
        let (old, _) = read(&older(path))?;
        let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        // The last one was being written when the server died, so nobody was told that it is gone. Cutting nothing leaves the
        // file's time as it is.
        if file.metadata()?.len() != whole_bytes {
            file.set_len(whole_bytes)?;
        }
        Ok(Self { path: path.to_owned(), full, state: Mutex::new(State { file, ids, old }) })
    }

    pub(crate) fn contains(&self, id: SandboxId) -> bool {
        let state = self.lock();
        state.ids.contains(&id) || state.old.contains(&id)
    }

    pub(crate) fn add(&self, id: SandboxId, now: Timestamp) -> io::Result<()> {
        let mut state = self.lock();
        if state.ids.contains(&id) || state.old.contains(&id) {
            return Ok(());
        }
        self.make_room(&mut state, now)?;
        let before = state.file.metadata()?.len();
        if let Err(error) = state.file.write_all(&id.as_u128().to_be_bytes()) {
            // Half an id would shift all that come after it.
            state.file.set_len(before)?;
            return Err(error);
        }
        state.ids.insert(id);
        Ok(())
    }

    /// Begins a new file, if this one is full and the older one may be forgotten.
    fn make_room(&self, state: &mut State, now: Timestamp) -> io::Result<()> {
        if (state.ids.len() as u64) < self.full {
            return Ok(());
        }
        let older = older(&self.path);
        if let Some(changed_at) = changed_at(&older)?
            && now.since(changed_at) < KEPT
        {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "a whole file is put aside")]
        fs::rename(&self.path, &older)?;
        state.file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        state.old = std::mem::take(&mut state.ids);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("old")
}

/// The ids in a file, and how many bytes of it are whole ones.
fn read(path: &Path) -> io::Result<(HashSet<SandboxId>, u64)> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let (whole, torn) = bytes.as_chunks::<LENGTH>();
    let ids = whole.iter().map(|id| SandboxId::from_u128(u128::from_be_bytes(*id))).collect();
    Ok((ids, (bytes.len() - torn.len()) as u64))
}

/// When a file was last changed, if it is there.
fn changed_at(path: &Path) -> io::Result<Option<Timestamp>> {
    match fs::metadata(path) {
        Ok(about) => Ok(Some(Timestamp::from_millis(about.mtime().saturating_mul(1_000)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use contracts::clock::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn what_is_gone_stays_gone_over_a_torn_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        let (first, second) = (SandboxId::from_u128(1), SandboxId::from_u128(2));
        let now = SystemClock.now();
        Gone::open(&path).unwrap().add(first, now).unwrap();
        let mut torn = fs::read(&path).unwrap();
        torn.extend([1, 2, 3]);
        fs::write(&path, torn).unwrap();
        let gone = Gone::open(&path).unwrap();
        gone.add(second, now).unwrap();
        let gone = Gone::open(&path).unwrap();
        assert!(gone.contains(first) && gone.contains(second));
        assert!(!gone.contains(SandboxId::from_u128(3)));
    }

    #[test]
    fn only_what_went_long_ago_is_forgotten_and_the_rest_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        let id = SandboxId::from_u128;
        let today = SystemClock.now();
        let gone = Gone::open_with(&path, 4).unwrap();
        // One day after the other could be one minute after the other: while the older file is young, nothing is forgotten.
        for number in 0..20 {
            gone.add(id(number), today).unwrap();
        }
        assert!((0..20).all(|number| gone.contains(id(number))));
        drop(gone);
        let gone = Gone::open_with(&path, 4).unwrap();
        assert!((0..20).all(|number| gone.contains(id(number))), "a restart forgets nothing");
        // The files say that they were changed today, so this is as long after as it has to be.
        let later = today + KEPT + Duration::from_secs(2);
        gone.add(id(20), later).unwrap();
        assert!((0..4).all(|number| !gone.contains(id(number))), "the first four went long ago");
        assert!((4..21).all(|number| gone.contains(id(number))));
        let gone = Gone::open_with(&path, 4).unwrap();
        assert!((4..21).all(|number| gone.contains(id(number))) && !gone.contains(id(0)));
    }
}
