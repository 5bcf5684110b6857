//! Freezes, thaws, rests, destroys.

use std::sync::Arc;

use contracts::sandbox::{SandboxError, State};
use domain::id::SandboxId;
use images::disk::DiskName;

use super::{DEATH, Entry, Inner, Sandbox, boot::remove_group, busy};
use crate::{body::Body, meter::Standing};

/// Who is put to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    Anyone,
    /// Only one in which no command runs: somebody may have begun one after it was found idle.
    TheIdle,
}

impl Whom {
    const fn spares(self, entry: &Entry) -> bool {
        match self {
            Self::Anyone => false,
            Self::TheIdle => entry.busy > 0,
        }
    }
}

impl Inner {
    pub(super) async fn freeze(&self, id: SandboxId) -> Result<(), SandboxError> {
        let _turn = self.turns.take(id).await;
        let sandbox = self.get(id)?;
        self.freeze_now(&sandbox, Whom::Anyone)
    }

    /// The caller has the turn.
    pub(super) fn freeze_now(&self, sandbox: &Sandbox, whom: Whom) -> Result<(), SandboxError> {
        let body = sandbox.body()?;
        let mut entry = sandbox.lock();
        if entry.record.state == State::Frozen || whom.spares(&entry) {
            return Ok(());
        }
        let cannot = |error| SandboxError::Unsupported { reason: format!("freezing: {error}") };
        body.group.freeze().map_err(cannot)?;
        entry.record.state = State::Frozen;
        self.records.write_state(&entry.record).map_err(busy)
    }

    pub(super) async fn thaw(self: &Arc<Self>, id: SandboxId) -> Result<(), SandboxError> {
        let _turn = self.turns.take(id).await;
        let sandbox = self.get(id)?;
        let state = sandbox.lock().record.state;
        match state {
            State::Open => Ok(()),
            State::Frozen => self.thaw_now(&sandbox),
            State::Resting => Err(SandboxError::Resting { id }),
        }
    }

    /// The caller has the turn.
    pub(super) fn thaw_now(&self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        let body = sandbox.body()?;
        let mut entry = sandbox.lock();
        body.group.thaw().map_err(busy)?;
        entry.record.state = State::Open;
        entry.record.used_at = self.now();
        self.records.write_state(&entry.record).map_err(busy)
    }

    pub(super) async fn rest(self: &Arc<Self>, id: SandboxId) -> Result<(), SandboxError> {
        let _turn = self.turns.take(id).await;
        let sandbox = self.get(id)?;
        self.rest_now(&sandbox, Whom::Anyone).await
    }

    /// The caller has the turn.
    pub(super) async fn rest_now(
        self: &Arc<Self>,
        sandbox: &Sandbox,
        whom: Whom,
    ) -> Result<(), SandboxError> {
        if whom.spares(&sandbox.lock()) {
            return Ok(());
        }
        self.tear_down(sandbox).await;
        let body = {
            let mut entry = sandbox.lock();
            if whom.spares(&entry) {
                return Ok(());
            }
            let Some(body) = entry.body.take() else { return Ok(()) };
            self.read_last(&mut entry, &body, Standing::Live);
            entry.record.state = State::Resting;
            entry.record.body = None;
            entry.record.used_at = self.now();
            entry.record.answers = entry.answers.all();
            body
        };
        let _ = body.kill();
        // Before it can be opened again: whoever left late would close the doors of the next body.
        self.leave_now(sandbox).await;
        if tokio::time::timeout(DEATH, body.death()).await.is_err() {
            // It is told as resting, but what is left of it goes on being killed, and its disk is not free before.
            self.discard(body, None);
            return Err(busy("its processes do not end"));
        }
        let written = {
            let mut entry = sandbox.lock();
            self.read_last(&mut entry, &body, Standing::Live);
            entry.meter.settle();
            self.leave_its_room(&entry.record.disk);
            self.records.write(&entry.record)
        };
        self.discard(body, None);
        written.map_err(busy)
    }

