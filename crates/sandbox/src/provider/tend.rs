//! What has to be done from time to time: samples, limits that no kernel keeps, retention, the pool.

use std::{sync::Arc, time::Duration};

use contracts::{
    clock::Clock,
    sandbox::{SandboxError, State},
};
use domain::time::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Inner, Provider, Sandbox, life::Whom};

/// How often all this is looked at.
const EVERY: Duration = Duration::from_secs(1);

impl Provider {
    /// Tends to the sandboxes until `stop`.
    pub async fn run(&self, clock: &impl Clock, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let next = clock.now() + EVERY;
            tokio::select! {
                () = clock.sleep_until(next) => {}
                () = stop.cancelled() => return,
            }
            self.tend().await;
        }
    }

    /// One round of it.
    pub async fn tend(&self) {
        let inner = &self.inner;
        let now = inner.now();
        let known: Vec<_> = inner.known().values().cloned().collect();
        for sandbox in known {
            if let Err(error) = inner.tend_one(&sandbox, now).await {
                tracing::warn!(sandbox = %sandbox.id, %error, "could not tend to a sandbox");
            }
        }
        if let Err(error) = tokio::task::block_in_place(|| inner.disks.balance()) {
            tracing::warn!(%error, "the room for disks is not shared out anew");
        }
        if let Err(error) = inner.stacks.refresh(inner, now).await {
            tracing::warn!(%error, "the host cannot be looked at again");
        }
        if let Err(error) = inner.forget_old_images(now).await {
            tracing::warn!(%error, "images that nobody uses stay");
        }
        inner.drain_pool(now, |stack| inner.stacks.is_stale(stack));
        inner.refill();
    }
}

/// What is due for one sandbox.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    End(&'static str),
    Doze,
    Rest,
    Delete,
}

impl Inner {
    async fn tend_one(
        self: &Arc<Self>,
        sandbox: &Arc<Sandbox>,
        now: Timestamp,
    ) -> Result<(), SandboxError> {
        self.sample(sandbox, now)?;
        match self.due(sandbox, now) {
            Due::Nothing => Ok(()),
            Due::End(why) => {
                let body = sandbox.body()?;
                sandbox.lock().ending = Some(why);
                body.kill().map_err(super::busy)
            }
            // Whoever changes it now is not waited for: the next round looks again.
            Due::Doze => {
                let Some(_turn) = self.turns.take_now(sandbox.id) else { return Ok(()) };
                match self.freeze_now(sandbox, Whom::TheIdle) {
                    // A host that cannot freeze lets it run until it rests.
                    Err(SandboxError::Unsupported { .. }) => Ok(()),
                    frozen => frozen,
                }
            }
            Due::Rest => {
                let Some(turn) = self.turns.take_now(sandbox.id) else { return Ok(()) };
                let (inner, resting) = (Arc::clone(self), Arc::clone(sandbox));
                let rest = async move {
                    let _turn = turn;
                    inner.rest_now(&resting, Whom::TheIdle).await
                };
                self.without_waiting_for_hooks(sandbox, rest).await
            }
            Due::Delete => {
                if self.turns.take_now(sandbox.id).is_none() {
                    return Ok(());
                }
                let (inner, id) = (Arc::clone(self), sandbox.id);
                let delete = async move { inner.destroy(id).await };
                self.without_waiting_for_hooks(sandbox, delete).await
            }
        }
    }

    /// A hook may take its time; others are not to wait for it.
    async fn without_waiting_for_hooks(
        &self,
        sandbox: &Sandbox,
        work: impl Future<Output = Result<(), SandboxError>> + Send + 'static,
    ) -> Result<(), SandboxError> {
        let has_hook = !sandbox.lock().record.spec.hooks.pre_teardown.trim().is_empty();
        if !has_hook {
            return work.await;
        }
        let id = sandbox.id;
        self.work.spawn(async move {
            if let Err(error) = work.await {
                tracing::warn!(sandbox = %id, %error, "could not tend to a sandbox");
            }
        });
        Ok(())
    }

    fn due(&self, sandbox: &Sandbox, now: Timestamp) -> Due {
        let retention = self.settings.retention;
        let mut entry = sandbox.lock();
        let idle_for = now.since(entry.record.used_at);
        match entry.record.state {
            State::Resting if idle_for >= retention.delete_after => return Due::Delete,
            State::Resting => return Due::Nothing,
            State::Open | State::Frozen => {}
        }
        if now >= entry.record.ends_at {
            return Due::End("its lifetime has passed");
        }
        if self.is_over_its_disk(&entry) {
            return Due::End("its disk is full: it wrote more than its limit");
        }
        if entry.busy > 0 || entry.works {
            entry.record.used_at = now;
            return Due::Nothing;
        }
        match entry.record.state {
            State::Open | State::Frozen if idle_for >= retention.rest_after => Due::Rest,
            State::Open if idle_for >= retention.freeze_after => Due::Doze,
            State::Open | State::Frozen | State::Resting => Due::Nothing,
        }
    }
}
