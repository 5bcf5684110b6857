//! Finds what the host can give, and what a server before this one left.
//!
//! Every sandbox that still runs is taken over as it is. What has no record is nobody's: a body that was being made,
//! a member of the pool, a disk that was being removed. It is cleared away before anything new is made, so that
//! no crash leaks anything for longer than until the next start.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use contracts::sandbox::{Base, Capabilities, Compute, State, WorkspaceAccess};
use domain::{agent::Tier, time::Timestamp};
use fs_err as fs;
use git::{FetchLimits, Mirrors};
use images::{
    disk::{Budget, DiskError, Disks, Wish},
    store::Images,
};
use sha2::{Digest as _, Sha256};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Identity, Inner, Pool, Provider, Sandbox, Stacks,
    boot::{Blueprint, Disk, remove_group},
};
use crate::{
    body::{Body, BodyError},
    control_groups::{Ability, ControlGroups},
    meter::{Ledger, Meter},
    oci::{Builder, Builders, Memory, Platform, Runtime},
    record::{BodyRecord, Gone, Record, Records},
    settings::Settings,
    slots::{CLAIMS, Slots},
    spawner::Spawner,
    stack::Stack,
    turns::Turns,
};

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("the disks cannot be opened: {0}")]
    Disks(#[from] DiskError),
    #[error("{what} cannot be opened: {reason}")]
    Other { what: &'static str, reason: String },
    #[error("`{}` is too long for sockets: the path must have at most {LONGEST_RUN} bytes", .0.display())]
    RunTooLong(PathBuf),
}

/// A socket's path may have 107 bytes, of which its own name needs 39.
const LONGEST_RUN: usize = 68;

/// How long a provider that is closed waits for openings that are under way.
const LAST_OPENINGS: Duration = Duration::from_secs(10);

impl Provider {
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        if settings.run.as_os_str().len() > LONGEST_RUN {
            return Err(StartError::RunTooLong(settings.run));
        }
        private_directory(&settings.data)?;
        private_directory(&settings.run)?;
        let identity =
            if rustix::process::geteuid().is_root() { Identity::Root } else { Identity::Ordinary };
        let other = |what| move |reason: String| StartError::Other { what, reason };
        let budget =
            Budget { bytes: settings.disk_bytes, guaranteed_bytes: settings.disk_guaranteed_bytes };
        let disks = Disks::open(&settings.data.join("disks"), Wish::Best, budget)?;
        let inner = Inner {
            identity,
            capabilities: Capabilities {
                tiers: Vec::new(),
                missing: BTreeMap::new(),
                weaker: Vec::new(),
            },
            spawner: Spawner::new()?,
            builders: Builders::new(settings.walls),
            slots: Slots::new(Path::new(CLAIMS), &fs::canonicalize(&settings.data)?),
            groups: control_groups(&settings.data)?,
            images: Images::open(&settings.data.join("images"), disks.clone())
                .map_err(|error| other("the images")(error.to_string()))?,
            mirrors: Mirrors::open(
                &settings.data.join("mirrors"),
                Path::new("git"),
                FetchLimits::default(),
            )
            .map_err(|error| other("the mirrors")(error.to_string()))?,
            records: Records::open(&settings.data.join("records"))?,
            gone: Gone::open(&settings.data.join("gone"))?,
            ledger: Ledger::open(&settings.data.join("ledger"))
                .map_err(|error| other("the ledger")(error.to_string()))?,
            disks,
            pool: Pool::new(settings.pool),
            stacks: Stacks::default(),
            known: Mutex::default(),
            names: Mutex::default(),
            turns: Turns::default(),
            standing: tokio::sync::RwLock::default(),
            images_looked_at: Mutex::new(Timestamp::from_millis(0)),
            work: TaskTracker::new(),
            stop: CancellationToken::new(),
            settings,
        };
        let mut inner = Arc::new(inner);
        inner.reconcile().await?;
        let capabilities = inner.find_capabilities().await;
        let Some(unshared) = Arc::get_mut(&mut inner) else {
            return Err(StartError::Other { what: "the provider", reason: "in use".to_owned() });
        };
        unshared.capabilities = capabilities;
        let provider = Self { inner };
        provider.watch_all();
        provider.join_again().await;
        provider.look_at_the_host();
        Ok(provider)
    }

    /// Lets go of everything, and waits for what is being cleared away. Sandboxes go on; the next start finds them.
    /// Members of the pool do not: they belong to nobody.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.drain_pool(self.inner.now(), |_| true);
        self.inner.work.close();
        self.inner.work.wait().await;
    }

    /// Ends every sandbox, and lets go of the disks: nothing is left running or mounted. For tests, and for
    /// whoever removes the product from a host.
    ///
    /// Whoever was just opening one is waited for: it holds the disks, and what it opened is ended as well.
    pub async fn close(self) -> Result<(), StartError> {
        self.end_all();
        self.stop().await;
        drop(tokio::time::timeout(LAST_OPENINGS, self.alone()).await);
        self.end_all();
        self.stop().await;
        self.inner.spawner.stop().await;
        self.inner.groups.close();
        self.inner.slots.close();
        let disks = self.inner.disks.clone();
        drop(self);
        Ok(disks.close()?)
    }

    fn end_all(&self) {
        let known: Vec<_> = self.inner.known().values().cloned().collect();
        for sandbox in known {
            self.inner.end(sandbox.id, &sandbox);
        }
    }

    /// Comes back when nobody else has this provider, so that nothing more is opened.
    async fn alone(&self) {
        let mut again = tokio::time::interval(Duration::from_millis(5));
        while Arc::strong_count(&self.inner) > 1 {
            again.tick().await;
        }
    }

    /// So that the first sandbox does not wait for it.
    fn look_at_the_host(&self) {
        let inner = Arc::clone(&self.inner);
        self.inner.work.spawn(async move {
            if let Err(error) = inner.stacks.of(&inner, &Base::Host).await {
                tracing::warn!(%error, "the host's own toolchain cannot be shown");
            }
        });
    }

    fn watch_all(&self) {
        let known: Vec<_> = self.inner.known().values().cloned().collect();
        for sandbox in known {
            if let Ok(body) = sandbox.body() {
                self.inner.watch(&sandbox, &body);
            }
        }
    }
}