    pub(super) async fn destroy(self: &Arc<Self>, id: SandboxId) -> Result<(), SandboxError> {
        let _turn = self.turns.take(id).await;
        self.gone.add(id, self.now()).map_err(busy)?;
        let known = self.known().get(&id).cloned();
        if let Some(sandbox) = known {
            self.tear_down(&sandbox).await;
            self.end(id, &sandbox);
        }
        Ok(())
    }

    /// Ends a life: what it used is written down, everything in it is killed, and what is left of it goes away in
    /// the background. The caller has the turn.
    pub(super) fn end(self: &Arc<Self>, id: SandboxId, sandbox: &Sandbox) {
        self.known().remove(&id);
        let (body, disk) = {
            let mut entry = sandbox.lock();
            let body = entry.body.take();
            if let Some(body) = &body {
                self.read_last(&mut entry, body, Standing::Final);
            }
            self.free_name(&entry.record.spec);
            (body, entry.record.disk.clone())
        };
        self.forget(sandbox);
        // If it cannot be removed, the next start finds it among those that are gone, and removes it then.
        let _ = self.records.remove(id);
        let disk = disk.parse().ok();
        match body {
            Some(body) => {
                let _ = body.kill();
                self.discard(body, disk);
            }
            None => {
                if let Some(disk) = disk {
                    self.remove_disk(disk);
                }
            }
        }
    }

    /// Removes what is left of a body in the background: process, control group, socket, ids, and its disk if told so.
    pub(crate) fn discard(self: &Arc<Self>, body: Arc<Body>, disk: Option<DiskName>) {
        let inner = Arc::clone(self);
        self.work.spawn(async move {
            let _ = body.kill();
            let _ = std::fs::remove_file(&body.control);
            let _ = tokio::time::timeout(DEATH, body.death()).await;
            body.link.close();
            remove_group(&body.group).await;
            if let Some(disk) = disk {
                inner.remove_disk(disk);
            }
            // The ids are free for another only now.
            drop(body);
        });
    }

    pub(crate) fn remove_disk(self: &Arc<Self>, disk: DiskName) {
        let inner = Arc::clone(self);
        self.work.spawn_blocking(move || {
            if let Err(error) = inner.disks.remove(&disk) {
                tracing::warn!(%disk, %error, "a disk is not removed");
            }
        });
    }

    /// Its first process has ended, and perhaps nobody asked for it.
    pub(super) async fn died(self: &Arc<Self>, sandbox: &Sandbox, body: &Arc<Body>) {
        let _turn = self.turns.take(sandbox.id).await;
        self.note_death(sandbox, body);
    }

    /// The caller has the turn.
    pub(super) fn note_death(self: &Arc<Self>, sandbox: &Sandbox, body: &Arc<Body>) {
        {
            let mut entry = sandbox.lock();
            let is_current = entry.body.as_ref().is_some_and(|current| Arc::ptr_eq(current, body));
            if !is_current {
                return;
            }
            let out_of_memory = body.out_of_memory();
            self.read_last(&mut entry, body, Standing::Live);
            entry.meter.settle();
            let reason = match out_of_memory {
                Some(peak) => format!("its memory ran out at {} MiB", peak >> 20),
                None => entry.ending.unwrap_or("its first process was killed").to_owned(),
            };
            tracing::info!(sandbox = %sandbox.id, reason, "a sandbox has ended");
            self.leave_its_room(&entry.record.disk);
            entry.record.died = Some(reason);
            entry.body = None;
            entry.record.state = State::Resting;
            entry.record.body = None;
            entry.record.answers = entry.answers.all();
            if let Err(error) = self.records.write(&entry.record) {
                tracing::warn!(sandbox = %sandbox.id, %error, "a record is not written");
            }
        }
        self.leave(sandbox);
        self.discard(Arc::clone(body), None);
    }
}
