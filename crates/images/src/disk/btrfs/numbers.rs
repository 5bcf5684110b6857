//! Inode numbers of layers, apart from those of disks.
//!
//! Every subvolume counts its inodes from 257 on, and an overlay takes all of one btrfs for one file system and shows their numbers as
//! they are. Two files of two subvolumes would then pass for one: `cp` refuses to copy the one to the other, `tar` stores the second as a
//! link to the first, `find` sees a directory in itself. So whatever becomes a layer begins as a copy of the *stem*: an almost empty
//! subvolume that has counted further than any layer there is. Disks that never become a layer count from the bottom, and do not get there.
//!
//! ```text
//!  257 … disks …        FIRST … layer … layer … stem
//! ```
//!
//! Numbers are only ever counted up by making files, which costs some 30 µs each: as many as a new layer has, once, and not while
//! anybody waits.

use std::{
    ffi::CStr,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::ioctl;
use crate::disk::{
    DiskError,
    error::Trying,
    tree::{open_root, stat},
};

/// The first number of a layer, at the least. Where `mkfs.btrfs` can be made to begin higher, it is some four thousand million.
const FIRST: u64 = 1 << 16;

/// The newest file of a stem or a layer: its number is the highest there.
const CEILING: &CStr = c"ceiling";
const NEXT_CEILING: &CStr = c"ceiling.new";

#[derive(Debug)]
pub(super) struct Numbers {
    /// Held while the stem counts or is copied.
    stem: Mutex<PathBuf>,
    /// The highest number of any layer: how far the stem must have counted before it is copied again.
    owed: AtomicU64,
}

impl Numbers {
    /// Finds the stem of a pool, or grows one from the pool's own, still empty, top.
    pub(super) fn open(pool: &Path) -> Result<Self, DiskError> {
        let stem = pool.join("stem");
        if !stem.exists() {
            let top = open_root(pool)?;
            ioctl::snapshot(&top, &top, "stem").trying("make", &stem)?;
        }
        Ok(Self { stem: Mutex::new(stem), owed: AtomicU64::new(FIRST) })
    }

    /// Makes `name` in `parent` with numbers above those of every layer there is.
    pub(super) fn make_above(&self, parent: &OwnedFd, name: &str) -> Result<(), DiskError> {
        let stem = self.stem.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = self.count(&stem, &AtomicBool::new(false))?;
        ioctl::snapshot(&opened, parent, name).trying("copy", &stem)
    }

    /// Marks how far a layer to be, at `at`, has counted. Call it before anything can be made on top of the layer.
    pub(super) fn mark(&self, at: &Path) -> Result<(), DiskError> {
        let highest = mark(&open_root(at)?).trying("mark", at)?;
        self.owed.fetch_max(highest, Ordering::Relaxed);
        Ok(())
    }

    /// Learns how far a layer had counted when it was marked.
    pub(super) fn learn(&self, at: &Path) -> Result<(), DiskError> {
        let highest = highest(&open_root(at)?).trying("read", at)?;
        self.owed.fetch_max(highest, Ordering::Relaxed);
        Ok(())
    }

    /// Counts in advance, so that whoever makes the next layer need not wait for it. Ends early when `stopped`.
    pub(super) fn catch_up(&self, stopped: &AtomicBool) -> Result<(), DiskError> {
        let stem = self.stem.lock().unwrap_or_else(PoisonError::into_inner);
        self.count(&stem, stopped).map(drop)
    }

    fn count(&self, stem: &Path, stopped: &AtomicBool) -> Result<OwnedFd, DiskError> {
        let opened = open_root(stem)?;
        let owed = self.owed.load(Ordering::Relaxed);
        if highest(&opened).trying("read", stem)? <= owed {
            count_to(&opened, owed, stopped).trying("count the inodes of", stem)?;
        }
        Ok(opened)
    }
}

/// The number of the ceiling, which is made where it is missing.
fn highest(subvolume: &OwnedFd) -> Result<u64, Errno> {
    match stat(subvolume, CEILING) {
        Ok(found) => Ok(found.st_ino),
        Err(Errno::NOENT) => mark(subvolume),
        Err(error) => Err(error),
    }
}

/// Makes a new ceiling, and returns its number.
fn mark(subvolume: &OwnedFd) -> Result<u64, Errno> {
    // One that a crash left is of no use: it is not the newest file.
    match rustix::fs::unlinkat(subvolume, NEXT_CEILING, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let made = rustix::fs::openat(subvolume, NEXT_CEILING, flags, Mode::RUSR)?;
    rustix::fs::renameat(subvolume, NEXT_CEILING, subvolume, CEILING)?;
    Ok(rustix::fs::fstat(&made)?.st_ino)
}

fn count_to(subvolume: &OwnedFd, number: u64, stopped: &AtomicBool) -> Result<(), Errno> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    while !stopped.load(Ordering::Relaxed) {
        let nameless = rustix::fs::openat(subvolume, c".", flags, Mode::RUSR)?;
        if rustix::fs::fstat(&nameless)?.st_ino >= number {
            break;
        }
    }
    mark(subvolume).map(drop)
}
