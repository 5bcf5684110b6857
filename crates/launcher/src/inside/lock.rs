//! The last walls, and the guest.

use std::{
    convert::Infallible,
    ffi::CString,
    os::fd::{AsRawFd, OwnedFd},
};

use launcher::plan::{Failure, Launch, Strictness, Users};

use super::{LISTENER, Prepared, silence};
use crate::{
    capabilities,
    failure::Step,
    landlock, limits,
    line::{self, Word},
    syscalls,
};

/// Gives up what is left to give up, and becomes the guest.
///
/// The guest is executed by the name of its descriptor, and not by `execveat` with an empty path: the filter, which
/// stands already, refuses that to everybody.
pub(super) fn lock(
    prepared: &Prepared<'_>,
    launch: &Launch,
    listener: &OwnedFd,
) -> Result<Infallible, Failure> {
    let step = "start the guest";
    // The sandbox's own, in place of the host's.
    silence().step(step)?;
    syscalls::place(listener, LISTENER).step(step)?;
    limits::set_open_files(launch.open_files)?;
    limits::set_unheld(launch.processes, launch.private_memory_bytes)?;
    let text = |text: String| CString::new(text).step(step);
    let path = text(format!("/proc/self/fd/{}", prepared.guest.as_raw_fd()))?;
    let users = text(format!("--users={}", name(launch.users)))?;
    let lifetime = text(format!("--lifetime-millis={}", launch.lifetime_millis))?;
    capabilities::keep(capabilities::kept(launch.users))?;
    match launch.strictness {
        Strictness::Denylist => {}
        Strictness::Allowlist => landlock::enter()?,
    }
    let filter = prepared.filters.of(launch.strictness);
    syscalls::filter_calls(filter).step("filter system calls")?;
    line::say(prepared.line, &Word::Ready).step(step)?;
    let error = syscalls::execute(&path, &[c"lamp-guest", &users, &lifetime]);
    Err(error).step(step)
}

fn name(users: Users) -> &'static str {
    match users {
        Users::Range { .. } => "range",
        Users::Single => "single",
    }
}
