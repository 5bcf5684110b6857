//! Who was promised how much of the room that all disks share.
//!
//! ```text
//!  0 ─── guaranteed ─── granted ─────────── most
//!        always there   what the kernel     the disk's limit
//!        for this disk  lets it write now
//! ```
//!
//! A disk may hold up to its limit, but only the *guaranteed* part is there for it whatever its neighbours do. Above that it is lent
//! what nobody was promised. The kernel holds the granted bytes, and together they are never more than there is, so a greedy disk is
//! full before its neighbours lack anything: `Σ (granted - used) <= free - reserve`. What was lent and is not used is taken back
//! when somebody needs it.
//!
//! What nothing writes to, such as layers and the disks of sandboxes that rest, is only what it holds, and is already missing from
//! what is free.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    DiskError,
    ground::Ground,
    space::{Account, NoRoom, Space, Used},
};

/// However small the room is, so many disks are to have their part of it.
const FEWEST: u64 = 8;

/// A disk with less than this left of its grant wants more. Less than a second of writing, where disks are fast.
const HUNGRY_BYTES: u64 = 512 << 20;

/// The room that all disks have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// All of it. A new pool takes less where less is free.
    pub bytes: u64,
    /// The part of a disk's limit that is kept free for it; an eighth of the room at the most.
    pub guaranteed_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    account: Account,
    guaranteed: u64,
    most: u64,
    granted: u64,
    /// As it was last counted.
    used: Used,
}

impl Share {
    fn is_hungry(&self) -> bool {
        self.granted < self.most && self.granted.saturating_sub(self.used.all()) < HUNGRY_BYTES
    }

    fn owed(&self) -> u64 {
        self.granted.saturating_sub(self.used.written)
    }
}

#[derive(Debug)]
pub(super) struct Room {
    guaranteed: u64,
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    /// As it was last looked at. What shares have written since is missing from it and is still owed to them, so the difference holds.
    space: Space,
    shares: BTreeMap<String, Share>,
}

impl Room {
    pub(super) fn new(guaranteed: u64, ground: &Ground) -> Result<Self, DiskError> {
        let books = Books { space: ground.space()?, shares: BTreeMap::new() };
        let guaranteed = guaranteed.min(books.space.total / FEWEST);
        Ok(Self { guaranteed, books: Mutex::new(books) })
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Promises room to `name`, which may hold up to `most` and holds `used` already. Returns what the kernel is to let it write now.
    pub(super) fn take(
        &self,
        ground: &Ground,
        name: &str,
        most: u64,
        used: u64,
    ) -> Result<u64, DiskError> {
        let guaranteed = self.guaranteed.min(most);
        let granted = guaranteed.max(used);
        let used = Used { written: used, coming: 0 };
        let mut share = Share { account: None, guaranteed, most: most.max(granted), granted, used };
        let needed = share.owed();
        let mut books = self.lock();
        books.close(name);
        // Looked at anew: a disk that was given back counts as full until then, and the next loan would be small.
        books.space = ground.space()?;
        if books.left() < needed {
            books.take_back(ground, Whose::Lent, HUNGRY_BYTES);
        }
        if books.left() < needed {
            books.take_back(ground, Whose::All, 0);
            books.space = ground.space()?;
        }
        let left = books.left();
        if left < needed {
            let (promised, disks) = (books.owed(), books.shares.len());
            let total = books.space.total;
            return Err(DiskError::NoRoom(NoRoom { needed, left, promised, disks, total }));
        }
        // The next one is to find something too.
        let loan = if ground.lends() { (left - needed) / 2 } else { 0 };
        share.granted = share.granted.saturating_add(loan).min(share.most);
        books.shares.insert(name.to_owned(), share);
        Ok(share.granted)
    }

    /// Takes a disk that is written to already into the books, whether there is room for it or not.
    pub(super) fn take_over(&self, ground: &Ground, name: &str, most: u64, account: Account) {
        let used = account.and_then(|account| ground.used(account)).unwrap_or_default();
        let guaranteed = self.guaranteed.min(most);
        let granted = guaranteed.max(used.all());
        let most = most.max(granted);
        if let Some(account) = account {
            ground.grant(account, granted);
        }
        let share = Share { account, guaranteed, most, granted, used };
        self.lock().shares.insert(name.to_owned(), share);
    }

    /// From now on its use is counted.
    pub(super) fn found(&self, name: &str, account: Account) {
        if let Some(share) = self.lock().shares.get_mut(name) {
            share.account = account;
        }
    }

    /// Nothing writes to it any more.
    pub(super) fn give_back(&self, name: &str) {
        self.lock().close(name);
    }

    #[cfg(test)]
    pub(super) fn granted(&self) -> BTreeMap<String, u64> {
        self.lock().shares.iter().map(|(name, share)| (name.clone(), share.granted)).collect()
    }

    /// Lends more to those that need it, and takes it from those that do not.
    pub(super) fn balance(&self, ground: &Ground) -> Result<(), DiskError> {
        let mut books = self.lock();
        books.space = ground.space()?;
        if !ground.lends() || books.shares.values().all(|share| share.granted >= share.most) {
            return Ok(());
        }
        books.take_back(ground, Whose::All, HUNGRY_BYTES);
        books.space = ground.space()?;
        let hungry = books.shares.values().filter(|share| share.is_hungry()).count();
        let Ok(many @ 1..) = u64::try_from(hungry) else { return Ok(()) };
        let each = books.left() / many;
        for share in books.shares.values_mut().filter(|share| share.is_hungry()) {
            let granted = share.granted.saturating_add(each).min(share.most);
            if let Some(account) = share.account
                && granted > share.granted
            {
                share.granted = ground.grant(account, granted).unwrap_or(share.granted);
            }
        }
        Ok(())
    }
}

impl Books {
    fn owed(&self) -> u64 {
        self.shares.values().map(Share::owed).sum()
    }

    fn left(&self) -> u64 {
        self.space.to_give().saturating_sub(self.owed())
    }

    /// What it wrote since the last look is not known here, so it counts as having written all that it could.
    fn close(&mut self, name: &str) {
        if let Some(share) = self.shares.remove(name) {
            self.space.free = self.space.free.saturating_sub(share.owed());
        }
    }

    /// Takes back what was lent and is not used, but for `spared` bytes: whoever writes is not to stumble.
    fn take_back(&mut self, ground: &Ground, whose: Whose, spared: u64) {
        for share in self.shares.values_mut() {
            let is_lent = share.granted > share.guaranteed;
            let Some(account) = share.account.filter(|_| is_lent || whose == Whose::All) else {
                continue;
            };
            share.used = ground.used(account).unwrap_or(share.used);
            let floor = share.guaranteed.max(share.used.all().saturating_add(spared));
            if share.granted <= floor {
                continue;
            }
            share.granted = ground.grant(account, floor).unwrap_or(share.granted);
            // It may have written between the question and the order.
            share.used = ground.used(account).unwrap_or(share.used);
            share.granted = share.granted.max(share.used.all());
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Of those that have more than is guaranteed to them: few, and quickly asked.
    Lent,
    /// Counts everybody first.
    All,
}