/// Ours, and nobody else's to look into.
fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path)?;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// The groups of this data directory, apart from those of another server on the same host.
fn control_groups(data: &Path) -> io::Result<ControlGroups> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let data = fs::canonicalize(data)?;
    let digest = Sha256::digest(data.as_os_str().as_encoded_bytes());
    let place = digest.iter().take(4).fold(0, |place: u32, byte| place << 8 | u32::from(*byte));
    Ok(ControlGroups::find(&mounts, &own, Path::new("/"), &format!("lamplighter-{place:08x}")))
}

impl Inner {
    async fn reconcile(self: &Arc<Self>) -> Result<(), StartError> {
        let (records, unreadable) = self.records.all()?;
        for reason in &unreadable {
            tracing::error!(reason, "a sandbox's record cannot be read; its disk is kept");
        }
        let mut bodies = BTreeSet::new();
        let mut disks = BTreeSet::new();
        for record in records {
            let id = record.spec.id;
            if self.gone.contains(id) {
                self.records.remove(id)?;
                continue;
            }
            disks.insert(record.disk.clone());
            let sandbox = self.take_over(record).await;
            if let Ok(body) = sandbox.body() {
                bodies.insert(body.record.name.clone());
                self.keep_its_room(&sandbox);
            }
            if let Some(name) = sandbox.lock().record.spec.name.clone() {
                self.names().insert(name, id);
            }
            self.known().insert(id, Arc::new(sandbox));
        }
        self.clear_bodies(&bodies).await;
        // A record that cannot be read may name any disk.
        if unreadable.is_empty() {
            for disk in self.disks.disks()? {
                if !disks.contains(disk.as_str()) {
                    self.disks.remove(&disk)?;
                }
            }
        }
        Ok(())
    }

    /// One that was there before this server: with its body, if that still runs.
    async fn take_over(&self, mut record: Record) -> Sandbox {
        let now = self.now();
        let row = self.ledger.row(&record.spec.owner, record.spec.id);
        let mut meter = row.ok().flatten().map_or_else(Meter::default, |row| row.meter);
        let held = match &record.body {
            Some(body) => self.hold_again(body).await,
            None => Err(BodyError::Gone),
        };
        match held {
            Ok(body) => {
                meter.begin(&body.record.name, now);
                match record.state {
                    // Time in which nobody could use it does not make it idle.
                    State::Open | State::Resting => record.used_at = now,
                    State::Frozen => {
                        if let Err(error) = body.group.freeze() {
                            tracing::warn!(%error, "a sandbox is not frozen any more");
                            record.state = State::Open;
                        }
                    }
                }
                Sandbox::new(record, Some(Arc::new(body)), meter)
            }
            Err(error) => {
                meter.settle();
                let ran = record.body.take().is_some();
                record.state = State::Resting;
                if ran {
                    record.died = Some(format!("it ended while no server watched it: {error}"));
                }
                if let Err(error) = self.records.write(&record) {
                    tracing::warn!(%error, "a record is not written");
                }
                Sandbox::new(record, None, meter)
            }
        }
    }

    async fn hold_again(&self, record: &BodyRecord) -> Result<Body, BodyError> {
        let group = self.groups.adopt(&record.name).ok_or(BodyError::Gone)?;
        let mut slot = record.base.and_then(|base| self.slots.adopt(base));
        let control = self.control(&record.name);
        // One that stands still, or that a crash left half frozen, could not say hello.
        let _ = group.thaw();
        let body = Body::hold(record.clone(), group, &mut slot, control, &self.work).await?;
        body.find_left_over().await?;
        Ok(body)
    }

