//! Limits that each process of a sandbox carries.
//!
//! They bound what control groups do not count, and where there are none, some of what they would.

use launcher::plan::Failure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Step;

const STEP: &str = "set limits";

/// The kernel's own default, which some hosts raise.
const LOCKED_MEMORY: u64 = 8 << 20;

const QUEUED_MESSAGES: u64 = 819_200;

const PENDING_SIGNALS: u64 = 8_192;

/// The same for every sandbox.
pub(crate) fn set_common() -> Result<(), Failure> {
    for (resource, most) in [
        // With 0, a host that pipes core dumps to a program would run it, as its root, at every crash inside. 1 is the
        // kernel's word for "nowhere": too little for a file, and no pipe.
        (Resource::Core, 1),
        (Resource::Memlock, LOCKED_MEMORY),
        (Resource::Msgqueue, QUEUED_MESSAGES),
        (Resource::Sigpending, PENDING_SIGNALS),
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
    ] {
        lower(resource, most)?;
    }
    Ok(())
}

/// How many files a process may have open.
pub(crate) fn set_open_files(most: u64) -> Result<(), Failure> {
    lower(Resource::Nofile, most)
}

/// What control groups hold elsewhere. The kernel counts processes per user and user namespace (since 5.14), so that those of
/// another sandbox of the same user do not count here.
pub(crate) fn set_unheld(
    processes: Option<u64>,
    private_memory_bytes: Option<u64>,
) -> Result<(), Failure> {
    for (resource, most) in [(Resource::Nproc, processes), (Resource::Data, private_memory_bytes)] {
        if let Some(most) = most {
            lower(resource, most)?;
        }
    }
    Ok(())
}

/// Never raises a limit that we are under ourselves: that takes a privilege which we may lack.
fn lower(resource: Resource, most: u64) -> Result<(), Failure> {
    let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(resource, limit).step(STEP)
}
