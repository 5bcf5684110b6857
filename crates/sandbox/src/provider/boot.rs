//! Makes a body: disk, control group, first process, link. What fails half-way is taken back.

use std::{path::PathBuf, time::Duration};

use contracts::sandbox::{Compute, SandboxError, WORKSPACE, WorkspaceAccess};
use domain::agent::Tier;
use images::disk::{DiskName, Limit};
use launcher::plan::{Bind, Failure, Launch, SEALING, Strictness, Users};

use super::{Identity, Inner, busy, no_disk::no_disk};
use crate::{
    body::{Body, BodyError},
    control_groups::{Abilities, Ability, Group, Limits},
    oci::{self, Builder},
    record::BodyRecord,
    spawner::{Launched, SpawnError},
    stack::Stack,
    ties,
};

const MIB: u64 = 1 << 20;

/// How many files a disk of a given size may have: one for every this many bytes.
const BYTES_PER_FILE: u64 = 4096;

/// What a body is made as, beside its disk.
#[derive(Debug, Clone)]
pub(crate) struct Blueprint {
    pub(crate) stack: Stack,
    pub(crate) tier: Tier,
    pub(crate) compute: Compute,
    pub(crate) workspace: WorkspaceAccess,
}

/// The disk that a body gets.
#[derive(Debug, Clone)]
pub(crate) enum Disk {
    New,
    /// The one that it had before it rested.
    Kept(DiskName),
    CopyOf(DiskName),
    /// One that may become a layer.
    Setup,
}

#[derive(Debug)]
pub(crate) struct Booted {
    pub(crate) body: Body,
    pub(crate) disk: DiskName,
}

impl Inner {
    pub(crate) async fn boot(
        &self,
        blueprint: &Blueprint,
        disk: Disk,
    ) -> Result<Booted, SandboxError> {
        let name = self.body_name();
        let limit = limit(&blueprint.compute);
        let (kept, new) = (matches!(disk, Disk::Kept(_)), matches!(disk, Disk::New));
        let (disk, writable) = self.disk(&name, disk, limit)?;
        let sealable = match blueprint.workspace {
            WorkspaceAccess::ReadOnly if !new => untie(&writable, limit),
            WorkspaceAccess::ReadOnly | WorkspaceAccess::Writable => Ok(()),
        };
        let made = match sealable {
            Ok(()) => self.launch(&name, blueprint, &writable).await,
            Err(error) => Err(error),
        };
        match made {
            Ok(body) => Ok(Booted { body, disk }),
            Err(error) => {
                if kept {
                    self.disks.rest(&disk);
                } else {
                    let _ = self.disks.remove(&disk);
                }
                Err(error)
            }
        }
    }

    fn disk(
        &self,
        name: &str,
        disk: Disk,
        limit: Limit,
    ) -> Result<(DiskName, PathBuf), SandboxError> {
        let fresh: DiskName = name.parse().map_err(busy)?;
        match disk {
            Disk::New => {
                let path = self.disks.create(&fresh, limit).map_err(no_disk)?;
                Ok((fresh, path))
            }
            Disk::Setup => {
                let path = self.disks.create_for_setup(&fresh, limit).map_err(no_disk)?;
                Ok((fresh, path))
            }
            Disk::Kept(disk) => {
                let path = self.disks.reopen(&disk, limit).map_err(no_disk)?;
                Ok((disk, path))
            }
            Disk::CopyOf(from) => {
                let path = self.disks.fork(&from, &fresh, limit).map_err(no_disk)?;
                Ok((fresh, path))
            }
        }
    }

    async fn launch(
        &self,
        name: &str,
        blueprint: &Blueprint,
        writable: &std::path::Path,
    ) -> Result<Body, SandboxError> {
        let Blueprint { tier, compute, .. } = *blueprint;
        let builder = self.builders.of(tier).map_err(busy)?;
        let limits = builder.limits(Limits {
            cpu_millis: compute.cpu_millis,
            memory_bytes: u64::from(compute.memory_mib) * MIB,
            pids: compute.processes,
        });
        let group = self.groups.create(name, &limits).map_err(busy)?;
        let made = self.start_first_process(name, blueprint, writable, &group).await;
        match made {
            Ok((record, mut slot)) => {
                let control = self.control(name);
                let held =
                    Body::hold(record.clone(), group.clone(), &mut slot, control, &self.work).await;
                match held {
                    Ok(body) => Ok(body),
                    Err(error) => {
                        // Its disk and its ids are free for another only when nothing is left of it.
                        self.clear_away(&record, &group).await;
                        Err(lost(&error))
                    }
                }
            }
            Err(error) => {
                let _ = group.remove();
                Err(error)
            }
        }
    }

