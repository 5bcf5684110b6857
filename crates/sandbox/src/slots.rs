//! Which ids of the host a sandbox may use, when we are root.
//!
//! Two sandboxes never share an id, so that one that broke out of its mounts would still be nobody to the
//! others. Slots that were given back are used first: the launcher keeps their mappings at hand.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use launcher::plan::{IDS, STORED_IDS};

/// Far from the ids of people, and of the ranges that distributions give to them.
const FIRST: u32 = 0x2000_0000;
const COUNT: u32 = (STORED_IDS - FIRST) / IDS;

#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    taken: BTreeSet<u32>,
}

/// A range of ids, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    number: u32,
    slots: Slots,
}

impl Slots {
    pub(crate) fn take(&self) -> Option<Slot> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (0..COUNT).find(|number| !state.taken.contains(number))?;
        state.taken.insert(number);
        Some(Slot { number, slots: self.clone() })
    }

    /// The range that a sandbox has had since before this server started.
    pub(crate) fn adopt(&self, base: u32) -> Option<Slot> {
        let number = base.checked_sub(FIRST)? / IDS;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_range = number < COUNT && FIRST + number * IDS == base;
        (is_range && state.taken.insert(number)).then(|| Slot { number, slots: self.clone() })
    }
}

impl Slot {
    pub(crate) const fn base(&self) -> u32 {
        FIRST + self.number * IDS
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sandboxes_share_an_id() {
        let slots = Slots::default();
        let (first, second) = (slots.take().unwrap(), slots.take().unwrap());
        assert!(second.base() >= first.base() + IDS);
        let base = first.base();
        assert!(slots.adopt(base).is_none());
        drop(first);
        assert_eq!(slots.adopt(base).unwrap().base(), base);
        assert!(slots.adopt(base + 1).is_none());
        assert!(slots.adopt(STORED_IDS).is_none());
    }
}
