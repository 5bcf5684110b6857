//! Which ids of the host a sandbox may use, when we are root.
//!
//! Two sandboxes never share an id, so that one that broke out of its mounts would still be nobody to the
//! others. Slots that were given back are used first: the launcher keeps their mappings at hand.
//!
//! Several servers may run on one host, each with a data directory of its own, and their sandboxes live on while they are
//! stopped. So slots come in blocks, and a block belongs to a data directory for as long as that exists: a file in [`CLAIMS`]
//! says so, and a claim is made under a lock. A block whose directory is gone is taken over only when no process of the host has
//! one of its ids any more. A restart of the host empties the directory, and has ended every process.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fs_err as fs;
use launcher::plan::{IDS, STORED_IDS};
use sha2::{Digest as _, Sha256};

/// Far from the ids of people, and of the ranges that distributions give to them.
const FIRST: u32 = 0x2000_0000;
const COUNT: u32 = (STORED_IDS - FIRST) / IDS;

/// How many slots are claimed at once.
const BLOCK: u32 = 64;
const BLOCKS: u32 = COUNT / BLOCK;

/// Where the servers of this host tell each other which blocks are theirs.
pub(crate) const CLAIMS: &str = "/run/lamplighter-ids";

#[derive(Debug, Clone)]
pub(crate) struct Slots {
    claims: Arc<PathBuf>,
    /// The data directory, which is who we are.
    owner: Arc<PathBuf>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    blocks: BTreeSet<u32>,
    taken: BTreeSet<u32>,
}

/// A range of ids, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    number: u32,
    slots: Slots,
}

impl Slots {
    /// The slots of the server whose data is in `owner`.
    pub(crate) fn new(claims: &Path, owner: &Path) -> Self {
        let (claims, owner) = (Arc::new(claims.to_owned()), Arc::new(owner.to_owned()));
        Self { claims, owner, state: Arc::default() }
    }

    pub(crate) fn take(&self) -> io::Result<Slot> {
        let mut state = self.lock();
        loop {
            let ours = state.blocks.iter().flat_map(|block| block * BLOCK..(block + 1) * BLOCK);
            let free = ours.into_iter().find(|number| !state.taken.contains(number));
            if let Some(number) = free {
                state.taken.insert(number);
                return Ok(Slot { number, slots: self.clone() });
            }
            // Where to begin is told by our name, so that others rarely look at the same.
            let digest = Sha256::digest(self.owner.as_os_str().as_encoded_bytes());
            let first =
                digest.iter().take(4).fold(0, |first: u32, byte| first << 8 | u32::from(*byte));
            self.claim(&mut state, (0..BLOCKS).map(|step| (first % BLOCKS + step) % BLOCKS))?;
        }
    }

    /// The range that a sandbox has had since before this server started.
    pub(crate) fn adopt(&self, base: u32) -> Option<Slot> {
        let number = base.checked_sub(FIRST)? / IDS;
        let mut state = self.lock();
        let is_range = number < COUNT && FIRST + number * IDS == base;
        if !is_range || !state.taken.insert(number) {
            return None;
        }
        // It is ours already, unless it was given out before there were claims.
        if let Err(error) = self.claim(&mut state, std::iter::once(number / BLOCK)) {
            tracing::warn!(%error, base, "a range of ids that is in use is not claimed");
        }
        Some(Slot { number, slots: self.clone() })
    }

    /// Gives every block back. Nothing may have an id of theirs any more.
    pub(crate) fn close(&self) {
        for block in std::mem::take(&mut self.lock().blocks) {
            // One that stays is taken over by somebody once our directory is gone.
            let _ = fs::remove_file(self.file(block));
        }
    }

