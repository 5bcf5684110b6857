//! How much there is, how much of it a disk has, and that there is not enough.

use std::fmt;

/// What the kernel's own books need, beside what it charges to disks: one part in this many.
const BOOKS: u64 = 64;

/// The kernel hands out room for content and for names in chunks: a tenth of the pool, or this. One of them may be all but empty.
const CHUNK_BYTES: u64 = 1 << 30;

/// Why a disk was not made: what there is has been promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoRoom {
    pub needed: u64,
    /// Free, and promised to nobody.
    pub left: u64,
    /// Free, and promised to disks in use.
    pub promised: u64,
    pub disks: usize,
    pub total: u64,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, left, promised, disks, total } = *self;
        let held = total.saturating_sub(left).saturating_sub(promised);
        write!(
            f,
            "no room for another disk: it is to have {} MiB for sure, and of {} MiB in all {} are left; {} are promised to {disks} \
             disks in use, and {} hold images, what sandboxes wrote, and a reserve",
            needed >> 20,
            total >> 20,
            left >> 20,
            promised >> 20,
            held >> 20,
        )
    }
}

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) total: u64,
    pub(super) free: u64,
}

impl Space {
    /// What may be promised of it.
    pub(super) fn to_give(self) -> u64 {
        self.free.saturating_sub(self.total / BOOKS + CHUNK_BYTES.min(self.total / 10))
    }
}

/// Which kernel's account a disk has; none while it is being made, and on plain directories.
pub(super) type Account = Option<u64>;

/// What a disk has taken of its grant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) written: u64,
    /// Accepted, and on its way: still free for whoever looks at the pool.
    pub(super) coming: u64,
}

impl Used {
    pub(super) fn all(self) -> u64 {
        self.written.saturating_add(self.coming)
    }
}
