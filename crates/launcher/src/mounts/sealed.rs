//! Directories of the sandbox's own that nothing inside can change.
//!
//! Each is shown once more at its own place, with all that is mounted below, through mounts that are read-only. It is a mount
//! point from then on, so it cannot be renamed, removed or linked out of. Nobody inside has what it takes to undo it: the capability is
//! gone from every bounding set, the filter refuses all calls about mounts, and no user namespace can be made in which they would count.
//!
//! What is below may have been filled by somebody hostile. So a link is not followed, and what is no directory is refused: the
//! sandbox is not made, rather than made with a place that can be written.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use launcher::plan::{Failure, SEALING};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstatvfs, openat2},
    io::Result,
    mount::{OpenTreeFlags, open_tree},
};

use super::attach;
use crate::{
    failure::{Step, refused},
    syscalls::{MountAttributes, mount_setattr},
};

const STEP: &str = SEALING;

/// Seals `path`, which is absolute inside. Everything else of the root is in its place already.
pub(crate) fn seal(root: BorrowedFd<'_>, path: &str) -> std::result::Result<(), Failure> {
    let place = find_directory(root, path).step_on(STEP, path)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(&place, "", flags).step_on(STEP, path)?;
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    let change = MountAttributes { set, idmap: None, recursive: true };
    mount_setattr(tree.as_fd(), &change).step_on(STEP, path)?;
    attach(&tree, &place).step_on(STEP, path)?;
    // Looked at by its name, as everybody inside will.
    let seen = find_directory(root, path).step_on(STEP, path)?;
    let told = fstatvfs(&seen).step_on(STEP, path)?;
    if told.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Ok(());
    }
    Err(refused(STEP, "it can still be written"))
}

fn find_directory(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    openat2(root, path, flags, Mode::empty(), resolve)
}
