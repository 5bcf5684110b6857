//! Finds room for a disk where all of it is promised.
//!
//! Somebody who asks is worth more than computers that wait for nobody yet: these give way, and what was deleted a moment ago is
//! cleared away first, before anybody is refused.

use std::{sync::Arc, time::Duration};

use contracts::sandbox::SandboxError;
use images::disk::DiskName;

use super::{
    Inner, Sandbox,
    boot::{Blueprint, Booted, Disk, limit},
    busy,
};

/// How long somebody waits for room that others are leaving.
const PATIENCE: Duration = Duration::from_millis(1_500);

const AGAIN: Duration = Duration::from_millis(25);

impl Inner {
    /// Boots for somebody who asked; members of the pool are booted only where there is room anyway.
    pub(crate) async fn boot_for(
        self: &Arc<Self>,
        blueprint: &Blueprint,
        disk: Disk,
    ) -> Result<Booted, SandboxError> {
        let mut booted = self.boot(blueprint, disk.clone()).await;
        if !matches!(booted, Err(SandboxError::NoRoom { .. })) {
            return booted;
        }
        self.drain_pool(self.now(), |_| true);
        let until = tokio::time::Instant::now() + PATIENCE;
        let mut again = tokio::time::interval(AGAIN);
        while matches!(booted, Err(SandboxError::NoRoom { .. }))
            && tokio::time::Instant::now() < until
        {
            again.tick().await;
            tokio::task::block_in_place(|| self.disks.empty_trash()).map_err(busy)?;
            booted = self.boot(blueprint, disk.clone()).await;
        }
        booted
    }

    /// What still runs from before this server goes on writing to its disk.
    pub(super) fn keep_its_room(&self, sandbox: &Sandbox) {
        let (disk, compute) = {
            let entry = sandbox.lock();
            (entry.record.disk.clone(), entry.record.spec.compute)
        };
        let Ok(disk) = disk.parse::<DiskName>() else { return };
        if let Err(error) = self.disks.take_over(&disk, limit(&compute)) {
            tracing::warn!(sandbox = %sandbox.id, %error, "the room of a disk is not counted");
        }
    }

    /// Nothing writes to its disk any more: the caller has seen the end of its first process.
    pub(super) fn leave_its_room(&self, disk: &str) {
        if let Ok(disk) = disk.parse() {
            self.disks.rest(&disk);
        }
    }
}
