//! Computers that wait for somebody (SB9).
//!
//! A waiting member is a body with a fresh disk and nothing else: no identity, no secret, no way out. Claiming
//! takes it off the shelf under a lock, so nobody else can have it, and it never comes back: a body that was used
//! is destroyed. Members have no record, so what a crashed server leaves of them is cleared away.
//!
//! How many wait follows what is asked for: every claim of a kind wants one more, up to a limit; a kind that
//! nobody asks for any more is drained.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use contracts::sandbox::{Compute, Spec};
use domain::{agent::Tier, time::Timestamp};

use super::{
    Inner,
    boot::{Booted, Disk},
};
use crate::{settings::PoolSettings, stack::Stack};

#[derive(Debug)]
pub(super) struct Pool {
    settings: PoolSettings,
    shelves: Mutex<BTreeMap<String, Shelf>>,
}

/// The members of one image, tier and size.
#[derive(Debug)]
struct Shelf {
    stack: Stack,
    tier: Tier,
    compute: Compute,
    members: VecDeque<Booted>,
    /// How many should wait.
    wanted: u32,
    /// How many are being made.
    coming: u32,
    asked_at: Timestamp,
}

impl Pool {
    pub(super) fn new(settings: PoolSettings) -> Self {
        Self { settings, shelves: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a member, if one waits, and remembers that it was asked for. Those that died while they waited are `dead`.
    fn claim(
        &self,
        stack: &Stack,
        spec: &Spec,
        now: Timestamp,
        dead: &mut Vec<Booted>,
    ) -> Option<Booted> {
        if self.settings.most_of_a_kind == 0 {
            return None;
        }
        let mut shelves = self.lock();
        let shelf = shelves.entry(kind(stack, spec)).or_insert_with(|| Shelf {
            stack: stack.clone(),
            tier: spec.tier,
            compute: spec.compute,
            members: VecDeque::new(),
            wanted: 0,
            coming: 0,
            asked_at: now,
        });
        shelf.asked_at = now;
        shelf.wanted = shelf.wanted.saturating_add(1).min(self.settings.most_of_a_kind);
        while let Some(member) = shelf.members.pop_front() {
            if member.body.link.lost().is_none() {
                return Some(member);
            }
            dead.push(member);
        }
        None
    }

    /// What should be made now: counted as coming, so that nobody else makes it too.
    fn due(&self) -> Option<(String, Stack, Tier, Compute)> {
        let mut shelves = self.lock();
        let count = |shelf: &Shelf| shelf.coming + u32::try_from(shelf.members.len()).unwrap_or(0);
        let all: u32 = shelves.values().map(count).sum();
        if all >= self.settings.most {
            return None;
        }
        let (kind, shelf) = shelves.iter_mut().find(|(_, shelf)| count(shelf) < shelf.wanted)?;
        shelf.coming += 1;
        Some((kind.clone(), shelf.stack.clone(), shelf.tier, shelf.compute))
    }

    /// Puts a new member on its shelf; gives it back where the shelf is gone.
    fn put(&self, kind: &str, member: Option<Booted>) -> Option<Booted> {
        let mut shelves = self.lock();
        let Some(shelf) = shelves.get_mut(kind) else { return member };
        shelf.coming = shelf.coming.saturating_sub(1);
        match member {
            Some(member) => shelf.members.push_back(member),
            // It could not be made: not tried again until somebody asks again.
            None => shelf.wanted = 0,
        }
        None
    }

    /// Members of kinds that nobody asks for, or that `stale` says are no longer right.
    fn drained(&self, now: Timestamp, stale: impl Fn(&Stack) -> bool) -> Vec<Booted> {
        let mut shelves = self.lock();
        let mut drained = Vec::new();
        shelves.retain(|_, shelf| {
            let forgotten = now.since(shelf.asked_at) > self.settings.drain_after;
            if forgotten || stale(&shelf.stack) {
                drained.extend(shelf.members.drain(..));
                return false;
            }
            true
        });
        drained
    }

    pub(super) fn stacks(&self) -> Vec<Stack> {
        self.lock().values().map(|shelf| shelf.stack.clone()).collect()
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().values().map(|shelf| shelf.members.len()).sum()
    }
}

/// Everything that makes two members the same.
fn kind(stack: &Stack, spec: &Spec) -> String {
    let Compute { cpu_millis, memory_mib, disk_mib, processes, lifetime } = spec.compute;
    let stack = serde_json::to_string(stack).unwrap_or_default();
    let size = format!("{cpu_millis} {memory_mib} {disk_mib} {processes} {}", lifetime.as_millis());
    format!("{} {size} {stack}", spec.tier)
}

impl Inner {
    pub(super) fn claim(self: &Arc<Self>, stack: &Stack, spec: &Spec) -> Option<Booted> {
        let mut dead = Vec::new();
        let claimed = self.pool.claim(stack, spec, self.now(), &mut dead);
        for member in dead {
            self.discard(Arc::new(member.body), Some(member.disk));
        }
        self.refill();
        claimed
    }

    /// Makes what is due, one after the other, in the background.
    pub(super) fn refill(self: &Arc<Self>) {
        let Some((kind, stack, tier, compute)) = self.pool.due() else { return };
        let inner = Arc::clone(self);
        self.work.spawn(async move {
            let mut next = Some((kind, stack, tier, compute));
            while let Some((kind, stack, tier, compute)) = next {
                if inner.stop.is_cancelled() {
                    return;
                }
                let made = inner.boot(&stack, tier, &compute, Disk::New).await;
                if let Err(error) = &made {
                    tracing::warn!(%error, "no member for the pool");
                }
                if let Some(unwanted) = inner.pool.put(&kind, made.ok()) {
                    inner.discard(Arc::new(unwanted.body), Some(unwanted.disk));
                }
                next = inner.pool.due();
            }
        });
    }

    /// Lets go of members that nobody will ask for.
    pub(super) fn drain_pool(self: &Arc<Self>, now: Timestamp, stale: impl Fn(&Stack) -> bool) {
        for member in self.pool.drained(now, stale) {
            self.discard(Arc::new(member.body), Some(member.disk));
        }
    }
}
