//! Killing without `cgroup.kill`: a race against forks, which is won by closing the door first.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::{GroupError, Version, files, freezing};

/// Whom to kill, and what helps.
pub(super) struct Victims<'group> {
    pub(super) name: &'group str,
    /// A directory that lists them.
    pub(super) members: &'group Path,
    /// Set to zero, it ends every fork.
    pub(super) pids: Option<PathBuf>,
    pub(super) freezer: Option<(Version, PathBuf)>,
}

/// More rounds than a bomb of forks needs that is held by a limit.
const ROUNDS: usize = 10_000;

pub(super) fn kill_one_by_one(victims: &Victims<'_>) -> Result<(), GroupError> {
    if let Some(pids) = &victims.pids {
        files::write(&pids.join("pids.max"), "0")?;
    }
    if let Some((version, directory)) = &victims.freezer {
        // Those who stand still cannot fork; those who cannot be stopped are killed on the move.
        let _ = freezing::freeze(*version, directory, victims.name);
    }
    for _ in 0..ROUNDS {
        let members = files::text(&victims.members.join("cgroup.procs"));
        if members.is_empty() {
            return Ok(());
        }
        for pid in members.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            // Whoever is gone meanwhile need not be killed.
            let _ = kill_process(pid, Signal::KILL);
        }
        if let Some((version, directory)) = &victims.freezer {
            // On version 1 the frozen do not even die.
            freezing::thaw(*version, directory)?;
        }
        std::thread::yield_now();
    }
    Err(GroupError::Busy(victims.name.to_owned()))
}
