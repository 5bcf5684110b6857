//! `/dev` and `/sys`: a few nodes and files in a tiny file system of the sandbox's own.
//!
//! Each sandbox has its own, because a file that two sandboxes can watch is a channel between them.
//!
//! ```text
//!   dev/      null zero … links, and empty directories to mount at
//!   sys/      which processors there are, and nothing else
//!   empty/    covers directories of /proc
//!   devices/  where the finished /dev waits
//!   proc/     where /proc waits
//!   root/     where the new root is attached before it becomes the root
//! ```

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use launcher::plan::Failure;
use rustix::{
    fs::{
        AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid, chownat, makedev, mkdirat, mknodat, openat,
        symlinkat,
    },
    mount::MountAttrFlags,
};

use super::{Setting, attach, detached, view};
use crate::failure::Step;

const STEP: &str = "make the devices";

/// Name, major and minor number.
const NODES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Become part of the sandbox.
const DIRECTORIES: [&str; 8] = [
    "dev",
    "dev/pts",
    "dev/shm",
    "dev/mqueue",
    "sys",
    "sys/devices",
    "sys/devices/system",
    "sys/devices/system/cpu",
];

/// Only serve to set it up.
const PLACES: [&str; 4] = ["empty", "devices", "proc", "root"];

/// Programs count processors by these.
const PROCESSORS: [&str; 3] = ["online", "possible", "present"];

/// Where the nodes come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Nodes {
    /// Made new. Needs the host's root.
    New,
    /// The host's own, each mounted on an empty file.
    OfTheHost,
}

/// Makes the furniture. Nodes of the host can be mounted only where the furniture has been attached; see [`lend_nodes`].
pub(crate) fn make(nodes: Nodes) -> Result<OwnedFd, Failure> {
    let settings = [
        Setting::Text("size", "64k"),
        Setting::Text("nr_inodes", "64"),
        Setting::Text("mode", "755"),
    ];
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let tree = detached("tmpfs", &settings, attributes).step(STEP)?;
    for directory in DIRECTORIES.into_iter().chain(PLACES) {
        mkdirat(&tree, directory, Mode::from_raw_mode(0o755)).step_on(STEP, directory)?;
    }
    for (name, major, minor) in NODES {
        let path = format!("dev/{name}");
        let mode = Mode::from_raw_mode(0o666);
        match nodes {
            Nodes::New => {
                let device = makedev(major, minor);
                mknodat(&tree, &path, FileType::CharacterDevice, mode, device)
                    .step_on(STEP, &path)?;
            }
            Nodes::OfTheHost => write(&tree, &path, b"", mode).step_on(STEP, &path)?,
        }
    }
    for (name, target) in LINKS {
        symlinkat(target, &tree, format!("dev/{name}")).step_on(STEP, name)?;
    }
    for name in PROCESSORS {
        let path = format!("sys/devices/system/cpu/{name}");
        // A host without sysfs has no such files, and neither has the sandbox then.
        let Ok(content) = std::fs::read(format!("/{path}")) else { continue };
        write(&tree, &path, &content, Mode::from_raw_mode(0o444)).step_on(STEP, &path)?;
    }
    Ok(tree)
}

/// Gives the furniture to the root inside.
pub(crate) fn give_to(tree: &OwnedFd, root: u32) -> Result<(), Failure> {
    let nodes = NODES.iter().map(|(name, _, _)| format!("dev/{name}"));
    let links = LINKS.iter().map(|(name, _)| format!("dev/{name}"));
    let directories = DIRECTORIES.iter().map(|&name| name.to_owned());
    for path in nodes.chain(links).chain(directories) {
        let (user, group) = (Uid::from_raw(root), Gid::from_raw(root));
        chownat(tree, &path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
            .step_on(STEP, &path)?;
    }
    Ok(())
}

/// Mounts the host's nodes on the empty files of an attached furniture.
pub(crate) fn lend_nodes(stage: BorrowedFd<'_>) -> Result<(), Failure> {
    for (name, _, _) in NODES {
        let node = view(CWD.as_fd(), &format!("/dev/{name}")).step_on(STEP, name)?;
        let target = super::find(stage, &format!("dev/{name}")).step_on(STEP, name)?;
        attach(node, target).step_on(STEP, name)?;
    }
    Ok(())
}

fn write(tree: &OwnedFd, path: &str, content: &[u8], mode: Mode) -> rustix::io::Result<()> {
    let file = openat(tree, path, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, mode)?;
    rustix::io::write(file, content).map(|_written| ())
}
