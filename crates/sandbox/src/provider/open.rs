//! Opens, wakes, forks.

use std::{sync::Arc, time::Duration};

use contracts::{
    egress::Network,
    sandbox::{Base, SandboxError, Spec, State, WorkspaceAccess},
};
use domain::id::SandboxId;

use super::{
    DEATH, Entry, Inner, Sandbox,
    boot::{Blueprint, Booted, Disk},
    busy,
    life::Whom,
    sealing,
};
use crate::{body::Body, link::LinkError, meter::Meter, record::Record, stack::Stack};

/// What somebody who wants a sandbox awake says about it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked<'a> {
    /// An opening, which says anew what is said anew at every opening.
    Opening(&'a Spec),
    /// Something else that needs it awake, as it was.
    AsItWas,
}

impl<'a> Asked<'a> {
    const fn network(self) -> Option<&'a Network> {
        match self {
            Self::Opening(spec) => spec.network.as_ref(),
            Self::AsItWas => None,
        }
    }

    const fn workspace(self, before: WorkspaceAccess) -> WorkspaceAccess {
        match self {
            Self::Opening(spec) => spec.workspace,
            Self::AsItWas => before,
        }
    }
}

impl Inner {
    pub(super) async fn open(self: &Arc<Self>, spec: &Spec) -> Result<(), SandboxError> {
        let _turn = self.turns.take(spec.id).await;
        self.not_gone(spec.id)?;
        let known = self.known().get(&spec.id).cloned();
        if let Some(sandbox) = known {
            return self.wake(&sandbox, Asked::Opening(spec)).await;
        }
        let stack = self.check(spec).await?;
        let blueprint = sealing::first_body(spec, stack);
        let claimed = self.claim(&blueprint);
        let booted = match claimed {
            Some(booted) => Ok(booted),
            None => self.boot_for(&blueprint, Disk::New).await,
        };
        self.begin_life(spec, blueprint, booted).await
    }

    pub(super) async fn fork(
        self: &Arc<Self>,
        from: SandboxId,
        spec: &Spec,
    ) -> Result<(), SandboxError> {
        let _turn = self.turns.take(spec.id).await;
        self.not_gone(spec.id)?;
        let known = self.known().get(&spec.id).cloned();
        if let Some(sandbox) = known {
            return self.wake(&sandbox, Asked::Opening(spec)).await;
        }
        self.check_limits(spec)?;
        let original = self.get(from)?;
        let (stack, disk, tier) = {
            let entry = original.lock();
            (entry.record.stack.clone(), entry.record.disk.clone(), entry.record.spec.tier)
        };
        // What its disk holds was made behind walls as strong as these, and may be made for getting through weaker ones.
        if spec.tier < tier {
            let reason = format!(
                "a copy of a sandbox of the tier `{tier}` cannot have the weaker tier `{}`",
                spec.tier
            );
            return Err(SandboxError::Limit { reason });
        }
        let disk = Disk::CopyOf(disk.parse().map_err(busy)?);
        self.reserve_name(spec)?;
        let spec = &Spec { sources: Vec::new(), ..spec.clone() };
        let blueprint = sealing::first_body(spec, stack);
        let booted = self.boot_for(&blueprint, disk).await;
        self.begin_life(spec, blueprint, booted).await
    }

    /// Refuses what cannot be, before anything is made.
    async fn check(&self, spec: &Spec) -> Result<Stack, SandboxError> {
        self.check_limits(spec)?;
        let wrong = |reason| SandboxError::Image { image: spec.image.clone(), reason };
        let base: Base = spec.image.parse().map_err(wrong)?;
        let mut stack = self.stacks.of(self, &base).await?;
        // An image that was built with repositories needs their objects, whoever asks for them.
        let own = stack.checkouts();
        let shown = if spec.sources.is_empty() { &own } else { &spec.sources };
        self.show_sources(shown, &mut stack).await?;
        self.reserve_name(spec)?;
        Ok(stack)
    }

    fn check_limits(&self, spec: &Spec) -> Result<(), SandboxError> {
        spec.compute.check().map_err(|reason| SandboxError::Limit { reason })?;
        if self.capabilities.tiers.contains(&spec.tier) {
            return Ok(());
        }
        let reason = self.capabilities.missing.get(&spec.tier).cloned().unwrap_or_default();
        Err(SandboxError::TierMissing { tier: spec.tier, reason })
    }

