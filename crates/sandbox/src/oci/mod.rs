//! Sandboxes whose walls an OCI runtime builds: gVisor for the tier `untrusted`, and `runc` to compare with.
//!
//! ```text
//!   host ── lamp-launcher --hosted ─▶ box: user, mount, pid, network namespace; ids of the sandbox
//!                                      ├─ keeper   the first process; carries frames
//!                                      └─ runtime ─▶ guest, on its standard input and output
//! ```
//!
//! To everything else it is a body like any other: a first process whose death ends all, a control group, a range of
//! ids, a socket, a disk. The runtime's own files lie in memory inside of the box, and go with it.
//!
//! | module | what it does |
//! |---|---|
//! | `config` | writes what a runtime is told |
//! | `memory` | remembers that it works |
//!
//! What gVisor does differently is in `docs/concepts/sandbox.md`.

mod config;
mod memory;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use domain::agent::Tier;
use guest::protocol::{Ask, FRAME_LIMIT, FrameError, VERSION, encode};
use launcher::plan::{Hosted, Launch, STAGE};

pub(crate) use crate::runtime::Runtime;
use crate::{control_groups::Limits, settings::Walls};

pub(crate) use memory::Memory;

const MIB: u64 = 1 << 20;

/// gVisor itself, with a few programs inside.
const LEAST_THREADS: u32 = 512;

/// How many processes the kernel numbers where nobody told it otherwise.
const SMALLEST_HOST: u32 = 32_768;

/// How gVisor catches system calls. The first that works is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Systrap,
    Ptrace,
}

impl Platform {
    pub(crate) const ALL: [Self; 2] = [Self::Systrap, Self::Ptrace];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Systrap => "systrap",
            Self::Ptrace => "ptrace",
        }
    }
}

/// Who builds the walls of which tier.
#[derive(Debug)]
pub(crate) struct Builders {
    walls: Walls,
    platform: Mutex<Platform>,
}

/// Who builds the walls of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Builder {
    Launcher,
    Runtime { runtime: Runtime, program: PathBuf, platform: Platform },
}

impl Builders {
    pub(crate) fn new(walls: Walls) -> Self {
        Self { walls, platform: Mutex::new(Platform::Ptrace) }
    }

    /// The runtime that a tier needs, if it needs one.
    pub(crate) fn runtime(&self, tier: Tier) -> Option<Runtime> {
        match (self.walls, tier) {
            (Walls::All(runtime), _) => Some(runtime),
            (Walls::ByTier, Tier::Untrusted) => Some(Runtime::Runsc),
            (Walls::ByTier, Tier::Verified | Tier::Standard) => None,
        }
    }

    pub(crate) fn of(&self, tier: Tier) -> Result<Builder, String> {
        let Some(runtime) = self.runtime(tier) else { return Ok(Builder::Launcher) };
        let missing = || format!("it needs `{}`, which is not installed", runtime.program());
        let program = runtime.find().ok_or_else(missing)?;
        let platform = *self.platform.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Builder::Runtime { runtime, program, platform })
    }

    pub(crate) fn choose(&self, platform: Platform) {
        *self.platform.lock().unwrap_or_else(PoisonError::into_inner) = platform;
    }
}

impl Builder {
    /// What the control group must allow so that the sandbox gets what was asked for: a runtime needs something itself.
    ///
    /// gVisor keeps no number of processes. By ptrace it needs a thread of the host for almost every pair of processes
    /// inside (100 that sleep: 4,900), so the host's numbers of processes set the limit: one sandbox never takes more than
    /// an eighth of them.
    pub(crate) fn limits(&self, asked: Limits) -> Limits {
        match self {
            Self::Launcher => asked,
            Self::Runtime { runtime: Runtime::Runsc, .. } => Limits {
                memory_bytes: asked.memory_bytes.saturating_add(96 * MIB),
                pids: asked.pids.saturating_mul(16).min(eighth_of_all_pids()).max(LEAST_THREADS),
                ..asked
            },
            Self::Runtime { runtime: Runtime::Runc, .. } => Limits {
                memory_bytes: asked.memory_bytes.saturating_add(32 * MIB),
                pids: asked.pids.saturating_add(32),
                ..asked
            },
        }
    }
}

fn eighth_of_all_pids() -> u32 {
    let all = std::fs::read_to_string("/proc/sys/kernel/pid_max").ok();
    all.and_then(|all| all.trim().parse().ok()).unwrap_or(SMALLEST_HOST) / 8
}

/// The plan for a sandbox that `runtime` is to host.
pub(crate) fn hosted(
    launch: Launch,
    runtime: Runtime,
    program: &Path,
    platform: Platform,
) -> Result<Hosted, FrameError> {
    let state = format!("--root={STAGE}/state");
    let bundle = format!("--bundle={STAGE}");
    let platform = format!("--platform={}", platform.name());
    let arguments = match runtime {
        Runtime::Runsc => vec![
            &*state,
            // We set the limits, around it and all that it starts.
            "--ignore-cgroups",
            // The network of the box: a loopback, and doors if it has any. Programs inside see it through gVisor.
            "--network=host",
            &*platform,
            // What is written must be on the disk at once: a sandbox may be put to rest, or forked, at any time.
            "--file-access=shared",
            "--overlay2=none",
            "run",
            &*bundle,
            "sandbox",
        ],
        Runtime::Runc => vec![&*state, "run", &*bundle, "sandbox"],
    };
    Ok(Hosted {
        runtime: program.to_string_lossy().into_owned(),
        arguments: arguments.into_iter().map(str::to_owned).collect(),
        config: config::write(&launch, runtime).to_string(),
        greeting: encode(&Ask::Hello { version: VERSION })?,
        frame_limit: u32::try_from(FRAME_LIMIT).unwrap_or(u32::MAX),
        launch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_trusts_is_built_by_a_runtime() {
        let ours = Builders::new(Walls::ByTier);
        assert_eq!(ours.runtime(Tier::Verified), None);
        assert_eq!(ours.runtime(Tier::Standard), None);
        assert_eq!(ours.runtime(Tier::Untrusted), Some(Runtime::Runsc));
        let theirs = Builders::new(Walls::All(Runtime::Runc));
        assert_eq!(theirs.runtime(Tier::Standard), Some(Runtime::Runc));
    }

    #[test]
    fn a_sandbox_gets_what_was_asked_for_beside_what_the_runtime_needs() {
        let asked = Limits { cpu_millis: 500, memory_bytes: MIB, pids: 8 };
        assert_eq!(Builder::Launcher.limits(asked).pids, 8);
        for runtime in [Runtime::Runsc, Runtime::Runc] {
            let program = PathBuf::new();
            let builder = Builder::Runtime { runtime, program, platform: Platform::Ptrace };
            let limits = builder.limits(asked);
            assert!(limits.memory_bytes > asked.memory_bytes && limits.pids > asked.pids);
            assert_eq!(limits.cpu_millis, asked.cpu_millis);
        }
    }
}
