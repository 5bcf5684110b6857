//! Reads counters, and bills owners.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
    time::Duration,
};

use contracts::sandbox::{Image, Owner, Reading, SandboxError};
use domain::{cost::Cost, id::SandboxId, time::Timestamp};
use images::{
    disk::{DiskError, DiskName, Kind, LayerName, Limit},
    store::{InUse, Keep},
};

use super::{Entry, Inner, Sandbox, boot::limit, busy};
use crate::{
    body::Body,
    meter::{Disk, Standing},
};

impl Inner {
    /// Takes a sample of what runs, and writes it down.
    pub(super) fn sample(&self, sandbox: &Sandbox, now: Timestamp) -> Result<(), SandboxError> {
        let mut entry = sandbox.lock();
        let Some(body) = entry.body.clone() else { return Ok(()) };
        let before = entry.meter.cost().cpu_millis;
        entry.meter.sample(&body.group.reading(), now);
        let used = entry.meter.cost().cpu_millis - before;
        let passed = now.since(entry.sampled_at).as_millis();
        entry.sampled_at = now;
        entry.works = u128::from(used) * IDLE_SHARE > passed;
        self.write_down(&entry, Standing::Live)
    }

    /// The last reading of a body that ends. Asked before and after its end, so that none is lost.
    pub(super) fn read_last(&self, entry: &mut Entry, body: &Body, standing: Standing) {
        entry.meter.sample(&body.group.reading(), self.now());
        if let Err(error) = self.write_down(entry, standing) {
            tracing::error!(sandbox = %entry.record.spec.id, %error, "a reading is not written");
        }
    }

    fn write_down(&self, entry: &Entry, standing: Standing) -> Result<(), SandboxError> {
        let spec = &entry.record.spec;
        let written = self.ledger.write(&spec.owner, spec.id, &entry.meter, 0, standing);
        written.map(drop).map_err(busy)
    }

    pub(super) fn stats(&self, id: SandboxId) -> Result<Reading, SandboxError> {
        let sandbox = self.get(id)?;
        self.sample(&sandbox, self.now())?;
        let (meter, disk) = {
            let entry = sandbox.lock();
            (entry.meter.clone(), entry.record.disk.clone())
        };
        let disk: DiskName = disk.parse().map_err(busy)?;
        // The walk is as long as whoever is inside made it.
        let usage = tokio::task::block_in_place(|| self.disks.usage(&disk)).map_err(busy)?;
        Ok(meter.reading(Disk { bytes: usage.bytes, files: usage.files }))
    }

    pub(super) fn bill(&self, owner: &Owner) -> Result<Cost, SandboxError> {
        let now = self.now();
        let known: Vec<_> = self.known().values().cloned().collect();
        for sandbox in known {
            let mine = sandbox.lock().record.spec.owner == *owner;
            if mine {
                self.sample(&sandbox, now)?;
            }
        }
        self.ledger.bill(owner).map_err(busy)
    }

    /// On plain directories no kernel keeps the limit, so it is looked after here.
    pub(super) fn is_over_its_disk(&self, entry: &Entry) -> bool {
        if self.disks.kind() == Kind::Btrfs {
            return false;
        }
        let Ok(disk) = entry.record.disk.parse() else { return false };
        self.is_over(&disk, limit(&entry.record.spec.compute))
    }

    pub(super) fn is_over(&self, disk: &DiskName, limit: Limit) -> bool {
        match self.disks.usage(disk) {
            Ok(usage) => usage.bytes > limit.bytes || usage.files > limit.files,
            // What cannot be counted is hidden on purpose.
            Err(error) => matches!(error, DiskError::TooDeep(_) | DiskError::Hidden(_)),
        }
    }

    pub(super) fn list_images(&self) -> Result<Vec<Image>, SandboxError> {
        let stacks = self.stacks_in_use();
        let listed = self.images.list().map_err(busy)?;
        let shown = listed.into_iter().map(|(built, used_at)| {
            let users = stacks.iter().filter(|(image, _)| image.as_ref() == Some(&built.key));
            built.shown(used_at, u32::try_from(users.count()).unwrap_or(u32::MAX))
        });
        Ok(shown.collect())
    }

    /// Removes images that nobody used for long. Whoever opens or builds something now is not kept waiting: the next round
    /// looks again.
    pub(super) async fn forget_old_images(
        self: &Arc<Self>,
        now: Timestamp,
    ) -> Result<(), SandboxError> {
        let looked_at = || self.images_looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if now.since(*looked_at()) < OLD_IMAGES_EVERY {
            return Ok(());
        }
        let Ok(_alone) = self.standing.try_write() else { return Ok(()) };
        *looked_at() = now;
        let kept_for = self.settings.retention.forget_images_after;
        let mut old = self.images.list().map_err(busy)?;
        old.retain(|(_, used)| now.since(*used) > kept_for);
        let Some(youngest) = old.iter().map(|(_, used)| *used).max() else { return Ok(()) };
        let keys: BTreeSet<_> = old.into_iter().map(|(built, _)| built.key.clone()).collect();
        // Members that wait for somebody do not keep an image.
        self.drain_pool(now, |stack| stack.image().is_some_and(|key| keys.contains(&key)));
        let keep = Keep::UsedSince(youngest + Duration::from_millis(1));
        self.remove_images(keep).await.map(drop)
    }

    pub(super) async fn prune_images(
        self: &Arc<Self>,
        keep_bytes: u64,
    ) -> Result<Vec<Image>, SandboxError> {
        self.drain_pool(self.now(), |stack| stack.image.is_some());
        self.remove_images(Keep::Bytes(keep_bytes)).await
    }

    async fn remove_images(self: &Arc<Self>, keep: Keep) -> Result<Vec<Image>, SandboxError> {
        let removed = self.images.prune(keep, &self.in_use()).map_err(busy)?;
        for (built, _) in &removed {
            for layer in &built.layers {
                // What the launcher keeps open would keep the layer's space.
                let path = layer.path.to_string_lossy().into_owned();
                self.spawner.release(&path).await.map_err(busy)?;
            }
        }
        // Bases that no image and no sandbox stands on are brought in again when somebody asks for them.
        self.stacks.forget();
        let swept = self.images.sweep(&self.in_use()).map_err(busy)?;
        tracing::info!(layers = swept.len(), "removed what nothing stands on");
        Ok(removed.into_iter().map(|(built, used_at)| built.shown(used_at, 0)).collect())
    }

    pub(super) fn in_use(&self) -> InUse {
        let mut in_use = InUse::default();
        for (image, layers) in self.stacks_in_use() {
            in_use.images.extend(image);
            in_use.layers.extend(layers);
        }
        in_use
    }

    fn stacks_in_use(&self) -> Vec<(Option<contracts::sandbox::ImageKey>, Vec<LayerName>)> {
        let known: Vec<_> = self.known().values().cloned().collect();
        let mut stacks: Vec<_> = known.iter().map(|one| one.lock().record.stack.clone()).collect();
        stacks.extend(self.pool.stacks());
        stacks.extend(self.stacks.kept());
        let parts = |stack: crate::stack::Stack| {
            let layers = stack.layers.iter().filter_map(|layer| layer.parse().ok()).collect();
            (stack.image(), layers)
        };
        stacks.into_iter().map(parts).collect()
    }
}

/// A sandbox that used less than this part of a core since the last look did nothing. Idleness is what the kernel
/// counts, not what the guest says.
const IDLE_SHARE: u128 = 100;

/// How often images that nobody uses are looked for.
const OLD_IMAGES_EVERY: Duration = Duration::from_hours(1);