    async fn start_first_process(
        &self,
        name: &str,
        blueprint: &Blueprint,
        writable: &std::path::Path,
        group: &Group,
    ) -> Result<(BodyRecord, Option<crate::slots::Slot>), SandboxError> {
        let Blueprint { stack, tier, compute, workspace } = blueprint;
        let tier = *tier;
        let (users, slot) = match self.identity {
            Identity::Ordinary => (Users::Single, None),
            Identity::Root => {
                let slot = self.slots.take().map_err(busy)?;
                (Users::Range { base: slot.base() }, Some(slot))
            }
        };
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let launch = Launch {
            control: text(&self.control(name)),
            users,
            strictness: match tier {
                Tier::Verified => Strictness::Denylist,
                Tier::Standard | Tier::Untrusted => Strictness::Allowlist,
            },
            layers: self.layers(stack)?,
            writable: text(writable),
            binds: stack
                .binds
                .iter()
                .map(|(from, to)| Bind { from: from.clone(), to: to.clone() })
                .collect(),
            sealed: match workspace {
                WorkspaceAccess::ReadOnly => vec![WORKSPACE.to_owned()],
                WorkspaceAccess::Writable => Vec::new(),
            },
            control_groups: group.directories().iter().map(|path| text(path)).collect(),
            hostname: "sandbox".to_owned(),
            shared_memory_bytes: u64::from(compute.memory_mib) * MIB / 2,
            open_files: OPEN_FILES,
            processes: self.unheld(|abilities| &abilities.pids, u64::from(compute.processes)),
            private_memory_bytes: self.unheld(
                |abilities| &abilities.memory,
                u64::from(compute.memory_mib) * MIB + BURST_BYTES,
            ),
            // The server ends it in time; this is for when there is none.
            lifetime_millis: millis(compute.lifetime.saturating_add(SLACK)),
        };
        let launched = match self.raise_walls(tier, launch).await {
            Ok(launched) => launched,
            Err(error) => {
                self.give_up(name, group, slot);
                return Err(error);
            }
        };
        let record = BodyRecord {
            name: name.to_owned(),
            pid: launched.pid,
            started: launched.started,
            base: slot.as_ref().map(crate::slots::Slot::base),
        };
        Ok((record, slot))
    }

    /// A limit for each process, where no control group can hold one for all.
    fn unheld(&self, ability: impl Fn(&Abilities) -> &Ability, limit: u64) -> Option<u64> {
        (!ability(self.groups.abilities()).is_given()).then_some(limit)
    }

    /// Has the walls built by whoever builds those of the tier.
    async fn raise_walls(&self, tier: Tier, launch: Launch) -> Result<Launched, SandboxError> {
        match self.builders.of(tier).map_err(busy)? {
            Builder::Launcher => self.spawner.launch(launch).await.map_err(not_made),
            Builder::Runtime { runtime, program, platform } => {
                let hosted = oci::hosted(launch, runtime, &program, platform).map_err(busy)?;
                self.spawner.host(&hosted).await.map_err(not_made)
            }
        }
    }

    fn layers(&self, stack: &Stack) -> Result<Vec<String>, SandboxError> {
        let path = |layer: &String| {
            let layer = layer.parse().map_err(busy)?;
            let path = self.disks.layer(&layer).map_err(busy)?;
            Ok(path.to_string_lossy().into_owned())
        };
        stack.layers.iter().map(path).collect()
    }

    /// A launch that failed leaves nothing, unless the launcher died in the middle of it.
    fn give_up(&self, name: &str, group: &Group, slot: Option<crate::slots::Slot>) {
        let _ = group.kill();
        let _ = std::fs::remove_file(self.control(name));
        let group = group.clone();
        self.work.spawn(async move {
            remove_group(&group).await;
            // The ids are free for another only now.
            drop(slot);
        });
    }

    /// Kills a first process that nobody holds, and returns when nothing is left of it.
    async fn clear_away(&self, record: &BodyRecord, group: &Group) {
        if let Ok(Some(process)) = crate::body::process(record.pid, record.started) {
            let _ = rustix::process::pidfd_send_signal(&process, rustix::process::Signal::KILL);
        }
        let _ = group.kill();
        let _ = std::fs::remove_file(self.control(&record.name));
        remove_group(group).await;
    }

    /// Where the guest of a body listens.
    pub(super) fn control(&self, body: &str) -> PathBuf {
        self.settings.run.join(format!("{body}.sock"))
    }

    fn body_name(&self) -> String {
        let id = self.settings.ids.next();
        format!("b{id:032x}")
    }
}

/// Trying again helps, unless it is the workspace that somebody inside has made something else of.
fn not_made(error: SpawnError) -> SandboxError {
    match error {
        SpawnError::Failed(failure) if failure.step == SEALING => {
            let Failure { reason, .. } = failure;
            SandboxError::Unsupported {
                reason: format!("its workspace cannot be made read-only: {reason}"),
            }
        }
        SpawnError::Failed(_) | SpawnError::Launcher(_) | SpawnError::Answer(_) => busy(error),
    }
}

/// See [`ties`].
fn untie(writable: &std::path::Path, limit: Limit) -> Result<(), SandboxError> {
    let untied = tokio::task::block_in_place(|| ties::untie(writable, limit.bytes));
    match untied {
        Ok(0) => Ok(()),
        Ok(count) => {
            tracing::debug!(count, "files of a workspace had names outside of it");
            Ok(())
        }
        Err(error) => Err(SandboxError::Unsupported {
            reason: format!("its workspace cannot be made read-only: {error}"),
        }),
    }
}

pub(super) fn limit(compute: &Compute) -> Limit {
    let bytes = u64::from(compute.disk_mib) * MIB;
    Limit { bytes, files: bytes / BYTES_PER_FILE }
}

/// How much longer than its lifetime a sandbox can live without a server.
const SLACK: Duration = Duration::from_mins(15);

/// Memory that is only watched may grow by so much between two looks.
const BURST_BYTES: u64 = 512 * MIB;

/// Enough for a build, too few to be a danger to the host.
const OPEN_FILES: u64 = 16_384;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn lost(error: &BodyError) -> SandboxError {
    SandboxError::Lost { reason: error.to_string() }
}

/// Removes a control group once its last process has left it.
pub(super) async fn remove_group(group: &Group) {
    const TRIES: u32 = 2_000;
    let mut again = tokio::time::interval(Duration::from_millis(5));
    for _ in 0..TRIES {
        if group.remove().is_ok() {
            return;
        }
        again.tick().await;
        let _ = group.kill();
    }
    tracing::warn!(?group, "a control group does not go away");
}
