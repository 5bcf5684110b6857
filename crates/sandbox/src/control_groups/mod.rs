//! Limits, counters, freezing and killing, by the kernel's control groups.
//!
//! A sandbox is one [`Group`]: a directory of the same name in as few hierarchies as can carry the load, because
//! each costs every opening some 50 µs. Which file of which hierarchy does what is decided once, by
//! [`ControlGroups::find`]:
//!
//! ```text
//!                    pure v2          hybrid                          pure v1
//!  limits            unified          memory, pids, cpu               memory, pids, cpu
//!  CPU time used     unified          unified (needs no controller)   cpuacct
//!  freeze            unified          unified (needs no controller)   freezer
//!  kill              cgroup.kill      cgroup.kill                     one by one, until nobody is left
//!  bytes of io       io.stat          /proc/PID/io of the members     /proc/PID/io of the members
//! ```
//!
//! On v1 the group of a write is forgotten before the write reaches the disk, so `blkio` would only count reads;
//! the members' own counters tell more and cost an opening nothing.
//!
//! Nothing here is required: without rights a group has no directories, and [`Abilities`] says why.

mod abilities;
mod counters;
mod delegation;
mod files;
mod find;
mod freezing;
mod group;
mod killing;
mod mounts;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use abilities::{Abilities, Ability};
pub use counters::Counters;
pub use group::Group;

/// The groups below one parent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ControlGroups {
    found: Arc<Found>,
}

/// What one sandbox may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub cpu_millis: u32,
    /// Memory and swap together: what is over the limit is not moved to the disk of the host.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub pids: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    #[error("`{0}` cannot name a control group")]
    Name(String),
    #[error("the control group `{0}` exists and has processes")]
    Exists(String),
    /// Processes are still on their way out, or in: try again.
    #[error("the control group `{0}` is busy")]
    Busy(String),
    #[error("{0}")]
    Impossible(String),
    #[error("the control group file `{}` cannot be used", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// One thing that a hierarchy does for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    Cpu,
    Memory,
    Pids,
    CpuTime,
    Freeze,
    Kill,
    Io,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Our parent group in one hierarchy, and what the hierarchy is used for.
#[derive(Debug)]
struct Place {
    directory: PathBuf,
    version: Version,
    duties: Vec<Duty>,
}

#[derive(Debug)]
struct Found {
    places: Vec<Place>,
    abilities: Abilities,
    /// Where the members' own counters are.
    proc: PathBuf,
}

impl Found {
    fn place(&self, duty: Duty) -> Option<&Place> {
        self.places.iter().find(|place| place.duties.contains(&duty))
    }
}

impl ControlGroups {
    /// Looks at `mounts` (`/proc/self/mountinfo`) and `own` (`/proc/self/cgroup`), and makes the parent group
    /// `place` wherever this user may. `root` is put before every path; it is `/` but in tests.
    ///
    /// As root the parent stands at the top of each hierarchy, so that the next server finds it wherever it was
    /// started from. Otherwise it stands as high as the user was given rights.
    pub fn find(mounts: &str, own: &str, root: &Path, place: &str) -> Self {
        Self { found: Arc::new(find::find(mounts, own, root, place)) }
    }

    pub fn abilities(&self) -> &Abilities {
        &self.found.abilities
    }

    /// What works less well than it could, each as a sentence with the remedy.
    pub fn weaker(&self) -> Vec<String> {
        self.found.abilities.weaker()
    }

    /// Makes the group with its limits. Limits that this host cannot give are left out: ask [`Self::abilities`].
    /// An empty group of that name, which a crash left, is replaced: its counters are not ours.
    pub fn create(&self, name: &str, limits: &Limits) -> Result<Group, GroupError> {
        let group = Group::named(&self.found, name)?;
        match group.make(limits) {
            Ok(()) => Ok(group),
            Err(error) => {
                // Nothing half made is left; what cannot be removed now is found by the next `list`.
                if !matches!(error, GroupError::Exists(_)) {
                    let _ = group.remove();
                }
                Err(error)
            }
        }
    }

    /// Removes the parent group, which must be empty.
    pub fn close(&self) {
        for place in &self.found.places {
            let _ = std::fs::remove_dir(&place.directory);
        }
    }

    /// The group of that name, if any hierarchy has it. Where there are none at all, a group is a name only.
    pub fn adopt(&self, name: &str) -> Option<Group> {
        let group = Group::named(&self.found, name).ok()?;
        let directories = group.directories();
        let is_there = directories.is_empty() || directories.iter().any(|one| one.is_dir());
        is_there.then_some(group)
    }

    /// Every group below the parent, in any hierarchy, in order.
    pub fn list(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.found.places.iter().flat_map(|place| files::children(&place.directory)).collect();
        names.sort();
        names.dedup();
        names
    }
}
