//! Computers that wait for somebody (SB9).
//!
//! A waiting member is a body with a fresh disk and nothing else: no identity, no secret, no way out. Where its image has
//! repositories, git has looked at them once, so that the first look of whoever comes is not the slow one. Claiming
//! takes it off the shelf under a lock, so nobody else can have it, and it never comes back: a body that was used
//! is destroyed. Members have no record, so what a crashed server leaves of them is cleared away.
//!
//! How many wait follows what is asked for: every claim of a kind wants one more, up to a limit; a kind that
//! nobody asks for any more is drained.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use contracts::sandbox::{Compute, WorkspaceAccess};
use domain::time::Timestamp;

use super::{
    Inner,
    boot::{Blueprint, Booted, Disk},
};
use crate::{settings::PoolSettings, stack::Stack};

/// Whoever was given a member has a command to run, and needs the CPU more than the next member does.
const BREATH: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Pool {
    settings: PoolSettings,
    kinds: Mutex<BTreeMap<String, Shelf>>,
}

/// The members of one image, tier and size, all with a workspace that can be written, or all with one that cannot.
#[derive(Debug)]
struct Shelf {
    blueprint: Blueprint,
    /// With the time when each was made, the oldest first.
    members: VecDeque<(Booted, Timestamp)>,
    /// How many should wait.
    wanted: u32,
    /// How many are being made.
    coming: u32,
    asked_at: Timestamp,
}

impl Pool {
    pub(super) fn new(settings: PoolSettings) -> Self {
        Self { settings, kinds: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Shelf>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a member, if one waits, and remembers that it was asked for. Those that died while they waited are `dead`.
    fn claim(
        &self,
        blueprint: &Blueprint,
        now: Timestamp,
        dead: &mut Vec<Booted>,
    ) -> Option<Booted> {
        if self.settings.most_of_a_kind == 0 {
            return None;
        }
        let mut kinds = self.lock();
        let row = kinds.entry(kind(blueprint)).or_insert_with(|| Shelf {
            blueprint: blueprint.clone(),
            members: VecDeque::new(),
            wanted: 0,
            coming: 0,
            asked_at: now,
        });
        row.asked_at = now;
        row.wanted = row.wanted.saturating_add(1).min(self.settings.most_of_a_kind);
        while let Some((member, made_at)) = row.members.pop_front() {
            let is_fresh = now.since(made_at) < OLDEST;
            if is_fresh && member.body.is_alive() && member.body.link.lost().is_none() {
                return Some(member);
            }
            dead.push(member);
        }
        None
    }

    /// What should be made now: counted as coming, so that nobody else makes it too.
    fn due(&self) -> Option<(String, Blueprint)> {
        let mut kinds = self.lock();
        let count = |row: &Shelf| row.coming + u32::try_from(row.members.len()).unwrap_or(0);
        let all: u32 = kinds.values().map(count).sum();
        if all >= self.settings.most {
            return None;
        }
        let (kind, row) = kinds.iter_mut().find(|(_, row)| count(row) < row.wanted)?;
        row.coming += 1;
        Some((kind.clone(), row.blueprint.clone()))
    }

    /// Puts a new member on its shelf; gives it back where the shelf is gone.
    fn put(&self, kind: &str, member: Option<Booted>, now: Timestamp) -> Option<Booted> {
        let mut kinds = self.lock();
        let Some(row) = kinds.get_mut(kind) else { return member };
        row.coming = row.coming.saturating_sub(1);
        match member {
            Some(member) => row.members.push_back((member, now)),
            // It could not be made: not tried again until somebody asks again.
            None => row.wanted = 0,
        }
        None
    }

    /// Members of kinds that nobody asks for, or that `stale` says are no longer right.
    fn drained(&self, now: Timestamp, stale: impl Fn(&Stack) -> bool) -> Vec<Booted> {
        let mut kinds = self.lock();
        let mut drained = Vec::new();
        kinds.retain(|_, row| {
            let forgotten = now.since(row.asked_at) > self.settings.drain_after;
            if forgotten || stale(&row.blueprint.stack) {
                drained.extend(row.members.drain(..).map(|(member, _)| member));
                return false;
            }
            while row.members.front().is_some_and(|(_, made_at)| now.since(*made_at) >= OLDEST) {
                drained.extend(row.members.pop_front().map(|(member, _)| member));
            }
            true
        });
        drained
    }

    /// How many wait on all shelves.
    pub(super) fn waiting(&self) -> usize {
        self.lock().values().map(|row| row.members.len()).sum()
    }

    /// Whether as many wait as are wanted, and none is being made.
    pub(super) fn is_stocked(&self) -> bool {
        let waits = |row: &Shelf| u32::try_from(row.members.len()).unwrap_or(u32::MAX);
        self.lock().values().all(|row| row.coming == 0 && waits(row) >= row.wanted)
    }

    pub(super) fn stacks(&self) -> Vec<Stack> {
        self.lock().values().map(|row| row.blueprint.stack.clone()).collect()
    }
}

/// A guest counts its lifetime from its start, so members that waited longer than this are replaced.
const OLDEST: Duration = Duration::from_mins(10);

/// Everything that makes two members the same.
fn kind(blueprint: &Blueprint) -> String {
    let Blueprint { stack, tier, compute, workspace } = blueprint;
    let Compute { cpu_millis, memory_mib, disk_mib, processes, lifetime } = compute;
    let stack = serde_json::to_string(stack).unwrap_or_default();
    let size = format!("{cpu_millis} {memory_mib} {disk_mib} {processes} {}", lifetime.as_millis());
    let workspace = match workspace {
        WorkspaceAccess::Writable => "writable",
        WorkspaceAccess::ReadOnly => "read-only",
    };
    format!("{tier} {workspace} {size} {stack}")
}

impl Inner {
    pub(super) fn claim(self: &Arc<Self>, blueprint: &Blueprint) -> Option<Booted> {
        let mut dead = Vec::new();
        let claimed = self.pool.claim(blueprint, self.now(), &mut dead);
        for member in dead {
            self.discard(Arc::new(member.body), Some(member.disk));
        }
        self.refill();
        claimed
    }

    /// Makes what is due, one after the other, in the background.
    pub(super) fn refill(self: &Arc<Self>) {
        let Some((kind, blueprint)) = self.pool.due() else { return };
        let inner = Arc::clone(self);
        self.work.spawn(async move {
            let mut next = Some((kind, blueprint));
            let mut breath = tokio::time::interval(BREATH);
            breath.tick().await;
            while let Some((kind, blueprint)) = next {
                breath.tick().await;
                if inner.stop.is_cancelled() {
                    return;
                }
                let made = inner.boot(&blueprint, Disk::New).await;
                match &made {
                    Ok(member) => inner.look_around(&member.body, &blueprint).await,
                    Err(error) => tracing::warn!(%error, "no member for the pool"),
                }
                if let Some(unwanted) = inner.pool.put(&kind, made.ok(), inner.now()) {
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
