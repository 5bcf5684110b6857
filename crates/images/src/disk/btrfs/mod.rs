//! Disks as subvolumes of one btrfs: made in a tenth of a millisecond, limited by the kernel, copied at once.
//!
//! A limit of bytes covers what files need beside their content, so it bounds their number as well; btrfs has no limit of files.
//! With simple quotas, which newer kernels have, a copy of a disk is charged for what it writes itself, and not for what it shares.
//!
//! The kernel holds each disk to what it was granted; that all grants together are not more than there is, is kept in `room`.

mod ioctl;
mod numbers;
mod pool;
mod program;

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsStr,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, atomic::AtomicBool},
};

use rustix::io::Errno;

use self::numbers::Numbers;
use super::{
    DiskError,
    error::Trying,
    space::{Space, Used},
    tree::{names, open_root},
};

/// So many accounts of what is gone are looked at whenever something is destroyed.
const LOOKED_AT: usize = 64;

/// Why there is no pool.
#[derive(Debug)]
pub(super) enum Cannot {
    /// This machine cannot have one, as a phrase; plain directories may do.
    Here(String),
    /// There is one, and it must not be passed over: what is in it would seem lost.
    Broken(DiskError),
}

#[derive(Debug)]
pub(super) struct Pool {
    at: PathBuf,
    /// Where the kernel tells what every subvolume uses.
    pub(super) accounts: PathBuf,
    numbers: Numbers,
    /// Subvolumes that were destroyed, whose accounts may still be there.
    gone: Mutex<VecDeque<u64>>,
}

impl Pool {
    pub(super) fn open(root: &Path, budget_bytes: u64) -> Result<Self, Cannot> {
        let (at, found) = pool::open(root, budget_bytes)?;
        if found != pool::Found::New
            && let Err(reason) = pool::grow(root, &at, budget_bytes)
        {
            tracing::warn!(reason, "the pool of disks does not grow");
        }
        let ready = Self::ready(at.clone());
        if ready.is_err() && found == pool::Found::New {
            let _ = pool::close(&at);
            let _ = std::fs::remove_file(root.join("pool.btrfs"));
        }
        ready.map_err(Cannot::Broken)
    }

    fn ready(at: PathBuf) -> Result<Self, DiskError> {
        let top = open_root(&at)?;
        let id = ioctl::file_system_id(&top).trying("read", &at)?;
        let accounts = Path::new("/sys/fs/btrfs").join(hyphenated(id)).join("qgroups");
        if !accounts.exists() {
            ioctl::enable_quotas(&top, ioctl::Quotas::Simple)
                .or_else(|_| ioctl::enable_quotas(&top, ioctl::Quotas::Full))
                .trying("enable quotas in", &at)?;
        }
        // Chunks of content that are all but empty would keep room from names. Older kernels do not know this.
        let reclaim = accounts.with_file_name("allocation").join("data/dynamic_reclaim");
        let _ = std::fs::write(reclaim, "1");
        let numbers = Numbers::open(&at)?;
        // What was only there to carry a high number is now in the stem.
        for name in names(&top).trying("read", &at)? {
            let _ = rustix::fs::unlinkat(&top, &name, rustix::fs::AtFlags::empty());
        }
        Ok(Self { at, accounts, numbers, gone: Mutex::default() })
    }

    pub(super) fn at(&self) -> &Path {
        &self.at
    }

    pub(super) fn make(at: &Path) -> Result<(), DiskError> {
        let (parent, name) = split(at)?;
        ioctl::create_subvolume(&parent, name).trying("make", at)
    }

    /// Makes what will become a layer; see [`Numbers`].
    pub(super) fn make_for_layer(&self, at: &Path) -> Result<(), DiskError> {
        let (parent, name) = split(at)?;
        self.numbers.make_above(&parent, name)
    }

    /// Limits what is at `at`, and returns the id of its account.
    pub(super) fn limit(at: &Path, bytes: u64) -> Result<u64, DiskError> {
        ioctl::limit(open_root(at)?, 0, bytes).trying("limit", at)?;
        Self::account(at)
    }

    pub(super) fn grant(&self, account: u64, bytes: u64) -> Result<(), DiskError> {
        ioctl::limit(open_root(&self.at)?, account, bytes).trying("limit a disk in", &self.at)
    }

    pub(super) fn account(at: &Path) -> Result<u64, DiskError> {
        Ok(ioctl::subvolume(open_root(at)?).trying("read", at)?.id)
    }

    pub(super) fn copy(from: &Path, to: &Path) -> Result<(), DiskError> {
        let (parent, name) = split(to)?;
        ioctl::snapshot(open_root(from)?, &parent, name).trying("copy to", to)
    }

    /// Readies a subvolume to be a layer, before it is published.
    pub(super) fn number(&self, at: &Path) -> Result<(), DiskError> {
        self.numbers.mark(at)
    }

    /// Nobody writes to a layer, not even by mistake. Also mends what a crash left open.
    pub(super) fn close_layer(&self, at: &Path) -> Result<(), DiskError> {
        let layer = open_root(at)?;
        if !ioctl::is_read_only(&layer).trying("read", at)? {
            ioctl::close_for_writing(&layer).trying("close", at)?;
        }
        self.numbers.learn(at)
    }

    /// Makes a layer movable again, for the trash.
    pub(super) fn open_layer(at: &Path) -> Result<(), DiskError> {
        ioctl::open_for_writing(open_root(at)?).trying("open", at)
    }