    async fn begin_life(
        self: &Arc<Self>,
        spec: &Spec,
        blueprint: Blueprint,
        booted: Result<Booted, SandboxError>,
    ) -> Result<(), SandboxError> {
        let Booted { body, disk } = booted.inspect_err(|_| self.free_name(spec))?;
        let now = self.now();
        let record = Record {
            spec: Spec { conditions: None, network: None, ..spec.clone() },
            state: State::Open,
            created_at: now,
            used_at: now,
            ends_at: now + spec.compute.lifetime,
            disk: disk.to_string(),
            stack: blueprint.stack,
            body: Some(body.record.clone()),
            ports: None,
            answers: std::collections::BTreeMap::new(),
            died: None,
            handed: std::collections::BTreeMap::new(),
        };
        let body = Arc::new(body);
        let mut meter = Meter::default();
        meter.begin(&body.record.name, now);
        let sandbox = Arc::new(Sandbox::new(record, Some(Arc::clone(&body)), meter));
        sandbox.lock().workspace = blueprint.workspace;
        self.known().insert(spec.id, Arc::clone(&sandbox));
        self.watch(&sandbox, &body);
        // Written when all of it is there: what a crash leaves half furnished is nobody's, and opening again begins anew.
        let begun = match self.furnish(&sandbox, body, spec).await {
            Ok(()) => self.records.write(&sandbox.lock().record).map_err(busy),
            Err(error) => Err(error),
        };
        if begun.is_err() {
            self.end(spec.id, &sandbox);
        }
        begun
    }

    /// Brings the repositories in, and runs what is to be run at the beginning.
    async fn furnish(
        self: &Arc<Self>,
        sandbox: &Arc<Sandbox>,
        body: Arc<Body>,
        spec: &Spec,
    ) -> Result<(), SandboxError> {
        self.join(sandbox, &body, spec.network.as_ref()).await?;
        self.check_out(sandbox, spec).await?;
        self.hook(sandbox, &body, spec, "post_clone", &spec.hooks.post_clone).await?;
        let body = self.sealed(sandbox, body, spec).await?;
        self.hook(sandbox, &body, spec, "post_start", &spec.hooks.post_start).await?;
        self.hand_over(sandbox, &body, spec).await;
        Ok(())
    }

    /// Opens it again, if it rests or is frozen. The caller has the turn.
    async fn wake(
        self: &Arc<Self>,
        sandbox: &Arc<Sandbox>,
        asked: Asked<'_>,
    ) -> Result<(), SandboxError> {
        self.bury_the_dead(sandbox).await?;
        let workspace = asked.workspace(sandbox.lock().record.spec.workspace);
        if sandbox.lock().record.spec.workspace != workspace {
            // The mounts of what runs are what they are: it ends, and another body takes its place.
            self.rest_now(sandbox, Whom::Anyone).await?;
        }
        let (state, record) = {
            let entry = sandbox.lock();
            (entry.record.state, entry.record.clone())
        };
        match state {
            State::Open => self.renew(sandbox, asked.network()).await,
            State::Frozen => {
                self.thaw_now(sandbox)?;
                self.renew(sandbox, asked.network()).await
            }
            State::Resting => {
                let disk = Disk::Kept(record.disk.parse().map_err(busy)?);
                let compute = record.spec.compute;
                let (stack, tier) = (record.stack.clone(), record.spec.tier);
                let blueprint = Blueprint { stack, tier, compute, workspace };
                let booted = self.boot_for(&blueprint, disk).await?;
                let body = Arc::new(booted.body);
                let now = self.now();
                let written = {
                    let mut entry = sandbox.lock();
                    entry.record.state = State::Open;
                    entry.record.used_at = now;
                    entry.record.ends_at = now + compute.lifetime;
                    entry.record.body = Some(body.record.clone());
                    entry.body = Some(Arc::clone(&body));
                    entry.record.spec.workspace = workspace;
                    entry.workspace = workspace;
                    entry.record.died = None;
                    entry.ending = None;
                    entry.meter.begin(&body.record.name, now);
                    self.records.write(&entry.record)
                };
                self.watch(sandbox, &body);
                written.map_err(busy)?;
                self.prove(sandbox, &body, workspace).await?;
                self.join(sandbox, &body, asked.network()).await?;
                let spec = &record.spec;
                self.hook(sandbox, &body, spec, "post_start", &spec.hooks.post_start).await
            }
        }
    }

    /// Notes the end of one whose guest is gone, if that was not noticed yet: it is not open, whatever its record says. The
    /// caller has the turn.
    async fn bury_the_dead(self: &Arc<Self>, sandbox: &Arc<Sandbox>) -> Result<(), SandboxError> {
        let body = sandbox.lock().body.clone();
        let Some(body) = body.filter(|body| !body.is_alive()) else { return Ok(()) };
        let _ = body.kill();
        // Nothing else may use its disk before it has ended.
        let ended = tokio::time::timeout(DEATH, body.death()).await;
        ended.map_err(|_late| busy("its processes do not end"))?;
        self.note_death(sandbox, &body);
        Ok(())
    }

