//! Before a control outside: the host must not change, so the attempt is made in namespaces of its own.

use std::io;

use crate::raw::{Given, call};

const COMMON: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;

/// Mounts, names and queues are its own. An ordinary user cannot make them, and cannot harm the host's either.
pub(crate) fn prepare() -> io::Result<()> {
    separate(COMMON)
}

/// The network, too.
pub(crate) fn prepare_alone() -> io::Result<()> {
    separate(COMMON | libc::CLONE_NEWNET)
}

fn separate(namespaces: i32) -> io::Result<()> {
    match call(libc::SYS_unshare, [Given::Number(i64::from(namespaces))]) {
        Ok(_) => {}
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(()),
        Err(error) => return Err(error),
    }
    let private = i64::try_from(libc::MS_REC | libc::MS_PRIVATE).unwrap_or_default();
    let (none, root) = (Given::Text(c"none"), Given::Text(c"/"));
    let given = [none, root, Given::Number(0), Given::Number(private), Given::Number(0)];
    call(libc::SYS_mount, given).map(drop)
}