    /// Makes the first of these blocks ours that is ours or nobody's.
    fn claim(&self, state: &mut State, mut blocks: impl Iterator<Item = u32>) -> io::Result<()> {
        match fs::symlink_metadata(&*self.claims) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                std::fs::DirBuilder::new().mode(0o700).create(&*self.claims)?;
            }
            // What somebody else can write says nothing.
            Ok(about) if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() => {
                let what = format!("`{}` is not a directory of ours", self.claims.display());
                return Err(io::Error::other(what));
            }
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        let lock =
            fs::OpenOptions::new().create(true).append(true).open(self.claims.join("lock"))?;
        lock.file().lock()?;
        let full = || io::Error::other("every range of ids is taken");
        let block = loop {
            let block = blocks.next().ok_or_else(full)?;
            if !state.blocks.contains(&block) && self.is_free(block)? {
                break block;
            }
        };
        let mut file = fs::File::create(self.file(block))?;
        file.write_all(self.owner.as_os_str().as_encoded_bytes())?;
        state.blocks.insert(block);
        Ok(())
    }

    fn is_free(&self, block: u32) -> io::Result<bool> {
        let owner = match fs::read(self.file(block)) {
            Ok(owner) => owner,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        if owner == self.owner.as_os_str().as_encoded_bytes() {
            return Ok(true);
        }
        let owner: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(&owner);
        Ok(!Path::new(owner).exists() && !is_inhabited(block)?)
    }

    fn file(&self, block: u32) -> PathBuf {
        self.claims.join(format!("{block}"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a process of the host has an id of the block.
fn is_inhabited(block: u32) -> io::Result<bool> {
    let first = FIRST + block * BLOCK * IDS;
    let ids = first..first + BLOCK * IDS;
    for process in fs::read_dir("/proc")?.flatten() {
        // One that ended meanwhile has none.
        if process.metadata().is_ok_and(|about| ids.contains(&about.uid())) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Slot {
    pub(crate) const fn base(&self) -> u32 {
        FIRST + self.number * IDS
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.lock().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host, with as many servers as are asked for.
    struct Host(tempfile::TempDir);

    impl Host {
        fn server(&self, name: &str) -> Slots {
            let data = self.0.path().join(name);
            fs::create_dir_all(&data).unwrap();
            Slots::new(&self.0.path().join("claims"), &data)
        }
    }

    fn host() -> Host {
        Host(tempfile::tempdir().unwrap())
    }

    #[test]
    fn no_two_sandboxes_share_an_id() {
        let host = host();
        let slots = host.server("one");
        let (first, second) = (slots.take().unwrap(), slots.take().unwrap());
        assert!(first.base().abs_diff(second.base()) >= IDS);
        let base = first.base();
        assert!(slots.adopt(base).is_none());
        drop(first);
        assert_eq!(slots.adopt(base).unwrap().base(), base);
        assert!(slots.adopt(base + 1).is_none());
        assert!(slots.adopt(STORED_IDS).is_none());
    }

    #[test]
    fn no_two_servers_of_a_host_share_an_id_not_even_while_one_is_stopped() {
        let host = host();
        let mut bases = BTreeSet::new();
        let mut held = Vec::new();
        // More servers than there would be room for, if they chose by chance alone.
        for server in 0..40 {
            let slots = host.server(&server.to_string());
            let mine: Vec<_> = (0..=BLOCK).map(|_| slots.take().unwrap()).collect();
            assert!(mine.iter().all(|slot| bases.insert(slot.base())), "server {server}");
            // Every second one is stopped, and its sandboxes go on.
            if server % 2 == 0 {
                held.push(mine);
            }
        }
        let again = host.server("7");
        let base = again.take().unwrap().base();
        assert!(bases.contains(&base), "a server that comes back has its own blocks");
    }

    #[test]
    fn a_block_of_a_server_that_was_removed_is_used_again() {
        let host = host();
        let one = host.server("one");
        let base = one.take().unwrap().base();
        fs::remove_dir_all(host.0.path().join("one")).unwrap();
        let claims = host.0.path().join("claims");
        let block = (base - FIRST) / IDS / BLOCK;
        assert!(host.server("two").is_free(block).unwrap());
        one.close();
        assert!(!claims.join(block.to_string()).exists());
    }
}