    /// What runs; woken first, where it sleeps (SB8). One that ended by itself is not: whoever opened it is to
    /// know first.
    pub(super) async fn awake(
        self: &Arc<Self>,
        sandbox: &Arc<Sandbox>,
    ) -> Result<Arc<Body>, SandboxError> {
        let (sleeps, begins) = {
            let entry = sandbox.lock();
            let sleeps = entry.record.state != State::Open && entry.record.died.is_none();
            (sleeps, entry.workspace != entry.record.spec.workspace)
        };
        if begins {
            // What it could write now it could not when it is open. Whoever opens it has the turn until then.
            drop(self.turns.take(sandbox.id).await);
            self.get(sandbox.id)?;
        }
        if sleeps {
            let (inner, sandbox) = (Arc::clone(self), Arc::clone(sandbox));
            let waking = async move {
                let _turn = inner.turns.take(sandbox.id).await;
                inner.wake(&sandbox, Asked::AsItWas).await
            };
            self.whole(waking).await?;
        }
        sandbox.body()
    }

    /// Notices when its first process ends without being asked to, or does not answer any more.
    pub(super) fn watch(self: &Arc<Self>, sandbox: &Arc<Sandbox>, body: &Arc<Body>) {
        let compute = sandbox.lock().record.spec.compute;
        self.hold_limits(&compute, None, body);
        let (inner, sandbox, body) = (Arc::clone(self), Arc::clone(sandbox), Arc::clone(body));
        self.work.spawn(async move {
            tokio::select! {
                () = body.death() => inner.died(&sandbox, &body).await,
                () = silence(&sandbox, &body) => {
                    sandbox.lock().ending = Some("its guest does not answer");
                    let _ = body.kill();
                    body.death().await;
                    inner.died(&sandbox, &body).await;
                }
                () = body.link.over() => {
                    // One that ends hangs up first; one that lies is ended.
                    if let Some(error @ LinkError::Broken(_)) = body.link.lost() {
                        tracing::warn!(sandbox = %sandbox.id, %error, "a sandbox is killed");
                        sandbox.lock().ending = Some("its guest broke the protocol");
                    }
                    let _ = body.kill();
                    body.death().await;
                    inner.died(&sandbox, &body).await;
                }
                () = inner.stop.cancelled() => body.link.close(),
            }
        });
    }

    fn not_gone(&self, id: SandboxId) -> Result<(), SandboxError> {
        if self.gone.contains(id) { Err(SandboxError::Destroyed { id }) } else { Ok(()) }
    }

    fn reserve_name(&self, spec: &Spec) -> Result<(), SandboxError> {
        let Some(name) = &spec.name else { return Ok(()) };
        let mut names = self.names();
        match names.get(name) {
            Some(id) if *id != spec.id => {
                Err(SandboxError::NameTaken { name: name.to_string(), id: *id })
            }
            Some(_) | None => {
                names.insert(name.clone(), spec.id);
                Ok(())
            }
        }
    }

    pub(super) fn free_name(&self, spec: &Spec) {
        if let Some(name) = &spec.name {
            self.names().remove(name);
        }
    }
}

impl Sandbox {
    pub(super) fn new(record: Record, body: Option<Arc<Body>>, meter: Meter) -> Self {
        let workspace = record.spec.workspace;
        let answers = record.answers.clone().into();
        let sampled_at = record.used_at;
        Self {
            id: record.spec.id,
            entry: std::sync::Mutex::new(Entry {
                record,
                body,
                workspace,
                answers,
                meter,
                sampled_at,
                works: false,
                road: std::collections::BTreeMap::new(),
                busy: 0,
                ending: None,
            }),
            commands: crate::turns::Turns::default(),
        }
    }
}

/// Returns when the guest of an open sandbox has not answered several times in a row.
async fn silence(sandbox: &Sandbox, body: &Body) {
    let mut beat = tokio::time::interval(HEARTBEAT);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut missed = 0;
    while missed < MISSED {
        beat.tick().await;
        // What is frozen has nothing to say.
        let open = sandbox.lock().record.state == State::Open;
        missed = if !open || body.link.ping().await.is_ok() { 0 } else { missed + 1 };
    }
}

/// How often a guest is asked whether it is there.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How often in a row it may say nothing: a machine under load is slow, not dead.
const MISSED: u32 = 4;
