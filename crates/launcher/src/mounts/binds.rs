//! Directories and files of the host, read-only inside.
//!
//! A directory is shown through an overlay of each sandbox's own: with its own inodes, so that a watch or a lock that is
//! set inside ends at the sandbox, and with a source that tells nothing of where things lie on the host. The contents are the
//! host's, and are kept in memory once. Files, and directories that the kernel makes no overlay of, are shown as they are.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use launcher::plan::{Bind, Failure};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, open, openat},
    io::Errno,
    mount::{MountAttrFlags, OpenTreeFlags, open_tree},
};

use super::{Setting, attach, detached, find, layers};
use crate::{
    attached::Stack,
    failure::{Step, refused},
    idmap::Views,
    syscalls::{MountAttributes, mount_setattr},
};

const STEP: &str = "bind a directory of the host";

const HARMLESS: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// An empty directory: an overlay that nobody can write to must be of two.
#[derive(Debug)]
pub(crate) enum Nothing {
    /// Can be kept.
    Detached(OwnedFd),
    /// Only for as long as overlays are made.
    Attached(Stack),
}

impl Nothing {
    pub(crate) fn make(wanted: Views) -> Result<Self, Failure> {
        let settings = [Setting::Text("nr_inodes", "1"), Setting::Text("mode", "755")];
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NODEV;
        let tree = detached("tmpfs", &settings, attributes).step(STEP)?;
        match wanted {
            Views::Detached => Ok(Self::Detached(tree)),
            Views::Attached => {
                let mut stack = Stack::default();
                stack.add(tree)?;
                Ok(Self::Attached(stack))
            }
        }
    }

    fn tree(&self) -> Option<&OwnedFd> {
        match self {
            Self::Detached(tree) => Some(tree),
            Self::Attached(stack) => stack.views().first(),
        }
    }
}

/// Made by the host's root. What is mounted below stays outside.
///
/// Nothing is mapped: the host's files are nobody's inside, so that root inside can read what everybody may read and no
/// more, and cannot take a lease on a file that the host is about to use.
pub(crate) fn shallow(bind: &Bind, nothing: &Nothing) -> Result<OwnedFd, Failure> {
    if let Some(tree) = with_inodes_of_its_own(bind, nothing, &[])? {
        return Ok(tree);
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, &*bind.from, flags).step_on(STEP, &bind.from)?;
    let change = MountAttributes { set: HARMLESS, idmap: None, recursive: false };
    mount_setattr(tree.as_fd(), &change).step_on(STEP, &bind.from)?;
    Ok(tree)
}

/// Made by the sandbox's own first process. Where something is mounted below, the kernel makes no overlay for it, and lets
/// it take a tree only with all that is there.
pub(crate) fn plain(bind: &Bind, nothing: &Nothing) -> Result<OwnedFd, Failure> {
    if let Some(tree) = with_inodes_of_its_own(bind, nothing, &[Setting::Flag("userxattr")])? {
        return Ok(tree);
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &*bind.from, flags).step_on(STEP, &bind.from)?;
    let change = MountAttributes { set: HARMLESS, idmap: None, recursive: true };
    mount_setattr(tree.as_fd(), &change).step_on(STEP, &bind.from)?;
    Ok(tree)
}

/// `None` for what is no directory, and for one that the kernel makes no overlay of: one on two overlays already, or on a
/// file system that cannot be below one.
fn with_inodes_of_its_own(
    bind: &Bind,
    nothing: &Nothing,
    more: &[Setting<'_>],
) -> Result<Option<OwnedFd>, Failure> {
    let from = open(&*bind.from, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let from = from.step_on(STEP, &bind.from)?;
    let kind = FileType::from_raw_mode(fstat(&from).step_on(STEP, &bind.from)?.st_mode);
    let Some(nothing) = nothing.tree().filter(|_| kind == FileType::Directory) else {
        return Ok(None);
    };
    // By descriptor: the options of a mount can be read inside, and the host's paths are not for there.
    let layers = [&from, nothing].map(|layer| format!("/proc/self/fd/{}", layer.as_raw_fd()));
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    match layers::overlay(&layers, more, attributes) {
        Ok(tree) => Ok(Some(tree)),
        Err(Errno::INVAL) => Ok(None),
        Err(error) => Err(error).step_on(STEP, &bind.from),
    }
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