    /// What a layer is, and changes with it: its own id, and the last transaction that touched it.
    pub(super) fn identity(at: &Path) -> Result<String, DiskError> {
        let found = ioctl::subvolume(open_root(at)?).trying("read", at)?;
        Ok(format!("btrfs:{}:{}", hyphenated(found.uuid), found.changed_in))
    }

    pub(super) fn bytes(&self, at: &Path) -> Result<u64, DiskError> {
        let Used { written, coming } = self.used(Self::account(at)?)?;
        Ok(written + coming)
    }

    pub(super) fn used(&self, account: u64) -> Result<Used, DiskError> {
        let account = self.accounts.join(format!("0_{account}"));
        let read = |name: &str| -> Result<u64, DiskError> {
            let path = account.join(name);
            let text = std::fs::read_to_string(&path).trying("read", &path)?;
            Ok(text.trim().parse().unwrap_or_default())
        };
        let coming = read("rsv_data").unwrap_or_default();
        Ok(Used { written: read("referenced")?, coming })
    }

    /// What can still be written, whatever it is: content and names have chunks of their own, which are made from what is in no chunk yet.
    pub(super) fn space(&self) -> Result<Space, DiskError> {
        let found = rustix::fs::statvfs(&self.at).trying("ask for the free space of", &self.at)?;
        let total = found.f_blocks.saturating_mul(found.f_frsize);
        let books = self.accounts.with_file_name("allocation");
        let read = |path: PathBuf| -> Result<u64, DiskError> {
            let text = std::fs::read_to_string(&path).trying("read", &path)?;
            Ok(text.trim().parse().unwrap_or_default())
        };
        let (mut chunks, mut scarce) = (0_u64, u64::MAX);
        for kind in ["data", "metadata"] {
            let told = |name: &str| read(books.join(kind).join(name));
            chunks = chunks.saturating_add(told("disk_total")?);
            let mut taken = told("bytes_used")?;
            for name in ["bytes_pinned", "bytes_reserved", "bytes_readonly"] {
                taken = taken.saturating_add(told(name)?);
            }
            if kind == "metadata" {
                taken = taken.saturating_add(read(books.join("global_rsv_size"))?);
            }
            scarce = scarce.min(told("total_bytes")?.saturating_sub(taken));
        }
        chunks = chunks.saturating_add(read(books.join("system").join("disk_total"))?);
        Ok(Space { total, free: total.saturating_sub(chunks).saturating_add(scarce) })
    }

    /// Destroys a subvolume. The kernel does the slow part later, by itself.
    pub(super) fn destroy(&self, parent: &Path, name: &str) -> Result<(), DiskError> {
        let at = parent.join(name);
        let id = ioctl::subvolume(open_root(&at)?).trying("read", &at)?.id;
        ioctl::destroy_subvolume(open_root(parent)?, name).trying("destroy", &at)?;
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push_back(id);
        Ok(())
    }

    /// Removes the accounts of subvolumes that are gone. Newer kernels do that themselves, but for those that still pay for
    /// extents that a copy shares. Looks at a few, and at others the next time: the kernel takes half a minute to drop what was
    /// destroyed, and thousands can be waiting for it.
    pub(super) fn forget_gone(&self) -> Result<(), DiskError> {
        let top = open_root(&self.at)?;
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..gone.len().min(LOOKED_AT) {
            let Some(id) = gone.pop_front() else { break };
            match ioctl::remove_qgroup(&top, id) {
                Ok(()) | Err(Errno::NOENT) => {}
                // Not dropped yet, or still paying.
                Err(_) => gone.push_back(id),
            }
        }
        Ok(())
    }

    /// See [`Numbers::catch_up`].
    pub(super) fn catch_up(&self, stopped: &AtomicBool) -> Result<(), DiskError> {
        self.numbers.catch_up(stopped)
    }

    /// Has the kernel drop what was destroyed now, and not within the half minute that it takes otherwise.
    pub(super) fn hurry(&self) -> Result<(), DiskError> {
        ioctl::sync(open_root(&self.at)?).trying("write out", &self.at)
    }

    /// Finds the accounts that servers before us left behind. `living` are all subvolumes there are.
    pub(super) fn find_gone(&self, living: &[PathBuf]) -> Result<(), DiskError> {
        // Accounts first: what is made meanwhile is in neither list.
        let accounts = std::fs::read_dir(&self.accounts).trying("read", &self.accounts)?;
        let mut left: BTreeSet<u64> = accounts
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("0_")?.parse().ok())
            .collect();
        for at in living.iter().chain([&self.at, &self.at.join("stem")]) {
            match open_root(at).and_then(|opened| ioctl::subvolume(opened).trying("read", at)) {
                Ok(found) => left.remove(&found.id),
                // The trash is being emptied meanwhile.
                Err(_) if !at.exists() => continue,
                Err(error) => return Err(error),
            };
        }
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        Ok(())
    }

    pub(super) fn close(self) -> Result<(), DiskError> {
        pool::close(&self.at)
    }
}

fn split(at: &Path) -> Result<(OwnedFd, &str), DiskError> {
    let parent = open_root(at.parent().unwrap_or(Path::new("/")))?;
    let name = at.file_name().and_then(OsStr::to_str).unwrap_or_default();
    Ok((parent, name))
}

fn hyphenated(id: [u8; 16]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(36);
    for (at, byte) in id.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}
