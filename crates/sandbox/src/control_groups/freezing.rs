//! Stopping the clock of a group, and waiting until it stands.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{GroupError, Version, files};

/// A process in the middle of a disk access cannot be stopped before it ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// A group that does not come to a stand in time is thawed again.
pub(super) fn freeze(version: Version, directory: &Path, name: &str) -> Result<(), GroupError> {
    let standing = match version {
        Version::One => freeze_one(directory)?,
        Version::Two => freeze_two(directory)?,
    };
    match standing {
        Standing::Yes => Ok(()),
        Standing::No => {
            thaw(version, directory)?;
            Err(GroupError::Busy(name.to_owned()))
        }
    }
}

pub(super) fn thaw(version: Version, directory: &Path) -> Result<(), GroupError> {
    match version {
        Version::One => files::write(&directory.join("freezer.state"), "THAWED"),
        Version::Two => files::write(&directory.join("cgroup.freeze"), "0"),
    }
}

enum Standing {
    Yes,
    No,
}

/// The kernel tells a change of `cgroup.events` to whoever polls it.
fn freeze_two(directory: &Path) -> Result<Standing, GroupError> {
    let path = directory.join("cgroup.events");
    let failed = |source: io::Error| files::file(&path, source);
    let mut events = File::open(&path).map_err(failed)?;
    files::write(&directory.join("cgroup.freeze"), "1")?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut told = String::new();
        events.rewind().map_err(failed)?;
        events.read_to_string(&mut told).map_err(failed)?;
        if files::keyed(&told, "frozen") == 1 {
            return Ok(Standing::Yes);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(limit) = Timespec::try_from(left) else { return Ok(Standing::No) };
        if left.is_zero() {
            return Ok(Standing::No);
        }
        match poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
    }
}

/// Version 1 tells nobody: reading the state is what moves it on.
fn freeze_one(directory: &Path) -> Result<Standing, GroupError> {
    let path = directory.join("freezer.state");
    files::write(&path, "FROZEN")?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if files::text(&path).trim() == "FROZEN" {
            return Ok(Standing::Yes);
        }
        std::thread::yield_now();
    }
    Ok(Standing::No)
}
