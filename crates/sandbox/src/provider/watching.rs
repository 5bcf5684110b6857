//! Holds limits that no kernel holds here: memory, and for a setup its disk.
//!
//! Where control groups were not delegated to us, the processes of a sandbox are asked ten times a second what they hold. When that
//! is more than the limit, the largest is killed, as the kernel would; when that does not help, all of it is. Between two looks a
//! process is held by a limit of its own, some way above (see `boot`).

use std::{path::Path, sync::Arc, time::Duration};

use contracts::sandbox::Compute;
use images::disk::DiskName;

use super::{Inner, boot::limit};
use crate::{body::Body, watch};

const LOOK: Duration = Duration::from_millis(100);

/// A disk takes a walk, so it is looked at less often.
const LOOKS_PER_WALK: u32 = 10;

/// Killing one process at a time must have helped by then.
const PATIENCE: u32 = 5;

const MIB: u64 = 1 << 20;

impl Inner {
    /// Watches what runs until it ends. The disk of a sandbox is watched by whoever tends to it; `disk` is for those that nobody
    /// tends to.
    pub(crate) fn hold_limits(
        self: &Arc<Self>,
        compute: &Compute,
        disk: Option<DiskName>,
        body: &Arc<Body>,
    ) {
        let memory = (!self.groups.abilities().memory.is_given())
            .then_some(u64::from(compute.memory_mib) * MIB);
        if memory.is_none() && disk.is_none() {
            return;
        }
        let (inner, body, most) = (Arc::clone(self), Arc::clone(body), limit(compute));
        self.work.spawn(async move {
            let mut looks = tokio::time::interval(LOOK);
            looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            let (mut over, mut number) = (0, 0_u32);
            loop {
                tokio::select! {
                    _ = looks.tick() => {}
                    () = body.death() => return,
                    () = inner.stop.cancelled() => return,
                }
                number = number.wrapping_add(1);
                if let Some(memory) = memory {
                    let is_over = tokio::task::block_in_place(|| relieve(&body, memory, over));
                    over = if is_over { over + 1 } else { 0 };
                }
                let walks = number.is_multiple_of(LOOKS_PER_WALK);
                if let Some(disk) = disk.as_ref().filter(|_| walks)
                    && tokio::task::block_in_place(|| inner.is_over(disk, most))
                {
                    let _ = body.kill();
                }
            }
        });
    }
}

/// Kills the largest process if all hold more than `most`, or all of them if it was `over` often. Whether it was over.
fn relieve(body: &Body, most: u64, over: u32) -> bool {
    let held = watch::footprint(Path::new("/proc"), body.record.pid, most);
    if held.bytes <= most {
        return false;
    }
    body.ran_out_of_memory(held.bytes);
    match held.largest {
        Some(largest) if over < PATIENCE => largest.kill(),
        Some(_) | None => drop(body.kill()),
    }
    true
}
