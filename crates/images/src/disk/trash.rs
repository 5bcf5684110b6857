//! What is removed is first renamed into the trash, which is quick; a thread of its own does the rest.
//!
//! What a crash leaves in it is found at the next opening.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use super::{DiskError, error::Trying, ground::Ground};

#[derive(Debug)]
pub(super) struct Trash {
    at: PathBuf,
    ground: Arc<Ground>,
    /// Held while emptying: two that empty would stumble over each other.
    emptying: Mutex<()>,
    stopped: AtomicBool,
}

impl Trash {
    pub(super) fn new(at: PathBuf, ground: Arc<Ground>) -> Self {
        Self { at, ground, emptying: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    /// Removes all that is in it, and tells the first thing that went wrong.
    pub(super) fn empty(&self) -> Result<(), DiskError> {
        let _alone = self.emptying.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failed = None;
        for name in list(&self.at)? {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Err(error) = self.ground.destroy(&self.at, &name) {
                failed.get_or_insert(error);
            }
        }
        if let Ground::Btrfs(pool) = &*self.ground {
            pool.forget_gone()?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// The other chore that nobody should wait for.
    fn catch_up(&self) -> Result<(), DiskError> {
        match &*self.ground {
            Ground::Btrfs(pool) => pool.catch_up(&self.stopped),
            Ground::Plain { .. } => Ok(()),
        }
    }
}

/// The thread that empties the trash. Stops, and is waited for, when dropped; what is left then waits for the next opening.
#[derive(Debug)]
pub(super) struct Emptier {
    trash: Arc<Trash>,
    wake: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Emptier {
    pub(super) fn start(trash: Arc<Trash>) -> Result<Self, DiskError> {
        // One place: a wake that finds it taken will be served by the one before it.
        let (wake, woken) = mpsc::sync_channel(1);
        let theirs = Arc::clone(&trash);
        let thread = std::thread::Builder::new()
            .name("trash".to_owned())
            .spawn(move || {
                while let Ok(()) = woken.recv() {
                    if let Err(error) = theirs.empty().and_then(|()| theirs.catch_up()) {
                        tracing::warn!(%error, "the trash could not be emptied");
                    }
                }
            })
            .trying("start a thread for", &trash.at)?;
        Ok(Self { trash, wake: Some(wake), thread: Some(thread) })
    }

    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Emptier {
    fn drop(&mut self) {
        self.trash.stopped.store(true, Ordering::Relaxed);
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The names in a directory of ours.
pub(super) fn list(at: &Path) -> Result<Vec<String>, DiskError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(at).trying("read", at)? {
        let entry = entry.trying("read", at)?;
        if let Ok(name) = entry.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
