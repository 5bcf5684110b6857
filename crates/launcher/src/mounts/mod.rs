//! What a sandbox sees as its files.
//!
//! | module | what it mounts |
//! |---|---|
//! | [`root`] | the layers, with the writable directory on top |
//! | [`furniture`] | `/dev` and `/sys`: a few nodes and files, nothing of the host's |
//! | [`kernel`] | `/proc` with its masks, terminals, shared memory, message queues |
//! | [`binds`] | directories of the host, read-only |
//! | [`sealed`] | directories of the sandbox's own that nothing can change |
//! | `layers` | overlays, as old and new kernels want to be told of them |
//!
//! Everything is made as a detached mount, and attached by descriptor. No path is walked twice, and no path that a layer
//! could have turned into a link is walked in the host's tree.

pub(crate) mod binds;
pub(crate) mod furniture;
pub(crate) mod kernel;
mod layers;
pub(crate) mod root;
pub(crate) mod sealed;

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::{Errno, Result},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create,
        fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, open_tree,
    },
};

pub(crate) use crate::attach::attach;

/// An option of a file system.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Setting<'a> {
    Flag(&'a str),
    Text(&'a str, &'a str),
}

/// A new mount of a file system, attached nowhere.
pub(crate) fn detached(
    kind: &str,
    settings: &[Setting<'_>],
    attributes: MountAttrFlags,
) -> Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for setting in settings {
        match setting {
            Setting::Flag(name) => fsconfig_set_flag(&context, *name)?,
            Setting::Text(name, value) => fsconfig_set_string(&context, *name, *value)?,
        }
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A second view of what is at `path`, attached nowhere.
pub(crate) fn view(directory: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(directory, path, flags)
}

/// The same, with all that is mounted below.
pub(crate) fn view_with_mounts(directory: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(directory, path, flags | OpenTreeFlags::AT_RECURSIVE)
}

/// Finds a place to mount at. `path` is taken below `root` whatever links say.
pub(crate) fn find(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Finds one of the kernel's directories in a root that a layer may have filled with links.
pub(crate) fn find_or_make(root: BorrowedFd<'_>, name: &str, mode: u32) -> Result<OwnedFd> {
    let open = || {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(root, name, flags, Mode::empty())
    };
    match open() {
        Err(Errno::NOENT) => {
            rustix::fs::mkdirat(root, name, Mode::from_raw_mode(mode))?;
            // The mode is the one asked for, whatever the umask.
            rustix::fs::chmodat(
                root,
                name,
                Mode::from_raw_mode(mode),
                rustix::fs::AtFlags::empty(),
            )?;
            open()
        }
        found => found,
    }
}