    /// Kills and removes what runs without belonging to anybody.
    async fn clear_bodies(&self, ours: &BTreeSet<String>) {
        for name in self.groups.list() {
            if let Some(group) = self.groups.adopt(&name).filter(|_| !ours.contains(&name)) {
                let _ = group.kill();
                remove_group(&group).await;
            }
        }
        let Ok(sockets) = std::fs::read_dir(&self.settings.run) else { return };
        for socket in sockets.flatten() {
            let name = socket.file_name().to_string_lossy().into_owned();
            let Some(body) = name.strip_suffix(".sock").filter(|name| name.starts_with('b')) else {
                continue;
            };
            if !ours.contains(body) {
                // Where there are no control groups, this is the only trace.
                crate::orphans::kill_listeners(&socket.path());
                let _ = std::fs::remove_file(socket.path());
            }
        }
    }

    /// Which tiers this host gives, found by trying: a tier that cannot be made is refused, with the reason.
    async fn find_capabilities(self: &Arc<Self>) -> Capabilities {
        let mut weaker = self.groups.weaker();
        weaker.extend(self.disks.weaker());
        let (mut tiers, mut missing) = (Vec::new(), BTreeMap::new());
        let stack = Stacks::bare(self);
        for tier in [Tier::Verified, Tier::Standard, Tier::Untrusted] {
            let tried = match self.builders.runtime(tier) {
                None => match self.try_tier(tier, Compute::LEAST, &stack).await {
                    Ok(()) => Ok(()),
                    // Once more: what went wrong may have had nothing to do with the tier.
                    Err(_) => self.try_tier(tier, Compute::LEAST, &stack).await,
                },
                Some(runtime) => self.try_runtime(runtime, tier, &stack).await,
            };
            match tried {
                Ok(()) => tiers.push(tier),
                Err(reason) => drop(missing.insert(tier, reason)),
            }
        }
        Capabilities { tiers, missing, weaker }
    }

    /// The standard tier and those above promise limits (SB3), so they need them.
    fn limits_hold(&self) -> Result<(), String> {
        let abilities = self.groups.abilities();
        for ability in [&abilities.cpu, &abilities.memory, &abilities.pids] {
            if let Ability::No(reason) = ability {
                return Err(format!(
                    "limits cannot be set: {reason}; on `verified` the kernel limits processes here, and memory and disk are watched"
                ));
            }
        }
        Ok(())
    }

    /// A tier that a runtime builds.
    async fn try_runtime(
        self: &Arc<Self>,
        runtime: Runtime,
        tier: Tier,
        stack: &Result<Stack, String>,
    ) -> Result<(), String> {
        if self.identity == Identity::Ordinary {
            return Err(format!("it needs `{}`, and that a server of root", runtime.program()));
        }
        // A runtime with a hundredth of a processor would not be up in a minute.
        let compute = Compute::default();
        match runtime {
            Runtime::Runc => self.try_tier(tier, compute, stack).await,
            Runtime::Runsc => self.try_gvisor(tier, compute, stack).await,
        }
    }

    async fn try_gvisor(
        self: &Arc<Self>,
        tier: Tier,
        compute: Compute,
        stack: &Result<Stack, String>,
    ) -> Result<(), String> {
        self.limits_hold()?;
        let Builder::Runtime { program, .. } = self.builders.of(tier)? else { return Ok(()) };
        let memory = Memory::new(&self.settings.data);
        if let Some(platform) = memory.recall(&program) {
            self.builders.choose(platform);
            return Ok(());
        }
        let mut reasons = Vec::new();
        for platform in Platform::ALL {
            self.builders.choose(platform);
            match self.try_tier(tier, compute, stack).await {
                Ok(()) => {
                    if let Err(error) = memory.remember(&program, platform) {
                        tracing::warn!(%error, "that gVisor works is not remembered");
                    }
                    return Ok(());
                }
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    async fn try_tier(
        self: &Arc<Self>,
        tier: Tier,
        compute: Compute,
        stack: &Result<Stack, String>,
    ) -> Result<(), String> {
        match tier {
            Tier::Verified => {}
            Tier::Standard | Tier::Untrusted => self.limits_hold()?,
        }
        let stack = stack.clone()?;
        let workspace = WorkspaceAccess::Writable;
        let made = self.boot(&Blueprint { stack, tier, compute, workspace }, Disk::New).await;
        let booted = made.map_err(|error| error.to_string())?;
        let body = booted.body;
        let _ = body.kill();
        body.death().await;
        let _ = std::fs::remove_file(&body.control);
        remove_group(&body.group).await;
        self.disks.remove(&booted.disk).map_err(|error| error.to_string())
    }
}
