//! One group: the directories of one sandbox.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Duty, Found, GroupError, Limits, Version, files, freezing, killing};

/// The directories of one sandbox, in each hierarchy that is used. None, where this user may not make any.
#[derive(Debug, Clone)]
pub struct Group {
    found: Arc<Found>,
    name: String,
}

impl Group {
    pub(super) fn named(found: &Arc<Found>, name: &str) -> Result<Self, GroupError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > 128 || !name.chars().all(plain) {
            return Err(GroupError::Name(name.to_owned()));
        }
        Ok(Self { found: Arc::clone(found), name: name.to_owned() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the launcher writes the first process into `cgroup.procs`.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.found.places.iter().map(|place| place.directory.join(&self.name)).collect()
    }

    /// Stops the clock of everything inside, and returns when it stands. Also when it stood already.
    pub fn freeze(&self) -> Result<(), GroupError> {
        let (version, directory) = self.needed(Duty::Freeze, "be frozen")?;
        freezing::freeze(version, &directory, &self.name)
    }

    pub fn thaw(&self) -> Result<(), GroupError> {
        let (version, directory) = self.needed(Duty::Freeze, "be thawed")?;
        freezing::thaw(version, &directory)
    }

    /// Tells everything inside to end, forks under way included. [`Group::is_empty`] says when all are gone.
    /// A group that is gone needs no killing.
    pub fn kill(&self) -> Result<(), GroupError> {
        if let Some((_, directory)) = self.at(Duty::Kill) {
            let path = directory.join("cgroup.kill");
            return gone_is_fine(files::put(&path, "1"))
                .map_err(|source| files::file(&path, source));
        }
        let Some(members) = self.directories().into_iter().next() else {
            return Err(self.impossible("kill what is inside", "it has no directory"));
        };
        killing::kill_one_by_one(&killing::Victims {
            name: &self.name,
            members: &members,
            pids: self.at(Duty::Pids).map(|(_, directory)| directory),
            freezer: self.at(Duty::Freeze),
        })
    }

    /// Whether nobody is inside. True of a group that is gone, or was never possible.
    pub fn is_empty(&self) -> bool {
        self.directories()
            .iter()
            .all(|directory| files::text(&directory.join("cgroup.procs")).is_empty())
    }

    /// Removes it from every hierarchy; [`GroupError::Busy`] while processes are on their way out.
    pub fn remove(&self) -> Result<(), GroupError> {
        let mut worst = Ok(());
        for directory in self.directories() {
            if let Err(error) = remove_tree(&directory) {
                worst = Err(if error.kind() == io::ErrorKind::ResourceBusy {
                    GroupError::Busy(self.name.clone())
                } else {
                    files::file(&directory, error)
                });
            }
        }
        worst
    }

    pub(super) fn make(&self, limits: &Limits) -> Result<(), GroupError> {
        for place in &self.found.places {
            let directory = place.directory.join(&self.name);
            make_new(&directory).map_err(|error| {
                if error.kind() == io::ErrorKind::ResourceBusy {
                    return GroupError::Exists(self.name.clone());
                }
                files::file(&directory, error)
            })?;
            for duty in &place.duties {
                limit(*duty, place.version, &directory, limits)?;
            }
        }
        Ok(())
    }

    pub(super) fn at(&self, duty: Duty) -> Option<(Version, PathBuf)> {
        self.found.place(duty).map(|place| (place.version, place.directory.join(&self.name)))
    }

    pub(super) fn proc(&self) -> &Path {
        &self.found.proc
    }

    fn needed(&self, duty: Duty, what: &str) -> Result<(Version, PathBuf), GroupError> {
        self.at(duty).ok_or_else(|| self.impossible(what, "the host does not let this user"))
    }

    fn impossible(&self, what: &str, why: &str) -> GroupError {
        GroupError::Impossible(format!("the control group `{}` cannot {what}: {why}", self.name))
    }
}

/// The length in which a share of the CPU is counted out. Long enough to let short bursts pass.
const PERIOD_MICROS: u64 = 100_000;

/// Writes what a duty limits.
pub(super) fn limit(
    duty: Duty,
    version: Version,
    directory: &Path,
    limits: &Limits,
) -> Result<(), GroupError> {
    let set = |file: &str, value: &str| files::write(&directory.join(file), value);
    match (duty, version) {
        (Duty::Cpu, Version::One) => set("cpu.cfs_quota_us", &quota(limits).to_string()),
        (Duty::Cpu, Version::Two) => set("cpu.max", &format!("{} {PERIOD_MICROS}", quota(limits))),
        (Duty::Memory, Version::One) => {
            let bytes = limits.memory_bytes.to_string();
            set("memory.limit_in_bytes", &bytes)?;
            // What waits in sockets is counted apart.
            without_swap(set("memory.kmem.tcp.limit_in_bytes", &bytes))?;
            without_swap(set("memory.memsw.limit_in_bytes", &bytes))
        }
        // Only the offender is killed: a build that eats too much must not end the agent that started it.
        (Duty::Memory, Version::Two) => {
            set("memory.max", &limits.memory_bytes.to_string())?;
            without_swap(set("memory.swap.max", "0"))
        }
        (Duty::Pids, Version::One | Version::Two) => set("pids.max", &limits.pids.to_string()),
        (Duty::CpuTime | Duty::Freeze | Duty::Kill | Duty::Io, Version::One | Version::Two) => {
            Ok(())
        }
    }
}

/// The kernel refuses less than a millisecond.
fn quota(limits: &Limits) -> u64 {
    (u64::from(limits.cpu_millis) * PERIOD_MICROS / 1_000).max(1_000)
}

/// A kernel that does not account for swap has no such file, and no swap that could be limited.
fn without_swap(written: Result<(), GroupError>) -> Result<(), GroupError> {
    match written {
        Err(GroupError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    }
}

/// A new directory. An empty one that was left is removed first: it has counted somebody else's use.
fn make_new(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove_tree(directory)?;
            fs::create_dir(directory)
        }
        made => made,
    }
}

/// A runtime may have made groups below; they go first. The files of a group go with it.
fn remove_tree(directory: &Path) -> io::Result<()> {
    match gone_is_fine(fs::remove_dir(directory)) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            let below = files::children(directory);
            if below.is_empty() {
                return Err(error);
            }
            for child in below {
                remove_tree(&directory.join(child))?;
            }
            gone_is_fine(fs::remove_dir(directory))
        }
        removed => removed,
    }
}

/// A group that vanishes while it is used answers with either error.
fn gone_is_fine(done: io::Result<()>) -> io::Result<()> {
    const NO_DEVICE: i32 = 19;
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.raw_os_error() == Some(NO_DEVICE) => Ok(()),
        done => done,
    }
}
