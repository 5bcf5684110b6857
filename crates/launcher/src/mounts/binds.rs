//! Directories and files of the host, read-only inside.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use launcher::plan::{Bind, Failure};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat},
    io::Errno,
    mount::{OpenTreeFlags, open_tree},
};

use super::{attach, find};
use crate::{
    failure::{Step, refused},
    syscalls::{MountAttributes, mount_setattr},
};

const STEP: &str = "bind a directory of the host";

const HARMLESS: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Made by the host's root. What is mounted below stays outside.
///
/// Nothing is mapped: the host's files are nobody's inside, so that root inside can read what everybody may read and no
/// more, and cannot take a lease on a file that the host is about to use.
pub(crate) fn shallow(bind: &Bind) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, &*bind.from, flags).step_on(STEP, &bind.from)?;
    let change = MountAttributes { set: HARMLESS, idmap: None, recursive: false };
    mount_setattr(tree.as_fd(), &change).step_on(STEP, &bind.from)?;
    Ok(tree)
}

/// Made by the sandbox's own first process. The kernel lets it take a tree only with all that is mounted below.
pub(crate) fn plain(bind: &Bind) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &*bind.from, flags).step_on(STEP, &bind.from)?;
    let change = MountAttributes { set: HARMLESS, idmap: None, recursive: true };
    mount_setattr(tree.as_fd(), &change).step_on(STEP, &bind.from)?;
    Ok(tree)
}

/// Attaches a bind below the new root, and makes the place when only its parent exists.
pub(crate) fn place(root: BorrowedFd<'_>, bind: &Bind, tree: &OwnedFd) -> Result<(), Failure> {
    let target = match find(root, &bind.to) {
        Err(Errno::NOENT) => {
            make_place(root, bind, tree)?;
            find(root, &bind.to)
        }
        found => found,
    };
    attach(tree, target.step_on(STEP, &bind.to)?).step_on(STEP, &bind.to)
}

fn make_place(root: BorrowedFd<'_>, bind: &Bind, tree: &OwnedFd) -> Result<(), Failure> {
    let (parent, name) =
        bind.to.rsplit_once('/').ok_or_else(|| refused(STEP, "the place is not absolute"))?;
    let parent = if parent.is_empty() { "/" } else { parent };
    let parent = find(root, parent).step_on(STEP, &bind.to)?;
    let kind = FileType::from_raw_mode(fstat(tree).step_on(STEP, &bind.from)?.st_mode);
    let made = if kind == FileType::Directory {
        mkdirat(&parent, name, Mode::from_raw_mode(0o755))
    } else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&parent, name, flags, Mode::from_raw_mode(0o644)).map(drop)
    };
    made.step_on(STEP, &bind.to)
}
